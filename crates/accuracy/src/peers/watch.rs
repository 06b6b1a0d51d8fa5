use std::path::Path;

use host::cpu_time::{ProcessTicks, Sample, Shares};
use results::Noise;

/// The processors' time while a generator runs.
pub(super) struct Watch {
    server: u32,
    before: Option<(Sample, u64)>,
}

impl Watch {
    pub(super) fn start(server: u32) -> Watch {
        Watch { server, before: Watch::look(server) }
    }

    /// All processors' counters, and the part used by this process, its ended children and the server.
    fn look(server: u32) -> Option<(Sample, u64)> {
        let root = Path::new("/");
        let own = ProcessTicks::read(root, std::process::id()).ok()?;
        let server = ProcessTicks::read(root, server).ok()?;
        Some((Sample::read(root).ok()?, own.own + own.waited_children + server.own))
    }

    pub(super) fn finish(self) -> Noise {
        let shares =
            self.before.zip(Watch::look(self.server)).and_then(|((before, mine), (after, mine_now))| {
                Shares::between(&before, &after, mine_now.saturating_sub(mine))
            });
        Noise {
            steal_share: shares.map(|shares| shares.steal),
            foreign_cpu_share: shares.map(|shares| shares.foreign),
            ..Noise::default()
        }
    }
}
