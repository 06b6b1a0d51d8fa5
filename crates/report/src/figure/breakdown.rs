//! The time of traced requests: bars cut by service and by part.

use std::collections::BTreeMap;

use maud::{Markup, html};
use results::{Among, Part, TracedOperation};

use super::stacked::{self, Bar, PartStyle, labelled};

/// The looks of services; the services with the least time are drawn together. Source: the colours of the style sheet.
const COLOURS: [&str; 14] =
    ["t0", "t1", "t2", "t3", "t4", "t6", "t7", "t8", "t9", "u0", "u1", "u2", "u3", "u4"];
/// The name of the remaining services together.
const OTHERS: &str = "others";

/// The looks of parts: blue and grey between services, warm for waiting, green for work.
pub(super) const PARTS: [PartStyle<'static>; 9] = [
    labelled("before_sending", "before sending", "t6"),
    labelled("front", "front", "t5"),
    labelled("transit", "transit", "t0"),
    labelled("queue", "queue", "t1"),
    labelled("pool_wait", "pool wait", "t8"),
    labelled("codec", "codec", "t7"),
    labelled("application", "application", "t2"),
    labelled("store", "store", "t4"),
    labelled("unexplained", "unexplained", "invalid max"),
];

/// An operation at one load.
pub(crate) struct Broken<'a> {
    /// The bar's operation and load: `browse · 90 % · 270 rps`.
    pub label: String,
    pub operation: &'a TracedOperation,
    pub among: Among,
}

impl Broken<'_> {
    /// Its mean time in the parts and services for which `is_meant` is true. Units: µs.
    fn mean_us(&self, is_meant: impl Fn(&str, Part) -> bool) -> Option<f64> {
        self.operation.mean_us(self.among, is_meant)
    }

    fn bar(&self, us: Vec<Option<f64>>) -> Bar {
        Bar { name: self.label.clone(), us, total: self.mean_us(|_, _| true) }
    }
}

/// A bar for each operation and load, cut by service.
pub(crate) fn by_service(broken: &[Broken<'_>]) -> Markup {
    let names = leading(broken);
    let others = |one: &Broken<'_>| one.mean_us(|service, _| !names.contains(&service));
    let mut looks: Vec<PartStyle<'_>> =
        names.iter().zip(COLOURS).map(|(name, colour)| labelled(name, name, colour)).collect();
    let bars: Vec<Bar> = broken
        .iter()
        .map(|one| {
            let named = names.iter().map(|name| one.mean_us(|service, _| service == *name));
            one.bar(named.chain([others(one)]).collect())
        })
        .collect();
    // Omit the key of the others if there are none.
    let has_others = broken.iter().any(|one| others(one).is_some_and(|us| us > 0.0));
    looks.extend(has_others.then(|| labelled(OTHERS, OTHERS, "t5")));
    let caption = html! {
        "The mean time of a request by the generator, which is written behind each bar, cut along its critical path by service and \
         store. The way to a service and back counts for it, what a store takes for the store; front is all before the first service \
         that writes spans: the load balancer, the web server, and waiting for it; client is what passes before a request is sent."
    };
    super::wide("Whose time it is", false, caption, |size| stacked::draw(&looks, &bars, size))
}

/// The services with the most time over all bars, sorted by it; at most as many as there are colours.
fn leading<'a>(broken: &[Broken<'a>]) -> Vec<&'a str> {
    let mut most: BTreeMap<&str, f64> = BTreeMap::new();
    for one in broken {
        for service in &one.operation.services {
            let share = one.operation.share(one.among, |name, _| name == service.name).unwrap_or(0.0);
            *most.entry(&service.name).or_default() += share;
        }
    }
    let mut names: Vec<(&str, f64)> = most.into_iter().filter(|(_, share)| *share > 0.0).collect();
    names.sort_by(|a, b| b.1.total_cmp(&a.1));
    names.into_iter().take(COLOURS.len()).map(|(name, _)| name).collect()
}

