//! Serialization of a log's segment state, kept in addition to the segment file across a restart.

use std::collections::VecDeque;

use super::{Log, Queue, Segment, UNUSED};
use crate::bytes::{Rest, put_u32, put_u64};
use crate::extent::Run;
use crate::log::Large;

/// In the place of a segment that there is not.
const NONE: u32 = u32::MAX;

impl Log {
    /// Appends the state of the segments. `swept` is in no queue, and is saved as the next of its own.
    pub(crate) fn save(&self, swept: Option<usize>, out: &mut Vec<u8>) {
        put_u64(out, self.begun);
        put_u64(out, self.births);
        put_u32(out, self.active as u32);
        put_u32(out, self.keeping.map_or(NONE, |segment| segment as u32));
        for queue in [Queue::New, Queue::Kept] {
            let swept = swept.filter(|segment| self.segments[*segment].queue == queue);
            let line: Vec<usize> =
                swept.into_iter().chain(self.order[queue as usize].iter().copied()).collect();
            put_u32(out, line.len() as u32);
            line.iter().for_each(|segment| put_u32(out, *segment as u32));
        }
        let in_line = self.order.iter().flatten().copied();
        for segment in [Some(self.active), self.keeping, swept].into_iter().flatten().chain(in_line) {
            let Segment { used, birth, since, .. } = self.segments[segment];
            put_u32(out, segment as u32);
            put_u32(out, used as u32);
            put_u64(out, birth);
            put_u32(out, since);
            put_u64(out, self.records.age(segment));
        }
        put_u32(out, self.large.len() as u32);
        for Large { extent, birth, .. } in &self.large {
            put_u32(out, extent.run.first as u32);
            put_u32(out, extent.run.count as u32);
            put_u64(out, *birth);
        }
    }

    /// Loads the state written by [`Log::save`] for a log of the same configuration; no record is counted as alive yet.
    /// `None` if the state is unusable.
    pub(crate) fn restore(&mut self, rest: &mut Rest<'_>) -> Option<()> {
        let count = self.segments.len();
        let (begun, births) = (rest.u64()?, rest.u64()?);
        // Positions of records are numbers of 64 bits.
        let is_sane = (2..1 << 40).contains(&begun) && (1..1 << 40).contains(&births);
        let (active, keeping) = (rest.u32()?, rest.u32()?);
        let mut lines = [Vec::new(), Vec::new()];
        for line in &mut lines {
            let length = rest.u32()? as usize;
            *line = rest.u32s(length)?;
        }
        let mut is_in_use = vec![false; count];
        let keeping = Some(keeping).filter(|segment| *segment != NONE);
        let numbers = [Some(active), keeping].into_iter().flatten().chain(lines.iter().flatten().copied());
        let mut expected = 0;
        for number in numbers {
            let is_new = is_in_use.get_mut(number as usize).map(|there| !std::mem::replace(there, true));
            expected += 1;
            is_new.filter(|is_new| *is_new && is_sane)?;
        }
        let mut is_kept = vec![false; count];
        for number in lines[Queue::Kept as usize].iter().chain(&keeping) {
            is_kept[*number as usize] = true;
        }
        let mut segments = vec![UNUSED; count];
        let mut seen = vec![false; count];
        for _ in 0..expected {
            let (number, used) = (rest.u32()?, rest.u32()? as usize);
            let (birth, since, age) = (rest.u64()?, rest.u32()?, rest.u64()?);
            let segment = number as usize;
            let is_right =
                is_in_use.get(segment) == Some(&true) && !std::mem::replace(&mut seen[segment], true);
            if !is_right || used > self.segment_len() || birth >= births || age > begun {
                return None;
            }
            let queue = if is_kept[segment] { Queue::Kept } else { Queue::New };
            segments[segment] = Segment { used, birth, since, queue, ..UNUSED };
            self.records.begin(segment, age);
        }
        let mut large = Vec::new();
        for _ in 0..rest.u32()? {
            let run = Run { first: rest.u32()? as usize, count: rest.u32()? as usize };
            let birth = rest.u64()?;
            let end = run.first.checked_add(run.count).filter(|end| run.count > 0 && *end <= count)?;
            let is_new = is_in_use[run.first..end].iter_mut().all(|there| !std::mem::replace(there, true));
            if !is_new || birth >= births {
                return None;
            }
            large.push((run, birth));
        }
        let line = |line: &Vec<u32>| line.iter().map(|segment| *segment as usize).collect::<VecDeque<_>>();
        self.order = [line(&lines[0]), line(&lines[1])];
        (self.active, self.keeping) = (active as usize, keeping.map(|segment| segment as usize));
        (self.begun, self.births, self.segments) = (begun, births, segments);
        self.supply.restore(&is_in_use);
        large.into_iter().for_each(|(run, birth)| self.expect_large(run, birth));
        Some(())
    }

    /// Gives segments back in which nothing has turned out to be alive.
    pub(crate) fn give_dead_back(&mut self, index_bytes: usize) {
        for queue in 0..self.order.len() {
            let line = std::mem::take(&mut self.order[queue]);
            for segment in line {
                match self.segments[segment].live {
                    0 => self.give_back(segment, index_bytes),
                    _ => self.order[queue].push_back(segment),
                }
            }
        }
    }
}
