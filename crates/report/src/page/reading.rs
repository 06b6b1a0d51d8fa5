use maud::{Markup, html};
use results::Experiment;

use crate::number;

/// How the figures are measured, and the meaning of their words.
pub(crate) fn reading(experiments: &[&Experiment]) -> Markup {
    let trial = experiments.iter().flat_map(|experiment| &experiment.trials).next_back();
    let closed = trial.is_some_and(results::Trial::is_closed_loop);
    let of_sessions = trial.is_some_and(|trial| trial.sessions.is_some());
    let within = trial.is_some_and(results::Trial::is_closed_within_sessions);
    let is_corrected =
        trial.and_then(|trial| trial.closed_loop.as_ref()).is_some_and(|found| found.corrected.is_some());
    html! {
        @if let Some(trial) = trial {
            p {
                @if closed && of_sessions {
                    "Load is a closed loop: so many users are there at once, each of whom thinks after an answer, asks again, and begins "
                    "another session when one has ended, so that a slow server slows its own measurement down. "
                } @else if closed {
                    "Load is a closed loop: a client asks again when it was answered, so that a slow server slows its "
                    "own measurement down. "
                } @else if within {
                    "Sessions arrive at times drawn beforehand, and each is a closed loop: it asks for a step after the answers before, so "
                    "that a slow server slows its own measurement down, but for sessions that arrive. Loads are in sessions a second, what "
                    "is achieved in requests. "
                } @else if of_sessions {
                    "Load is open-loop: sessions arrive at times drawn beforehand, and each sends its steps at times that were "
                    "fixed when it arrived. A step that is late delays the steps behind it, which shows in their response "
                    "times, and never a session that arrives. Loads are in sessions a second, what is achieved in requests. "
                } @else {
                    "Load is open-loop: requests are due at times drawn beforehand and never wait for earlier "
                    "answers, so that a slow server cannot slow its own measurement down. "
                }
                @if is_corrected {
                    "The corrected column adds the requests that a client would have sent at the expected interval while it waited. "
                }
                "In the last trial the load ran for " (number::micros(Some(1e6 * trial.warmup_s))) " before a window of "
                (number::micros(Some(1e6 * trial.window_s))) " opened; after it the drain waited for what was still "
                "under way. Every arrival in the window is accounted for as completed, error, time-out or "
                "unfinished; time-outs and the unfinished count at their age."
            }
        }
        dl.reading {
            @if of_sessions {
                dt { "step" }
                dd {
                    "A request of a session, such as a chunk of a video, due at a time that "
                    @if closed || within { "depends on the answers before." } @else { "was fixed when the session arrived." }
                }
                dt { "start-up delay" }
                dd { "From the arrival of a session until it plays." }
                dt { "stalls/h" }
                dd { "How often a session stood still because nothing was left to play, in an hour that was watched." }
                dt { "rebuffer ratio" }
                dd { "The time in which sessions stood still, over the time in which they stood still or played." }
                dt { "misses" }
                dd { "The steps that were not whole within their time-out, of the steps due: quality of service, and no error of the measurement." }
                dt { "live" }
                dd { "Sessions under way at once, mean over the window; those that were when the load began have drawn ages." }
            }
            dt { "response time" }
            dd { "From the time a request was due to its answer (done − intended). All latencies are this." }
            dt { "service time" }
            dd { "From the send to the answer (done − sent). It hides the time in which a request could not be sent." }
            dt { "connection wait" }
            dd { "From the time a request was due until its connection could take it (eligible − intended): the server’s doing, part of the response time." }
            dt { "generator lag" }
            dd { "From then to the send (sent − eligible): the generator’s own fault. It, and how long answers may have lain unread, decide whether the generator was too slow." }
            dt { "windowed p99" }
            dd { "The median over windows of 10 ms or more, each with 1000 requests, of each window’s p99. A stall of the host invalidates one window, not the figure." }
            dt { "within" }
            dd { "The share of the requests that were due which were answered within the target; errors, time-outs and the unfinished missed it." }
            dt { "outstanding" }
            dd { "Requests due and not answered: in flight, or in the backlog of those that no connection could take yet." }
            dt { "maximum throughput" }
            dd { "The highest open-loop rate with at least 99 % achieved and no trend in the backlog, as an interval; measured anew for each block, since machines drift." }
            dt { "peak throughput under QoS" }
            dd { "The interval between the highest load that met the quality-of-service target and the lowest that missed it." }
            dt { "overloaded" }
            dd { "The backlog grew while the generator had time: a finding about the server. Its response times grow with the length of the window." }
            dt { "invalid" }
            dd { "The figures do not describe the server alone, for the reason given. Shown hatched, left out of every median, never dropped." }
            dt { "not measurable on this host now" }
            dd { "The host disturbed what would have told: other processes, other guests or stalls took the processors. Nothing is claimed about the server then; what can still be told stands beside." }
            dt { "–" }
            dd { "Not measured, or fewer than 10 samples beyond the percentile." }
        }
    }
}
