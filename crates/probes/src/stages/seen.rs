//! Results of the programs in the kernel, and their record.

use results::Probes;
use results::probes::{IndependentTime, Stage, Stages, Uncorrelated};

use super::compared::Compared;
use crate::histogram::Histogram;
use crate::instrument::Summed;

/// The kernel's histograms, in the order of `enum stage` in `src/bpf/stages.bpf.c`.
pub(crate) const STAGES: [&str; 7] =
    ["network", "epoll", "event_library", "read", "open", "application", "send"];
pub(crate) const TOTAL: usize = 7;
pub(crate) const HISTOGRAMS: usize = 8;

/// The kernel's counts, in the order of `enum count`.
pub(crate) const COUNTS: usize = 9;
const MESSAGES: usize = 0;
const FINISHED: usize = 1;
const LOST: [(usize, &str); 3] = [
    (2, "the socket buffer was not seen to arrive"),
    (3, "16 others of the connection were not answered; requests without an answer pile up so"),
    (4, "a table in the kernel was full"),
];
const NO_WAIT: usize = 5;
const NO_PACKET: usize = 6;
const LATER: usize = 8;

/// If a smaller share of the requests was followed, the rest may not be representative.
const FOLLOWED: f64 = 0.99;
/// With fewer requests than this, the share of lost ones is not judged.
const ENOUGH: u64 = 100;
/// Limit of the share of messages that are cut: 2.5 % are cut if a server answers within ms. Beyond it, either no
/// observed process reads them, or too few of them end within a slot to be representative.
const CUT: f64 = 0.1;

/// Results of one slot or more.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Seen {
    /// Histograms by [`STAGES`], then [`TOTAL`].
    pub times: Vec<Histogram>,
    /// Counts by `enum count`.
    pub counts: [u64; COUNTS],
    /// Messages in progress when the slot ended.
    pub under_way: u64,
    /// Events that the kernel did not pass to a program, because it already ran on that processor.
    pub skipped: u64,
    /// Whether the server reads and sends by io_uring.
    pub by_ring: bool,
    /// Whether it reports the begin of a request's turn.
    pub tells: bool,
    /// Some of the requests, also timed by packets.
    pub compared: Compared,
    /// Why they are missing.
    pub untimed: Option<String>,
}

impl Summed for Seen {
    fn merge(&mut self, other: &Seen) {
        self.times.iter_mut().zip(&other.times).for_each(|(sum, more)| sum.add(more));
        self.counts.iter_mut().zip(&other.counts).for_each(|(sum, more)| *sum += more);
        self.under_way += other.under_way;
        self.skipped += other.skipped;
        self.compared.add(&other.compared);
        self.untimed = self.untimed.take().or_else(|| other.untimed.clone());
    }

