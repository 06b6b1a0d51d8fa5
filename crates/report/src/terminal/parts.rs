use results::Trial;

use super::grid::{Grid, Tone};
use super::ink::{Ink, harmless, wrapped};
use crate::load::LoadUnit;
use crate::number;
use crate::page::typical;
use crate::sessions::{DISTRIBUTION_HEADS, became, distributions};
use crate::subject::Subject;

/// How a single load fell on operations, servers and machines, and what failed; of several loads only the report
/// tells, since a terminal scrolls.
pub(super) fn parts(subjects: &[Subject], width: usize, ink: Ink) -> Vec<String> {
    let [subject] = subjects else { return Vec::new() };
    let [point] = subject.points.as_slice() else { return Vec::new() };
    let Some(trial) = typical(point) else { return Vec::new() };
    let mut parts = Vec::new();
    for grid in
        [felt(trial), operations(trial), limits(trial), servers(trial), agents(trial)].into_iter().flatten()
    {
        parts.push(String::new());
        parts.push(grid.render(width, ink));
    }
    let lines = [became(trial), wire(trial), connections(trial)].into_iter().flatten();
    let lines = lines.chain(super::traced::lines(trial));
    let errors = trial.errors.iter().map(|error| {
        let detail =
            error.first_detail.as_ref().map_or(String::new(), |detail| format!(", the first: {detail}"));
        ink.bad(&wrapped(
            &harmless(&format!("{} × {}{detail}", number::count(error.count), error.kind.replace('_', " "))),
            width,
            2,
        ))
    });
    let lines: Vec<String> = lines.map(|line| wrapped(&harmless(&line), width, 2)).chain(errors).collect();
    if !lines.is_empty() {
        parts.push(String::new());
        parts.extend(lines);
    }
    parts
}

/// What sessions measured of themselves.
fn felt(trial: &Trial) -> Option<Grid> {
    let rows = distributions(trial);
    let [name, samples, mean, p5, p50, p95, p99, max] = DISTRIBUTION_HEADS;
    let mut grid = Grid::default().words(name, 0).number(samples, 3).number(mean, 5).number(p5, 4);
    grid = grid.number(p50, 0).number(p95, 0).number(p99, 1).number(max, 2);
    rows.iter().for_each(|row| grid.row(Tone::Plain, row.clone()));
    (!rows.is_empty()).then_some(grid)
}

fn operations(trial: &Trial) -> Option<Grid> {
    if trial.operations.len() < 2 {
        return None;
    }
    let mut grid = Grid::default().words("operation", 0).number("requests", 1).number("errors", 2);
    grid = grid.number("mean", 3).number("p50", 0).number("p99", 0).number("p99.9", 4);
    for operation in &trial.operations {
        let times = &operation.response_time;
        let failed = operation.outcomes.map(|outcomes| outcomes.errors.saturating_add(outcomes.timeouts));
        let follows = if operation.follow_up { " (follows)" } else { "" };
        let cells = vec![
            format!("{}{follows}", operation.name),
            number::count(operation.outcomes.map_or(times.count, |outcomes| outcomes.intended)),
            failed.map_or(number::NONE.into(), number::count),
            number::micros(times.mean_us),
            number::micros(times.p50_us),
            number::micros(times.p99_us),
            number::micros(times.p99_9_us),
        ];
        grid.row(if failed.is_some_and(|n| n > 0) { Tone::Warn } else { Tone::Plain }, cells);
    }
    Some(grid)
}

