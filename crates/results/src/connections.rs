use serde::{Deserialize, Serialize};
use units::Nanos;

/// How evenly the requests of the window were distributed over the connections, and how their p99s differ.
///
/// A server that assigns connections to its threads unevenly shows here first.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct ConnectionSpread {
    /// Number of connections.
    pub count: u64,
    /// Requests of the connection with the fewest.
    pub requests_min: u64,
    /// Median over the connections.
    pub requests_median: f64,
    /// Requests of the connection with the most.
    pub requests_max: u64,
    /// The most requests of a connection over the mean: 1 is even.
    pub imbalance: Option<f64>,
    /// The smallest p99 response time of a connection.
    pub p99_min_us: Option<f64>,
    /// Median of the connections' p99.
    pub p99_median_us: Option<f64>,
    /// The largest p99 of a connection.
    pub p99_max_us: Option<f64>,
    /// The number of the connection with the largest p99, from 0.
    pub slowest: Option<u64>,
}

impl ConnectionSpread {
    /// The spread over connections, each given by its requests and its p99, if it had enough requests.
    ///
    /// `None` without connections.
    pub fn of(connections: &[(u64, Option<Nanos>)]) -> Option<ConnectionSpread> {
        let mut requests: Vec<u64> = connections.iter().map(|(requests, _)| *requests).collect();
        requests.sort_unstable();
        let (least, most) = (*requests.first()?, *requests.last()?);
        let mean = requests.iter().sum::<u64>() as f64 / requests.len() as f64;
        let with_p99 = connections.iter().enumerate().filter_map(|(i, (_, p99))| Some(((*p99)?, i as u64)));
        let mut p99s: Vec<(Nanos, u64)> = with_p99.collect();
        p99s.sort_unstable();
        let us: Vec<f64> = p99s.iter().map(|(p99, _)| p99.as_micros_f64()).collect();
        Some(ConnectionSpread {
            count: requests.len() as u64,
            requests_min: least,
            requests_median: stats::median(&requests.iter().map(|n| *n as f64).collect::<Vec<_>>())?,
            requests_max: most,
            imbalance: (mean > 0.0).then(|| most as f64 / mean),
            p99_min_us: us.first().copied(),
            p99_median_us: stats::median(&us),
            p99_max_us: us.last().copied(),
            slowest: p99s.last().map(|(_, i)| *i),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_uneven_deal_shows() {
        let p99 = |us: u64| Some(Nanos::from_micros(us));
        let spread =
            ConnectionSpread::of(&[(100, p99(40)), (300, p99(90)), (100, p99(50)), (0, None)]).unwrap();
        assert_eq!((spread.count, spread.requests_min, spread.requests_max), (4, 0, 300));
        assert_eq!((spread.requests_median, spread.imbalance), (100.0, Some(2.4)));
        assert_eq!((spread.p99_min_us, spread.p99_median_us), (Some(40.0), Some(50.0)));
        assert_eq!((spread.p99_max_us, spread.slowest), (Some(90.0), Some(1)));
    }

    #[test]
    fn nothing_is_no_spread() {
        assert_eq!(ConnectionSpread::of(&[]), None);
        let idle = ConnectionSpread::of(&[(0, None), (0, None)]).unwrap();
        assert_eq!((idle.imbalance, idle.p99_max_us, idle.slowest), (None, None, None));
    }
}