/// The same bars, cut by part instead of by service.
pub(crate) fn by_part(title: &str, broken: &[Broken<'_>]) -> Markup {
    let us = |one: &Broken<'_>, part: Part| one.mean_us(|_, of| of == part);
    let is_there = |part: Part| broken.iter().any(|one| us(one, part).is_some_and(|us| us > 0.0));
    let (looks, parts): (Vec<PartStyle<'_>>, Vec<Part>) =
        PARTS.into_iter().zip(Part::ALL).filter(|(_, part)| is_there(*part)).unzip();
    let bars: Vec<Bar> =
        broken.iter().map(|one| one.bar(parts.iter().map(|part| us(one, *part)).collect())).collect();
    let caption = html! {
        "Before sending: a request was due, and its client had no connection yet or was late. Transit: under way between two services, in \
         kernels and sockets that were not read yet. Queue: before a thread took the request. \
         Pool wait: before a connection was free. Codec: encoding, decoding, handing to the kernel. Unexplained: calls of which one end \
         is not known."
    };
    super::wide(title, false, caption, |size| stacked::draw(&looks, &bars, size))
}

/// A bar whose parts are shares of a whole.
pub(crate) struct Shares {
    pub label: String,
    /// In the order of the figure's names. Units: per cent.
    pub percent: Vec<Option<f64>>,
    /// The whole. Units: µs.
    pub total_us: Option<f64>,
}

/// Bars of shares, of services or of parts; the time outside `names` is drawn as the rest.
pub(crate) fn shares(title: &str, names: &[&str], bars: &[Shares]) -> Markup {
    let rest = |bar: &Shares| (100.0 - bar.percent.iter().flatten().sum::<f64>()).max(0.0);
    // A remainder up to 0.1 % is rounding.
    let has_rest = bars.iter().any(|bar| rest(bar) > 0.1);
    let colour = |place: usize, name: &str| {
        let of_part = PARTS.iter().find(|look| look.label == name).map(|look| look.class);
        of_part.unwrap_or(COLOURS[place % COLOURS.len()])
    };
    let mut looks: Vec<PartStyle<'_>> =
        names.iter().enumerate().map(|(place, name)| labelled(name, name, colour(place, name))).collect();
    looks.extend(has_rest.then(|| labelled(OTHERS, OTHERS, "t5")));
    let bars: Vec<Bar> = bars
        .iter()
        .map(|bar| Bar {
            name: bar.label.clone(),
            us: bar.percent.iter().copied().chain([has_rest.then(|| rest(bar))]).collect(),
            total: bar.total_us,
        })
        .collect();
    let caption =
        html! { "Shares of the mean time of a request by the generator, which is written behind each bar." };
    super::wide(title, false, caption, |size| stacked::draw(&looks, &bars, size))
}

#[cfg(test)]
mod tests {
    use results::{Group, PartTime, ServiceTime};

    use super::*;

    fn operation(services: &[(&str, Part, u64)]) -> TracedOperation {
        let service = |(name, part, all_ns): &(&str, Part, u64)| ServiceTime {
            name: (*name).to_owned(),
            parts: vec![PartTime { part: *part, all_ns: *all_ns, ..PartTime::default() }],
            ..ServiceTime::default()
        };
        let root_ns = services.iter().map(|(_, _, ns)| ns).sum();
        TracedOperation {
            all: Group { requests: 1, root_ns, tracer_ns: 0 },
            services: services.iter().map(service).collect(),
            ..TracedOperation::default()
        }
    }

    #[test]
    fn services_that_take_little_are_drawn_together() {
        let names: Vec<String> = (0..17).map(|i| format!("service-{i}")).collect();
        let times: Vec<(&str, Part, u64)> = names
            .iter()
            .enumerate()
            .map(|(i, name)| (name.as_str(), Part::Application, 1_000 * (1 + i as u64)))
            .collect();
        let operation = operation(&times);
        let one = || Broken { label: "browse".into(), operation: &operation, among: Among::All };
        assert_eq!(leading(&[one()])[..2], ["service-16", "service-15"]);
        let drawn = by_service(&[one()]).into_string();
        assert!(drawn.contains(">service-3<") && !drawn.contains(">service-2<") && drawn.contains(OTHERS));
        let few = self::operation(&times[..2]);
        let one = Broken { label: "browse".into(), operation: &few, among: Among::All };
        assert!(!by_service(&[one]).into_string().contains(">others<"));
    }

    #[test]
    fn only_parts_that_are_there_have_a_key() {
        let operation = operation(&[("php", Part::Application, 3_000), ("plot", Part::Transit, 1_000)]);
        let one = Broken { label: "browse".into(), operation: &operation, among: Among::All };
        let drawn = by_part("On what", &[one]).into_string();
        assert!(
            drawn.contains(">application<") && drawn.contains(">transit<") && !drawn.contains(">pool wait<")
        );
        for (part, look) in Part::ALL.iter().zip(PARTS) {
            assert_eq!((part.name(), part.words()), (look.name, look.label));
        }
    }

    #[test]
    fn shares_have_a_rest_where_names_are_few() {
        let bar = |percent: &[f64]| Shares {
            label: "browse · 10 %".into(),
            percent: percent.iter().map(|value| Some(*value)).collect(),
            total_us: Some(1_200.0),
        };
        let drawn = shares("Services", &["php", "plot"], &[bar(&[60.0, 10.0])]).into_string();
        assert!(
            drawn.contains(">others<") && drawn.contains(">php<") && drawn.contains("1.20 ms"),
            "{drawn}"
        );
        let drawn = shares("Parts", &["transit", "queue"], &[bar(&[60.0, 39.95])]).into_string();
        assert!(!drawn.contains(">others<") && drawn.contains("bar t1"), "{drawn}");
    }
}