/// Operations with limits of their own: how much was within them, and what the server's tiers did.
fn limits(trial: &Trial) -> Option<Grid> {
    let limited = || trial.operations.iter().filter_map(|operation| Some((operation, operation.within?)));
    let tiers: Vec<&str> = {
        let all = trial.operations.iter().flat_map(|operation| &operation.tiers);
        let mut names: Vec<&str> = all.map(|tier| tier.name.as_str()).collect();
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    };
    let mut grid = Grid::default().words("operation", 0).number("due", 3).number("limit", 2);
    grid = grid.number("within", 0).number("p95", 1);
    for tier in &tiers {
        grid = grid.number(tier, 4).number("calls", 5);
    }
    for (operation, limit) in limited() {
        let mut cells = vec![
            operation.name.clone(),
            number::count(limit.due),
            number::micros(Some(limit.limit_us)),
            limit.share().map_or(number::NONE.into(), number::percent_of_all),
            number::micros(operation.response_time.p95_us),
        ];
        for name in &tiers {
            let tier = operation.tiers.iter().find(|tier| tier.name == *name);
            cells.push(number::micros(tier.map(|tier| tier.mean_us)));
            cells.push(tier.map_or(number::NONE.into(), |tier| number::three(tier.calls)));
        }
        grid.row(if limit.within < limit.due { Tone::Warn } else { Tone::Plain }, cells);
    }
    limited().next().is_some().then_some(grid)
}

fn servers(trial: &Trial) -> Option<Grid> {
    let mut grid =
        Grid::default().words("server", 0).number("requests", 1).number("share", 0).number("errors", 2);
    grid = grid.number("p50", 3).number("p99", 0).number("service p99", 4);
    for server in &trial.servers {
        let cells = vec![
            server.address.clone(),
            number::count(server.requests),
            server.share.map_or(number::NONE.into(), number::percent),
            number::count(server.errors),
            number::micros(server.response_time.p50_us),
            number::micros(server.response_time.p99_us),
            number::micros(server.service_time.p99_us),
        ];
        grid.row(if server.errors > 0 { Tone::Warn } else { Tone::Plain }, cells);
    }
    (!trial.servers.is_empty()).then_some(grid)
}

fn agents(trial: &Trial) -> Option<Grid> {
    let mut grid = Grid::default().words("agent", 0).words("address", 4).number("clock offset", 1);
    grid = grid
        .number("offered", 3)
        .number("achieved", 0)
        .number("p99", 2)
        .number("lag p99", 1)
        .words("verdict", 0);
    for agent in &trial.agents {
        let cells = vec![
            agent.name.clone(),
            agent.address.clone(),
            number::offset(agent.clock_offset_us, agent.clock_offset_error_us),
            LoadUnit::of(trial).rate(Some(agent.offered_rps)),
            number::rate(Some(agent.achieved_rps)),
            number::micros(agent.response_time.p99_us),
            number::micros(agent.generator_lag.p99_us),
            agent.verdict.label().into(),
        ];
        grid.row(if agent.verdict.is_usable() { Tone::Plain } else { Tone::Bad }, cells);
    }
    (!trial.agents.is_empty()).then_some(grid)
}

fn wire(trial: &Trial) -> Option<String> {
    let transport = trial.transport.map_or(String::new(), |transport| format!("{}: ", transport.words()));
    let speed = |n: f64| format!("{}/s", number::bytes(n));
    let traffic = trial
        .traffic
        .map(|t| format!("sent {}, received {}", speed(t.sent_bytes_per_s), speed(t.received_bytes_per_s)));
    let datagrams = trial.datagrams.map(|d| {
        let [sent, lost, late, duplicated, reordered, multi] =
            [d.sent, d.lost, d.late, d.duplicated, d.reordered, d.multi].map(number::count);
        format!(
            "{sent} datagrams, {lost} lost, {late} late, {duplicated} twice, {reordered} reordered, {multi} answers of several"
        )
    });
    let facts: Vec<String> = [traffic, datagrams].into_iter().flatten().collect();
    (!facts.is_empty()).then(|| format!("{transport}{}", facts.join("; ")))
}

fn connections(trial: &Trial) -> Option<String> {
    let spread = trial.connections.as_ref()?;
    let imbalance = spread.imbalance.map_or(number::NONE.into(), number::ratio);
    let slowest = spread.p99_max_us.map_or(String::new(), |worst| {
        format!(
            "; p99 of the slowest {}, median {}",
            number::micros(Some(worst)),
            number::micros(spread.p99_median_us)
        )
    });
    Some(format!(
        "{}: {} to {} requests each, the busiest {imbalance} the mean{slowest}",
        number::plural(spread.count as usize, "connection"),
        number::count(spread.requests_min),
        number::count(spread.requests_max)
    ))
}