    fn write_into(&self, into: &mut Probes, observed_s: f64) -> Option<String> {
        let correlated = self.counts[FINISHED];
        let (cut, beyond) = self.cut();
        let mut uncorrelated: Vec<Uncorrelated> = LOST
            .iter()
            .map(|(i, reason)| Uncorrelated { reason: (*reason).into(), count: self.counts[*i] })
            .chain(beyond)
            .collect();
        let known: u64 = uncorrelated.iter().map(|lost| lost.count).sum::<u64>() + correlated + cut;
        let reason = "no reason was counted".to_owned();
        uncorrelated.push(Uncorrelated { reason, count: self.counts[MESSAGES].saturating_sub(known) });
        let reason =
            "the kernel skipped an event, since the program ran already on that processor".to_owned();
        uncorrelated.push(Uncorrelated { reason, count: self.skipped });
        uncorrelated.retain(|lost| lost.count > 0);
        let lost: u64 = uncorrelated.iter().map(|lost| lost.count).sum();
        let share = (correlated + lost > 0).then(|| correlated as f64 / (correlated + lost) as f64);
        let stage = |(i, name): (usize, &&str)| Stage { name: (**name).into(), time: self.times[i].span() };
        let mut notes = vec![
            "A request is what a client wrote in one go. Requests that share a read or a send each carry the whole of it. A \
             request ends when the last packet of the last send on its connection, before its thread waits again, is queued \
             at the device; what its thread still does in that call is not its time."
                .to_owned(),
        ];
        if self.by_ring {
            let turns = if self.tells {
                "and from the call's return to the request's turn, which the server tells by a static probe: while this one \
                 looks that traps into the kernel once for each piece of data, which these times contain and which is part of \
                 the probes' overhead; else it is one instruction that does nothing"
            } else {
                "and the turns of others after the call has returned are in “application”, since this server does not tell of \
                 them"
            };
            notes.push(format!(
                "The server reads and sends by io_uring, inside the call in which it waits. There “epoll” ends when its thread \
                 enters that call or wakes up in it; “event library” is the time from there in which it reads for others, {turns}."
            ));
        }
        if self.counts[NO_PACKET] > 0 {
            notes.push(format!(
                "{} sends queued no packet before they returned (the peer's window was full); they end with their return.",
                self.counts[NO_PACKET]
            ));
        }
        if self.counts[LATER] > 0 {
            notes.push(format!(
                "{} sends came after their request had ended: its thread had waited since, for the peer's window mostly, as a \
                 server does that never blocks in a send. That wait and those sends are in no stage.",
                self.counts[LATER]
            ));
        }
        let independent = self.independent();
        if independent.is_none() && correlated > 0 {
            let none = "the packet socket saw no request over IPv4 and its answer";
            let why = self.untimed.as_deref().unwrap_or(none);
            notes.push(format!("There is no independent time: {why}."));
        }
        into.stages = Some(Stages {
            observed_s,
            messages: self.counts[MESSAGES],
            correlated,
            cut,
            correlated_share: share,
            stages: STAGES
                .iter()
                .enumerate()
                // A cache opens no file.
                .filter(|(i, name)| **name != "open" || self.times[*i].sum > 0)
                .map(stage)
                .collect(),
            total: self.times[TOTAL].span(),
            independent,
            notes,
            uncorrelated: uncorrelated.clone(),
        });
        let is_lost = share.is_some_and(|share| share < FOLLOWED) && correlated + lost >= ENOUGH;
        is_lost.then(|| {
            let reasons: Vec<String> =
                uncorrelated.iter().map(|lost| format!("{}: {}", lost.reason, lost.count)).collect();
            format!(
                "stages: {correlated} of {} requests were followed ({:.1} %, limit {:.0} %); {}",
                correlated + lost,
                100.0 * share.unwrap_or(0.0),
                100.0 * FOLLOWED,
                reasons.join("; ")
            )
        })
    }
}

impl Seen {
    /// The number of messages that the slots cut, and the cut messages beyond the limit, which count as lost.
    fn cut(&self) -> (u64, [Uncorrelated; 2]) {
        let (messages, no_wait) = (self.counts[MESSAGES], self.counts[NO_WAIT]);
        let all = self.under_way + no_wait;
        let may_be = if messages < ENOUGH { all } else { (CUT * messages as f64) as u64 };
        let beyond = all.saturating_sub(may_be);
        let unseen = beyond.min(no_wait);
        let lost = |reason: &str, count: u64| Uncorrelated { reason: reason.into(), count };
        let beyond = [
            lost("read by a thread that was not seen to wait by epoll or in a ring", unseen),
            lost("no observed process answered it during the slot", beyond - unseen),
        ];
        (all.min(may_be), beyond)
    }

