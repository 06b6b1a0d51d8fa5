//! Reads the counters of a service as described.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use regex_lite::Regex;
use serde_json::Value;

use crate::description::Send;
use crate::ready;

/// How long a service may take to answer. It answers within some ms; under full load it may take longer.
pub(crate) const WAIT: Duration = Duration::from_secs(5);
/// The longest answer that is read.
const ANSWER: u64 = 4 << 20;
/// The deepest object of an answer in JSON whose numbers are counters.
const DEPTH: usize = 8;

/// The answer to `send`, up to and with the line that ends it.
pub(crate) fn sent(address: SocketAddr, send: &Send, within: Duration) -> Result<String, String> {
    let io = |e: std::io::Error| format!("{address}: {e}");
    let mut stream = TcpStream::connect_timeout(&address, within).map_err(io)?;
    stream.set_read_timeout(Some(within)).map_err(io)?;
    stream.set_write_timeout(Some(within)).map_err(io)?;
    stream.write_all(send.text.as_bytes()).map_err(io)?;
    let mut answer = String::new();
    let mut lines = BufReader::new(stream.take(ANSWER));
    loop {
        let before = answer.len();
        if lines.read_line(&mut answer).map_err(io)? == 0 {
            let first = answer.lines().next().unwrap_or_default();
            return Err(format!("{address} answered '{first}' and no line '{}'", send.until));
        }
        if answer[before..].trim_end() == send.until {
            return Ok(answer);
        }
    }
}

/// The answer to a GET.
pub(crate) fn got(address: SocketAddr, path: &str) -> Result<String, String> {
    match ready::get(address, path, WAIT) {
        Ok((200, body)) => Ok(String::from_utf8_lossy(&body).into_owned()),
        Ok((status, _)) => Err(format!("{address} answers {status} for {path}")),
        Err(error) => Err(format!("{address}: {error}")),
    }
}

/// The counters in an answer, without values that are not numbers.
pub(crate) fn read(answer: &str, patterns: &[String]) -> Result<BTreeMap<String, f64>, String> {
    let mut counters = BTreeMap::new();
    if patterns.is_empty() {
        let value = serde_json::from_str(answer).map_err(|e| format!("its answer is not JSON: {e}"))?;
        flatten(&value, "", DEPTH, &mut counters);
        return Ok(counters);
    }
    for pattern in patterns {
        let pattern = Regex::new(pattern).map_err(|e| e.to_string())?;
        for found in pattern.captures_iter(answer) {
            let number = |group: &str| found.name(group).and_then(|text| text.as_str().parse::<f64>().ok());
            if let (Some(name), Some(value)) = (found.name("name"), number("value")) {
                counters.insert(name.as_str().into(), value);
                continue;
            }
            let groups =
                pattern.capture_names().flatten().filter(|group| !matches!(*group, "name" | "value"));
            counters.extend(groups.filter_map(|group| Some((group.to_owned(), number(group)?))));
        }
    }
    Ok(counters)
}

fn flatten(value: &Value, at: &str, depth: usize, counters: &mut BTreeMap<String, f64>) {
    let below = |name: &str| if at.is_empty() { name.to_owned() } else { format!("{at}.{name}") };
    match value {
        Value::Number(number) => counters.extend(number.as_f64().map(|number| (at.to_owned(), number))),
        Value::Object(all) if depth > 0 => {
            all.iter().for_each(|(name, value)| flatten(value, &below(name), depth - 1, counters));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_counters() {
        let check = |answer: &str, patterns: &[&str], expect: &[(&str, f64)]| {
            let patterns: Vec<String> = patterns.iter().map(|one| (*one).to_owned()).collect();
            let found = read(answer, &patterns).unwrap();
            let found: Vec<(&str, f64)> = found.iter().map(|(name, value)| (name.as_str(), *value)).collect();
            assert_eq!(found, expect, "{answer}");
        };
        let stats =
            "STAT pid 7\r\nSTAT version 1.6\r\nSTAT rusage_user 0.25\r\nSTAT libevent 2.1.12\r\nEND\r\n";
        let named = r"(?m)^STAT (?<name>\S+) (?<value>[0-9.]+)\r?$";
        check(stats, &[named], &[("pid", 7.0), ("rusage_user", 0.25), ("version", 1.6)]);
        let status = "Active connections: 2 \nserver accepts handled requests\n 5 4 9 \nReading: 0 Writing: 1 Waiting: 1 \n";
        let groups =
            [r"Active connections: (?<active>\d+)", r"\n (?<accepts>\d+) (?<handled>\d+) (?<requests>\d+)"];
        check(status, &groups, &[("accepts", 5.0), ("active", 2.0), ("handled", 4.0), ("requests", 9.0)]);
        check(r#"{"a":1,"b":{"c":2.5,"d":"x","e":[1]}}"#, &[], &[("a", 1.0), ("b.c", 2.5)]);
        assert!(read("no JSON", &[]).unwrap_err().contains("not JSON"));
    }
}
