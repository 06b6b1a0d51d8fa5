//! Hardware offloads of a network card: queues, hashing and filters, by `ethtool`.

use super::Planner;
use crate::knob::Switch;
use crate::{Error, Knob, Reading};
use host::ethtool::Ethtool;

/// The place of our first rule in the card's table; the knob is refused if that place is taken.
const FIRST_RULE: u32 = 100;

impl Planner<'_> {
    pub(super) fn nic_queues(&mut self, queues: u32) -> Result<(), Error> {
        let of_queues = ["irq.affinity", "irqbalance", "rps", "xps", "rfs", "nic.spread", "nic.steer"];
        self.goes_before("the device's queues and interrupts", &of_queues)?;
        let device = self.device()?;
        let most = self.card()?.channels.map_or(0, |channels| channels.combined_most);
        if queues > most {
            let limit = format!("{device} has at most {most} combined queues");
            return Err(self.unsupported(limit, "choose fewer, or leave it out"));
        }
        let [show, set] = [format!("ethtool -l {device}"), format!("ethtool -L {device} combined {{}}")];
        self.tool([&show, &set, ""], Reading::Channels, &queues.to_string(), &None)
    }

    pub(super) fn nic_spread(&mut self, queues: u32) -> Result<(), Error> {
        let device = self.device()?;
        if self.card()?.indirection.is_empty() {
            let limit = format!("{device} has no table that spreads flows over queues");
            return Err(self.unsupported(limit, "leave it out, or use rps"));
        }
        let [show, set] = [format!("ethtool -x {device}"), format!("ethtool -X {device} equal {{}}")];
        self.tool([&show, &set, ""], Reading::Spread, &queues.to_string(), &None)
    }

    pub(super) fn nic_filters(&mut self, switch: Switch) -> Result<(), Error> {
        let device = self.device()?;
        // The kernel's name for ethtool's ntuple-filters.
        const FEATURE: &str = "rx-ntuple-filter";
        let card = self.card()?;
        let feature = card.features.get(FEATURE).copied().unwrap_or_default();
        // A card without filters has them off, and nothing to run.
        if !feature.on && !feature.can_change && !switch.is_on() {
            return Ok(());
        }
        if feature.on != switch.is_on() && !feature.can_change {
            let limit = format!("{device} cannot switch its filters {switch}");
            return Err(self.unsupported(limit, "leave it out, or use rfs"));
        }
        let [show, set] = [format!("ethtool -k {device}"), format!("ethtool -K {device} ntuple {{}}")];
        let reading = Reading::Feature { name: "ntuple-filters".into() };
        self.tool([&show, &set, ""], reading, &switch.to_string(), &None)
    }

    pub(super) fn nic_steer(&mut self, port: u16, queue: u32) -> Result<(), Error> {
        let device = self.device()?;
        let Some(rules) = self.card()?.rules else {
            let limit = format!("{device} takes no rules for single flows");
            return Err(self.unsupported(limit, "leave it out, or use rps"));
        };
        let on = self.card()?.has_on("rx-ntuple-filter");
        if !on && !self.knobs.contains(&Knob::NicFilters(Switch::On)) {
            return Err(self.usage("the card's filters are off", "add nic.filters=on"));
        }
        let earlier = self.actions.iter().filter(|action| action.knob.starts_with("nic.steer="));
        let place = FIRST_RULE + earlier.count() as u32;
        if rules.most != 0 && place >= rules.most {
            let limit = format!("{device} has room for {} rules", rules.most);
            return Err(self.unsupported(limit, "steer fewer ports"));
        }
        let show = format!("ethtool -n {device}");
        let set = format!("ethtool -N {device} flow-type tcp4 dst-port {port} action {queue} loc {place}");
        let unset = format!("ethtool -N {device} delete {place}");
        self.tool([&show, &set, &unset], Reading::Rule { place }, &format!("{port}:{queue}"), &None)
    }

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
