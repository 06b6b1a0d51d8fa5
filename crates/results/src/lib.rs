//! Records of measurements: plain JSON that a program can still read years later.
//!
//! A result is a folder. `result.json` holds the [`Experiment`]: the question, the host, the targets, the summary of
//! every [`Trial`] and the findings. `trials/<id>.hlog` holds each trial's histograms in full. `report.html` is made
//! from these two alone. Results with traced requests also have [`KeptTraces`] and their spans. Field names end in
//! their unit; a field that could not be measured is `null`, never 0. A [`Study`] is a folder of such folders with a
//! `study.json`. [`pack`] makes one file of either, to be sent to another machine, or with [`Tables`] alone to be kept
//! in a repository.
//!
//! Try it: `cargo test -p results`, or `jq .trials[0].verdict results/*/result.json`.

mod advice;
mod agent;
mod bounds;
mod closed_loop;
mod comparison;
mod connections;
mod disturbance;
mod due;
mod experiment;
mod failure;
mod folder;
mod found;
mod gate;
mod generator;
mod heat;
mod judged;
mod kept_traces;
mod latency;
mod load_point;
mod metric;
mod of_host;
mod operation;
pub mod pack;
pub mod probes;
mod quota;
mod schema;
mod server;
mod service;
mod sessions;
pub mod study;
mod tables;
mod traced_requests;
mod traces;
mod traffic;
mod trial;
mod verdict;
mod window;
mod within;

pub use advice::{Resource, ResourceKind};
pub use agent::AgentRecord;
pub use bounds::{Bounds, PercentileBounds, TimeBounds};
pub use closed_loop::{ClosedLoop, LoopKind};
pub use comparison::{
    Agreement, COMPARISON_SCHEMA, ComparedClaim, ComparedFigure, ComparedPoint, ComparedSeries, Comparison,
    GateOutcome, Ratio, Side,
};
pub use connections::ConnectionSpread;
pub use disturbance::{Basis, Disturbance, Lateness};
pub use experiment::{Experiment, Kind, MaxThroughput, Peak, SCHEMA, Target};
pub use failure::ErrorCount;
pub use folder::{Error, ResultFolder, write_whole};
pub use found::{Body, Found};
pub use gate::{Gate, GateResult};
pub use generator::{Generator, MachineNoise, Noise, Program, ReceiveTimes, Withheld};
pub use heat::{Heat, HeatColumn};
pub use judged::Judged;
pub use kept_traces::{KeptProcess, KeptRequest, KeptService, KeptTraces};
pub use latency::LatencySummary;
pub use load_point::{LoadPoint, Spread, spread};
pub use metric::{Metric, Reading};
pub use operation::{Operation, OperationLimit, TierWork};
pub use probes::Probes;
pub use quota::Quota;
pub use schema::{comparison_json_schema, json_schema, study_json_schema};
pub use server::ServerFigures;
pub use service::{Service, ServiceUsage};
pub use sessions::{DistributionPoint, DistributionSummary, Sessions, counted};
pub use study::Study;
pub use tables::{TABLES_FILE, TABLES_SCHEMA, Tables, TextTable, commit_at, machine};
pub use traced_requests::{ByLot, RequestOutcome, TracedRequest, TracedRequests};
pub use traces::{
    AllCalls, Among, Coverage, Difference, EdgeTimes, Group, LostSpans, Part, PartTime, RowKind, RowPart,
    ServiceTime, TracedOperation, Traces, TracingCost, Waterfall, WaterfallRow,
};
pub use traffic::{Datagrams, Traffic, Transport};
pub use trial::{Arrivals, Purpose, Trial};
pub use verdict::{Invalid, Reason, Verdict};
pub use window::WindowPoint;
pub use within::Within;
