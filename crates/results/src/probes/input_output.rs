use serde::{Deserialize, Serialize};

/// Reads of the server from disks and from the page cache.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct InputOutput {
    /// Time of observation.
    pub observed_s: f64,
    /// Share of all processors' time that was idle while a task waited for a disk, 0 to 1.
    pub wait_share: f64,
    /// Bytes that the server had read from disks, per second; `None` without permission to read it.
    pub disk_read_bytes_per_s: Option<f64>,
    /// Bytes that the server read by system calls, files and sockets, per second.
    pub read_bytes_per_s: Option<f64>,
    /// Share of the bytes read by the server's calls that needed no disk, 0 to 1; `None` if disks delivered
    /// nothing: all was in the page cache, or no file was read. Files sent by `sendfile` also count as read by
    /// calls; those in mapped memory only as disk reads.
    pub page_cache_hit_ratio: Option<f64>,
    /// Page faults of the server that needed a disk, per second.
    pub major_faults_per_s: f64,
    /// The same over time, slot by slot, including slots before and after the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub over_time: Vec<InputOutputSlot>,
}

/// The phases of a trial.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// Before the window.
    WarmUp,
    /// The measured window.
    Window,
    /// After the window: outstanding requests are waited for.
    Drain,
}

/// Observations in one slot. Fields have the same meaning as in [`InputOutput`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
#[allow(missing_docs, reason = "InputOutput says it")]
pub struct InputOutputSlot {
    /// The phase that contains most of it.
    pub phase: Phase,
    /// Start, relative to the opening of the window: below 0 in the warm-up.
    pub at_s: f64,
    /// Length of the slot.
    pub observed_s: f64,
    pub wait_share: f64,
    pub disk_read_bytes_per_s: Option<f64>,
    pub read_bytes_per_s: Option<f64>,
    pub page_cache_hit_ratio: Option<f64>,
}

impl InputOutput {
    /// Limit of kept slots. Source: ours; a figure has some hundred columns.
    pub const SLOTS: usize = 600;

    /// The mean over the slots of a phase; `None` without slots.
    pub fn in_phase(&self, phase: Phase) -> Option<InputOutputSlot> {
        let slots: Vec<&InputOutputSlot> = self.over_time.iter().filter(|slot| slot.phase == phase).collect();
        let observed_s: f64 = slots.iter().map(|slot| slot.observed_s).sum();
        let mean = |read: &dyn Fn(&InputOutputSlot) -> Option<f64>| {
            let sum: Option<f64> = slots.iter().map(|slot| Some(read(slot)? * slot.observed_s)).sum();
            sum.map(|sum| sum / observed_s)
        };
        let disk = mean(&|slot| slot.disk_read_bytes_per_s);
        let read = mean(&|slot| slot.read_bytes_per_s);
        let hits = disk.zip(read).filter(|(disk, read)| *disk > 0.0 && *read > 0.0);
        Some(InputOutputSlot {
            phase,
            at_s: slots.first()?.at_s,
            observed_s,
            wait_share: mean(&|slot| Some(slot.wait_share))?,
            disk_read_bytes_per_s: disk,
            read_bytes_per_s: read,
            page_cache_hit_ratio: hits.map(|(disk, read)| (1.0 - disk / read).max(0.0)),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_is_the_mean_of_its_slots() {
        let slot = |phase, at_s, observed_s, disk| InputOutputSlot {
            phase,
            at_s,
            observed_s,
            wait_share: 0.5,
            disk_read_bytes_per_s: disk,
            read_bytes_per_s: Some(1_000.0),
            page_cache_hit_ratio: None,
        };
        let over_time = vec![
            slot(Phase::WarmUp, -1.0, 0.5, None),
            slot(Phase::Window, 0.0, 1.0, Some(100.0)),
            slot(Phase::Window, 2.0, 3.0, Some(500.0)),
        ];
        let io = InputOutput { over_time, ..InputOutput::default() };
        let found = io.in_phase(Phase::Window).unwrap();
        assert_eq!((found.at_s, found.observed_s, found.wait_share), (0.0, 4.0, 0.5));
        assert_eq!((found.disk_read_bytes_per_s, found.page_cache_hit_ratio), (Some(400.0), Some(0.6)));
        let warm_up = io.in_phase(Phase::WarmUp).unwrap();
        assert_eq!((warm_up.disk_read_bytes_per_s, warm_up.page_cache_hit_ratio), (None, None));
        assert_eq!(io.in_phase(Phase::Drain), None);
    }
}
