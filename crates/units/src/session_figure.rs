/// A figure of sessions that can be judged: by a QoS target, a gate, a search, a claim.
///
/// A workload of sessions counts ratios and measures times under these names, all or some of them. The rest of the
/// program knows sessions only by this table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionFigure {
    /// As it is typed: `rebuffer`.
    pub name: &'static str,
    /// The name under which a workload counts or measures it: `rebuffer_ratio`.
    pub record: &'static str,
    /// Its name in a report: `rebuffer ratio`.
    pub words: &'static str,
    /// Whether less of it is better.
    pub is_cost: bool,
    /// Whether it is a distribution of times; a ratio otherwise.
    pub is_time: bool,
    /// Whether the timed event may be absent from a session: a trial without events meets any limit.
    pub is_event: bool,
}

/// The default percentile of a judged time.
///
/// Source: ours, because one session in twenty is the rarest share that 200 sessions, a few minutes of a small run,
/// can show.
pub const SESSION_PERCENTILE: f64 = 95.0;

impl SessionFigure {
    /// All that can be judged, in the order in which reports have them.
    pub const ALL: [SessionFigure; 8] = [
        SessionFigure::time("startup", "start-up delay"),
        SessionFigure::cost("rebuffer", "rebuffer_ratio", "rebuffer ratio"),
        SessionFigure::cost("misses", "misses", "misses"),
        SessionFigure {
            name: "met",
            record: "sessions_met",
            words: "sessions that met",
            is_cost: false,
            is_time: false,
            is_event: false,
        },
        SessionFigure {
            name: "within",
            record: "within",
            words: "operations within their limits",
            is_cost: false,
            is_time: false,
            is_event: false,
        },
        SessionFigure { is_event: true, ..SessionFigure::time("stall", "stall") },
        SessionFigure::cost("abandoned", "abandoned", "abandoned sessions"),
        SessionFigure::cost("hopeless", "hopeless", "hopeless sessions"),
    ];

    /// A ratio of caches, judged in the same way as the ratios of sessions.
    const HIT_RATIO: SessionFigure = SessionFigure {
        name: "hit_ratio",
        record: "hit_ratio",
        words: "hit ratio",
        is_cost: false,
        is_time: false,
        is_event: false,
    };

    const fn time(name: &'static str, words: &'static str) -> SessionFigure {
        SessionFigure { name, record: name, words, is_cost: true, is_time: true, is_event: false }
    }

    const fn cost(name: &'static str, record: &'static str, words: &'static str) -> SessionFigure {
        SessionFigure { name, record, words, is_cost: true, is_time: false, is_event: false }
    }

    /// The figure of this name, as it is typed or recorded; also the ratio of caches.
    pub fn named(name: &str) -> Option<SessionFigure> {
        let mut all = SessionFigure::ALL.into_iter().chain([SessionFigure::HIT_RATIO]);
        all.find(|figure| figure.name == name || figure.record == name)
    }

    /// The operation of `within.OPERATION`: the share of it within its own limit, which is recorded under that name.
    pub fn within(name: &str) -> Option<&str> {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        name.strip_prefix("within.")
            .filter(|operation| !operation.is_empty() && operation.chars().all(is_name))
    }

    /// The ratio of this name.
    pub fn ratio(name: &str) -> Option<SessionFigure> {
        SessionFigure::named(name).filter(|figure| !figure.is_time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_name_is_of_one_figure() {
        for figure in SessionFigure::ALL {
            for name in [figure.name, figure.record] {
                assert_eq!(SessionFigure::named(name), Some(figure), "{name}");
            }
        }
        assert_eq!(SessionFigure::named("rebuffer_ratio").map(|figure| figure.name), Some("rebuffer"));
        assert_eq!(SessionFigure::ratio("startup"), None);
        assert_eq!(SessionFigure::named("speed"), None);
        let within = ["within.home", "within.live-feed", "within", "within.", "within.a b", "met.home"];
        let found = within.map(SessionFigure::within);
        assert_eq!(found, [Some("home"), Some("live-feed"), None, None, None, None]);
        assert!(SessionFigure::ratio("hit_ratio").is_some(), "it can be judged");
        assert!(
            SessionFigure::ALL.iter().all(|figure| figure.name != "hit_ratio"),
            "and is none of sessions"
        );
    }
}
