//! The probes' overhead: windows of the trial with an active probe against those without it.

use results::WindowPoint;
use results::probes::Overhead;
use spec::Probe;
use stats::median;
use units::{Nanos, Time};

use crate::slots::Slot;

/// The length of a trial's windows, unless a long trial has longer ones. Source: `results::WindowPoint`.
const WINDOW_MS: u64 = 100;

/// One side of the comparison.
#[derive(Default)]
struct Side {
    p99_us: Vec<f64>,
    answered: Vec<f64>,
    server_ns: u64,
    slots_ns: u64,
    /// Whether the server's processor time is unknown in some slot.
    lacks_time: bool,
}

/// The cost of `probe` in the trial with these slots and windows; windows that the host disturbed are left out.
pub(crate) fn of(probe: Probe, slots: &[&Slot], windows: &[WindowPoint], opened: Time) -> Overhead {
    let mut sides = [Side::default(), Side::default()];
    let length = windows.get(1).map_or(WINDOW_MS, |second| second.start_ms - windows[0].start_ms);
    let length = Nanos(1_000_000 * length);
    for slot in slots {
        let side = &mut sides[usize::from(slot.looked.contains(&probe))];
        match slot.server_ns {
            Some(ns) => side.server_ns += ns,
            None => side.lacks_time = true,
        }
        side.slots_ns += slot.to.since(slot.from).0;
        let inside = windows.iter().filter(|window| {
            let from = opened + Nanos(1_000_000 * window.start_ms);
            from >= slot.from && from + length <= slot.to && !window.disturbed
        });
        for window in inside {
            side.answered.push(window.answered.unwrap_or(window.count) as f64);
            side.p99_us.extend(window.p99_us);
        }
    }
    let [without, with] = &sides;
    let ratio = |figure: &dyn Fn(&Side) -> Option<f64>| {
        let (with, without) = figure(with).zip(figure(without))?;
        (without > 0.0).then(|| with / without)
    };
    let rate = |side: &Side| {
        (!side.answered.is_empty()).then(|| side.answered.iter().sum::<f64>() / side.answered.len() as f64)
    };
    let per_request = |side: &Side| {
        let busy =
            (!side.lacks_time && side.slots_ns > 0).then(|| side.server_ns as f64 / side.slots_ns as f64)?;
        rate(side).filter(|rate| *rate > 0.0).map(|rate| busy / rate)
    };
    Overhead {
        probe: probe.name().into(),
        windows_with: with.answered.len() as u32,
        windows_without: without.answered.len() as u32,
        p99_ratio: ratio(&|side| median(&side.p99_us)),
        throughput_ratio: ratio(&rate),
        cpu_per_request_ratio: ratio(&per_request),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(from_ms: u64, to_ms: u64, looked: bool, server_ns: u64) -> Slot {
        let at = |ms: u64| Time(1_000_000 * (1_000 + ms));
        Slot {
            from: at(from_ms),
            to: at(to_ms),
            readings_span: (at(from_ms), at(to_ms)),
            looked: if looked { vec![Probe::Stages] } else { Vec::new() },
            readings: Vec::new(),
            server_ns: Some(server_ns),
        }
    }

    #[test]
    fn windows_with_are_held_against_windows_without() {
        let window = |start_ms: u64, count: u64, p99: f64| WindowPoint {
            start_ms,
            count,
            p99_us: Some(p99),
            ..WindowPoint::default()
        };
        let windows = [
            window(0, 90, 220.0),
            window(100, 90, 200.0),
            window(200, 1, 9999.0), // across the border of two slots
            window(300, 100, 100.0),
            window(400, 100, 100.0),
            WindowPoint { disturbed: true, ..window(500, 1, 9999.0) },
        ];
        let slots = [slot(0, 250, true, 100_000_000), slot(260, 610, false, 70_000_000)];
        let slots: Vec<&Slot> = slots.iter().collect();
        let got = of(Probe::Stages, &slots, &windows, Time(1_000_000_000));
        assert_eq!((got.windows_with, got.windows_without), (2, 2));
        assert_eq!(got.p99_ratio, Some(2.1));
        assert_eq!(got.throughput_ratio, Some(0.9));
        // 0.4 busy at a rate of 90 against 0.2 at 100.
        assert!((got.cpu_per_request_ratio.unwrap() - (0.4 / 90.0) / (0.2 / 100.0)).abs() < 1e-9);
        // A probe that was always active has no windows to compare with.
        let got = of(Probe::Stages, &slots[..1], &windows, Time(1_000_000_000));
        assert_eq!((got.windows_without, got.p99_ratio, got.throughput_ratio), (0, None, None));
        assert_eq!(of(Probe::Cpu, &slots, &windows, Time(1_000_000_000)).windows_with, 0);
    }
}