    /// The packet socket's time and the stages' time of the same requests.
    fn independent(&self) -> Option<IndependentTime> {
        let compared = &self.compared;
        let (mean_us, stages_us) = compared.means_us()?;
        let remainder_us = mean_us - stages_us;
        let left_out = [
            (compared.alone, "requests that a slot cut in the stages"),
            (compared.mixed, "requests that came before the one before was answered"),
            (compared.dropped, "packets that it had no room for"),
        ];
        let left_out: Vec<String> = left_out
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}"))
            .collect();
        let note =
            if left_out.is_empty() { String::new() } else { format!("; left out: {}", left_out.join(", ")) };
        Some(IndependentTime {
            method: format!("packets at the device, by a packet socket and the kernel's own stamps{note}"),
            requests: compared.requests,
            mean_us,
            stages_us,
            remainder_us,
            remainder_share: remainder_us / mean_us,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instrument::Reading;

    fn seen(counts: [u64; COUNTS]) -> Seen {
        let histogram = |ns: u64| {
            let mut histogram = Histogram { count: 10, sum: 10 * ns, ..Histogram::default() };
            histogram.buckets[100] = 10;
            histogram
        };
        Seen {
            times: (0..HISTOGRAMS as u64)
                .map(|i| histogram(if i == 4 { 0 } else { 1_000 * (i + 1) }))
                .collect(),
            counts,
            under_way: 2,
            ..Seen::default()
        }
    }

    #[test]
    fn losing_requests_is_told() {
        let check = |counts, skipped, share: Option<f64>, reasons: &[(&str, u64)], is_lost: bool| {
            let mut record = Probes::default();
            let told = Seen { skipped, ..seen(counts) }.enter(1.0, &mut record);
            let got = record.stages.unwrap();
            assert_eq!(got.correlated_share, share);
            let found: Vec<(&str, u64)> =
                got.uncorrelated.iter().map(|lost| (&lost.reason[..9], lost.count)).collect();
            assert_eq!((found.as_slice(), told.is_some()), (reasons, is_lost), "{told:?}");
        };
        check([1003, 1000, 0, 0, 0, 1, 0, 0, 0], 0, Some(1.0), &[], false);
        check(
            [1013, 1000, 5, 2, 3, 1, 0, 0, 0],
            0,
            Some(1000.0 / 1010.0),
            &[("the socke", 5), ("16 others", 2), ("a table i", 3)],
            false,
        );
        check([1103, 1000, 0, 0, 0, 1, 0, 0, 0], 0, Some(1000.0 / 1100.0), &[("no reason", 100)], true);
        check([1003, 1000, 0, 0, 0, 1, 0, 0, 0], 50, Some(1000.0 / 1050.0), &[("the kerne", 50)], true);
        // No message was followed, as with a server that reads by other calls.
        check([500, 0, 0, 400, 0, 0, 0, 0, 0], 0, Some(0.0), &[("16 others", 400), ("no reason", 98)], true);
        // Slots may cut a tenth; beyond it no process is seen to wait, or to read at all.
        check([1102, 1000, 0, 0, 0, 100, 0, 0, 0], 0, Some(1.0), &[], false);
        check([200, 0, 0, 0, 0, 198, 0, 0, 0], 0, Some(0.0), &[("read by a", 180)], true);
        let mut record = Probes::default();
        let under_way = Seen { under_way: 200, ..seen([200, 0, 0, 0, 0, 0, 0, 0, 0]) };
        assert!(under_way.enter(1.0, &mut record).is_some_and(|lost| lost.contains("answered it during")));
        assert_eq!((record.stages.as_ref().unwrap().cut, record.stages.unwrap().messages), (20, 200));
        // Too few messages to judge.
        check([13, 9, 2, 0, 0, 0, 0, 0, 0], 0, Some(9.0 / 11.0), &[("the socke", 2)], false);
        check([0, 0, 0, 0, 0, 0, 0, 0, 0], 0, None, &[], false);
    }

    #[test]
    fn the_remainder_is_printed() {
        let mut record = Probes::default();
        let compared =
            Compared { requests: 4, packets_ns: 40_000, stages_ns: 36_000, alone: 3, ..Compared::default() };
        Seen { compared, ..seen([12, 10, 0, 0, 0, 0, 0, 0, 0]) }.enter(1.0, &mut record);
        let got = record.stages.unwrap();
        let names: Vec<&str> = got.stages.iter().map(|stage| stage.name.as_str()).collect();
        assert_eq!(names, ["network", "epoll", "event_library", "read", "application", "send"]);
        assert_eq!((got.mean_us("epoll"), got.total.mean_us, got.cut), (Some(2.0), Some(8.0), 2));
        let independent = got.independent.unwrap();
        assert_eq!((independent.mean_us, independent.stages_us), (10.0, 9.0));
        assert_eq!((independent.remainder_us, independent.remainder_share), (1.0, 0.1));
        assert!(independent.method.ends_with("left out: 3 requests that a slot cut in the stages"));
    }
}
