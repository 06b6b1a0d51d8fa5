use std::str::FromStr;

use units::{Nanos, ParseError, Rate, SESSION_PERCENTILE, SessionFigure};

use super::{Figure, Gate, Limit};

/// The forms of a gate, for error messages.
const HINT: &str = "write FIGURE<LIMIT or FIGURE>=LIMIT with p50, p99.9 or any percentile, max, mean or windowed p99 \
                     and a time ('p99<1ms'); errors and per cent ('errors<0.1%'); within(TIME), rate or hit_ratio and \
                     per cent ('within(1ms)>99%', 'rate>=99%' of what was offered); rate and requests per second \
                     ('rate>=50k'); one operation's as 'get.p99<1ms'; of sessions 'startup.p95<2s', 'rebuffer<1%', \
                     'misses<1%' and 'met>95%'; of operations with limits of their own 'within>=95%' and \
                     'within.home>=95%'";

impl FromStr for Gate {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Gate, ParseError> {
        read(text).map_err(|problem| ParseError { what: "gate", given: text.into(), problem, hint: HINT })
    }
}

fn read(text: &str) -> Result<Gate, String> {
    let at = text.find(['<', '>', '≤', '≥']).ok_or("it has no '<' or '>'")?;
    let (left, right) = text.split_at(at);
    let (less, inclusive, limit) = match right.strip_prefix(['<', '>']) {
        Some(rest) => match rest.strip_prefix('=') {
            Some(limit) => (right.starts_with('<'), true, limit),
            None => (right.starts_with('<'), false, rest),
        },
        None => (right.starts_with('≤'), true, right.trim_start_matches(['≤', '≥'])),
    };
    let (operation, figure) = subject(left.trim())?;
    if less != figure.is_cost() {
        let (is, sign) = if figure.is_cost() {
            ("a cost: it is held below its limit", '<')
        } else {
            ("better the larger", '>')
        };
        return Err(format!("{figure} is {is}, with '{sign}'"));
    }
    if operation.is_some() && !figure.is_of_operations() {
        return Err(format!("{figure} is known of all operations together only"));
    }
    let limit = self::limit(&figure, limit.trim())?;
    Ok(Gate { operation, figure, inclusive, limit })
}

/// The operation, or the distribution of sessions, and the figure: `get.p99.9` is the p99.9 of `get`, `startup` its p95.
fn subject(text: &str) -> Result<(Option<String>, Figure), String> {
    if SessionFigure::named(text).is_some_and(|figure| figure.is_time) {
        return Ok((Some(text.into()), Figure::Percentile(SESSION_PERCENTILE)));
    }
    // The rungs of a ladder begin with a digit: `240p`.
    let is_name = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-'))
    };
    match figure(text) {
        Ok(figure) => Ok((None, figure)),
        Err(problem) => match text.split_once('.') {
            Some((operation, rest)) if is_name(operation) && !operation.starts_with("within") => {
                Ok((Some(operation.into()), figure(rest)?))
            }
            _ => Err(problem),
        },
    }
}

fn figure(text: &str) -> Result<Figure, String> {
    let percentile = |text: &str| text.strip_prefix('p')?.parse::<f64>().ok();
    // A QoS target may also name the figure of all requests this way.
    let text = text.strip_prefix("raw p").map_or(text, |_| text["raw".len()..].trim_start());
    if let Some(percentile) = percentile(text) {
        return if percentile > 0.0 && percentile < 100.0 {
            Ok(Figure::Percentile(percentile))
        } else {
            Err(format!("'{text}' is not a percentile between p0 and p100; the longest time is called max"))
        };
    }
    if text == "within" || SessionFigure::within(text).is_some() {
        return Ok(Figure::Ratio(text.into()));
    }
    if let Some(rest) = text.strip_prefix("within") {
        let target = rest.trim().strip_prefix('(').and_then(|rest| rest.strip_suffix(')'));
        let target = target.ok_or_else(|| format!("'{text}' lacks its target in brackets"))?;
        let target: Nanos = target.trim().parse().map_err(|error: ParseError| error.to_string())?;
        return if target > Nanos::ZERO {
            Ok(Figure::Within(target))
        } else {
            Err("its target is zero".into())
        };
    }
    match text {
        "windowed_p99" | "windowed p99" => Ok(Figure::WindowedP99),
        "max" => Ok(Figure::Max),
        "mean" => Ok(Figure::Mean),
        "rate" => Ok(Figure::Rate),
        "errors" => Ok(Figure::Errors),
        _ => match SessionFigure::ratio(text) {
            Some(ratio) => Ok(Figure::Ratio(ratio.name.into())),
            None => Err(format!("there is no figure '{text}'")),
        },
    }
}

fn limit(figure: &Figure, text: &str) -> Result<Limit, String> {
    let percent = || -> Option<f64> {
        let number: f64 = text.strip_suffix('%')?.trim_end().parse().ok()?;
        (number.is_finite() && number >= 0.0).then_some(number)
    };
    match figure {
        Figure::Percentile(_) | Figure::WindowedP99 | Figure::Max | Figure::Mean => {
            let time: Nanos = text.parse().map_err(|error: ParseError| error.to_string())?;
            if time > Nanos::ZERO { Ok(Limit::Time(time)) } else { Err("its limit is zero".into()) }
        }
        Figure::Rate if !text.ends_with('%') => {
            let rate: Rate = text.parse().map_err(|error: ParseError| error.to_string())?;
            Ok(Limit::Rate(rate))
        }
        Figure::Rate | Figure::Within(_) | Figure::Errors | Figure::Ratio(_) => {
            let percent =
                percent().ok_or_else(|| format!("'{text}' is not a number of per cent, such as 99%"))?;
            // A gate above 100 % is refused: Poisson arrivals vary, but never more than all of them are answered.
            if percent <= 100.0 {
                Ok(Limit::Percent(percent))
            } else {
                Err(format!("{text} is more than all"))
            }
        }
    }
}
