//! Hardware offloads of a network card: queues, hashing and filters, by `ethtool`.

use super::value::{Switch, positive};
use super::{About, Definition, Knob};
use crate::plan::Planner;
use crate::{Error, Reading};
use host::ethtool::Ethtool;

/// The place of our first rule in the card's table; the knob is refused if that place is taken.
const FIRST_RULE: u32 = 100;

/// `nic.queues=8`: combined queues of the card (`ethtool -L`).
pub(super) const NIC_QUEUES: Definition<u32> = Definition {
    about: About {
        name: "nic.queues",
        does: "the card's combined queues",
        syntax: "a number of queues, such as nic.queues=8",
        source: "IISWC'17 §III-B: 8; ANCS'19 Table I: 8 and 48",
    },
    read: positive,
    write: u32::to_string,
    plan: |queues, planner| {
        let of_queues = ["irq.affinity", "irqbalance", "rps", "xps", "rfs", "nic.spread", "nic.steer"];
        planner.goes_before("the device's queues and interrupts", &of_queues)?;
        let device = planner.device()?;
        let most = planner.card()?.channels.map_or(0, |channels| channels.combined_most);
        if *queues > most {
            let limit = format!("{device} has at most {most} combined queues");
            return Err(planner.unsupported(limit, "choose fewer, or leave it out"));
        }
        let [show, set] = [format!("ethtool -l {device}"), format!("ethtool -L {device} combined {{}}")];
        planner.tool([&show, &set, ""], Reading::Channels, &queues.to_string(), &None)
    },
};

/// `nic.spread=8`: the card's hash spreads flows evenly over its first 8 queues (`ethtool -X`).
pub(super) const NIC_SPREAD: Definition<u32> = Definition {
    about: About {
        name: "nic.spread",
        does: "the card spreads flows evenly over its first queues",
        syntax: "a number of queues, such as nic.spread=8",
        source: "IISWC'17 §IV-B: receive-side scaling",
    },
    read: positive,
    write: u32::to_string,
    plan: |queues, planner| {
        let device = planner.device()?;
        if planner.card()?.indirection.is_empty() {
            let limit = format!("{device} has no table that spreads flows over queues");
            return Err(planner.unsupported(limit, "leave it out, or use rps"));
        }
        let [show, set] = [format!("ethtool -x {device}"), format!("ethtool -X {device} equal {{}}")];
        planner.tool([&show, &set, ""], Reading::Spread, &queues.to_string(), &None)
    },
};

/// `nic.filters=on`: filters in the card, which accelerated flow steering needs (`ethtool -K ntuple`).
pub(super) const NIC_FILTERS: Definition<Switch> = Definition {
    about: About {
        name: "nic.filters",
        does: "filters in the card",
        syntax: "nic.filters=on or off",
        source: "ISPASS'16 §IV-C.3: the card's flow director",
    },
    read: Switch::named,
    write: Switch::write,
    plan: |switch, planner| {
        let device = planner.device()?;
        // The kernel's name for ethtool's ntuple-filters.
        const FEATURE: &str = "rx-ntuple-filter";
        let card = planner.card()?;
        let feature = card.features.get(FEATURE).copied().unwrap_or_default();
        // A card without filters has them off, and nothing to run.
        if !feature.on && !feature.can_change && !switch.is_on() {
            return Ok(());
        }
        if feature.on != switch.is_on() && !feature.can_change {
            let limit = format!("{device} cannot switch its filters {}", switch.name());
            return Err(planner.unsupported(limit, "leave it out, or use rfs"));
        }
        let [show, set] = [format!("ethtool -k {device}"), format!("ethtool -K {device} ntuple {{}}")];
        let reading = Reading::Feature { name: "ntuple-filters".into() };
        planner.tool([&show, &set, ""], reading, switch.name(), &None)
    },
};

/// `nic.steer=11211:3`: packets to this TCP port go to this queue (`ethtool -N`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NicSteer {
    /// The destination's port.
    pub port: u16,
    /// The queue.
    pub queue: u32,
}

pub(super) const NIC_STEER: Definition<NicSteer> = Definition {
    about: About {
        name: "nic.steer",
        does: "packets to a TCP port go to a queue",
        syntax: "a TCP port and a queue, such as nic.steer=11211:3",
        source: "ANCS'19 §V: hardware steering, a port for each core",
    },
    read: |value| {
        let (port, queue) = value.split_once(':')?;
        Some(NicSteer { port: port.parse().ok()?, queue: queue.parse().ok()? })
    },
    write: |steer| format!("{}:{}", steer.port, steer.queue),
    plan: |steer, planner| {
        let NicSteer { port, queue } = *steer;
        let device = planner.device()?;
        let Some(rules) = planner.card()?.rules else {
            let limit = format!("{device} takes no rules for single flows");
            return Err(planner.unsupported(limit, "leave it out, or use rps"));
        };
        let on = planner.card()?.has_on("rx-ntuple-filter");
        if !on && !planner.knobs.contains(&Knob::NicFilters(Switch::On)) {
            return Err(planner.usage("the card's filters are off", "add nic.filters=on"));
        }
        let earlier = planner.actions.iter().filter(|action| action.knob.starts_with("nic.steer="));
        let place = FIRST_RULE + earlier.count() as u32;
        if rules.most != 0 && place >= rules.most {
            let limit = format!("{device} has room for {} rules", rules.most);
            return Err(planner.unsupported(limit, "steer fewer ports"));
        }
        let show = format!("ethtool -n {device}");
        let set = format!("ethtool -N {device} flow-type tcp4 dst-port {port} action {queue} loc {place}");
        let unset = format!("ethtool -N {device} delete {place}");
        planner.tool([&show, &set, &unset], Reading::Rule { place }, &format!("{port}:{queue}"), &None)
    },
};

impl Planner<'_> {
    fn card(&self) -> Result<&Ethtool, Error> {
        let device = self.device()?;
        match self.host.nic(device) {
            Some(nic) => Ok(&nic.ethtool),
            None => Err(self.unsupported(
                format!("there is no device {device}"),
                "name one of /sys/class/net by --device",
            )),
        }
    }
}
