use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use dist::{KeySampler, Popularity, Purpose, Streams};

use crate::server::Server;
use crate::tables::Report;

/// Keys of 16 B, all of which are there.
const KEYS: u64 = 100_000;
/// Gets in one batch: a larger one would hide more of the cost of a request.
const BATCH: usize = 32;
/// Requests that are sent again and again. Their memory is some MiB, so that the client is fast.
const BATCHES: usize = 8_192;
/// No answer takes as long.
const PATIENCE: Duration = Duration::from_secs(60);
const VALUE: usize = 200;

/// Gets of which each is a request of its own, or keys of requests with several.
#[derive(Clone, Copy)]
enum Shape {
    Pipelined,
    Several,
}

/// What serving took.
struct Spent {
    /// Gets a second of the server's processor time.
    per_processor: f64,
    /// Gets a second.
    per_second: f64,
}

/// Compares servers that differ in sampling alone.
pub(crate) fn compare(report: &Report, pairs: usize, gets: u64) -> Result<()> {
    let mut rows = Vec::new();
    for (name, shape, more) in [
        ("single gets, pipelined, epoll", Shape::Pipelined, "--io epoll"),
        ("gets of 32 keys, epoll", Shape::Several, "--io epoll"),
        ("gets of 32 keys, io_uring", Shape::Several, "--io auto"),
        ("gets of 32 keys, epoll, --sharing everything", Shape::Several, "--io epoll --sharing everything"),
    ] {
        let requests = requests(shape);
        let (mut by_processor, mut by_time, mut rate) = (Vec::new(), Vec::new(), Vec::new());
        for pair in 0..pairs {
            let run = |options: &str| run(&format!("{more} {options}"), &requests, shape, gets);
            let (with, without) = if pair.is_multiple_of(2) {
                (run("")?, run("--no-sampling")?)
            } else {
                let without = run("--no-sampling")?;
                (run("")?, without)
            };
            by_processor.push(with.per_processor / without.per_processor);
            by_time.push(with.per_second / without.per_second);
            rate.push(with.per_processor);
        }
        let row = vec![
            name.into(),
            format!("{:.2} M", middle(&mut rate).1 / 1e6),
            told(by_processor),
            told(by_time),
        ];
        println!("{}", row.join("  "));
        rows.push(row);
    }
    let columns = ["load", "gets a second of processor time", "with / without, by processor time", "by time"];
    report.table("Cost of sampling", &columns, rows);
    report.note("Medians over the pairs, with the quartiles.");
    Ok(())
}

/// The lower quartile, the median and the upper quartile.
fn middle(values: &mut [f64]) -> (f64, f64, f64) {
    values.sort_by(f64::total_cmp);
    let at = |quarter: usize| values[(values.len() - 1) * quarter / 4];
    (at(1), at(2), at(3))
}

fn told(mut ratios: Vec<f64>) -> String {
    let (low, median, high) = middle(&mut ratios);
    format!("{median:.4} ({low:.4} to {high:.4})")
}

fn requests(shape: Shape) -> Vec<Vec<u8>> {
    let sampler = KeySampler::new(Popularity::Zipf { alpha: 0.99 }, KEYS).expect("keys in bounds");
    let (mut sampler, mut rng) = (sampler.scattered(7), Streams::new(42).stream(Purpose::Keys, 0));
    let batch = |_| {
        let keys = (0..BATCH).map(|_| sampler.sample(&mut rng, KEYS));
        match shape {
            Shape::Pipelined => keys.map(|key| format!("get {key:016}\r\n")).collect::<String>(),
            Shape::Several => {
                format!("get{}\r\n", keys.map(|key| format!(" {key:016}")).collect::<String>())
            }
        }
    };
    (0..BATCHES).map(batch).map(String::into_bytes).collect()
}

/// Serves the gets by a server with these options.
fn run(options: &str, requests: &[Vec<u8>], shape: Shape, gets: u64) -> Result<Spent> {
    let server = Server::sphinx(128 << 20, "two-queues", options)?;
    let mut stream = TcpStream::connect(server.address)?;
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    for first in (0..KEYS).step_by(1_000) {
        let set = |key| format!("set {key:016} 0 0 {VALUE} noreply\r\n{}\r\n", "v".repeat(VALUE));
        let sets: String = (first..first + 1_000).map(set).collect();
        stream.write_all(sets.as_bytes())?;
    }
    // All keys have 16 B and all values 200 B, so that the length of an answer is known.
    let value = format!("VALUE {:016} 0 {VALUE}\r\n", 0).len() + VALUE + 2;
    let ends = if matches!(shape, Shape::Pipelined) { BATCH } else { 1 };
    let mut answer = vec![0; BATCH * value + ends * "END\r\n".len()];
    let mut serve = |count: u64| -> Result<()> {
        for request in requests.iter().cycle().take(count as usize / BATCH) {
            stream.write_all(request)?;
            stream.read_exact(&mut answer)?;
        }
        ensure!(answer.ends_with(b"END\r\n"), "another answer than expected");
        Ok(())
    };
    // The sampler finds its rate.
    serve(gets / 10)?;
    let (began, before) = (Instant::now(), server.processor_time()?);
    serve(gets)?;
    let (took, spent) = (began.elapsed(), server.processor_time()? - before);
    Ok(Spent {
        per_processor: gets as f64 / spent.as_secs_f64(),
        per_second: gets as f64 / took.as_secs_f64(),
    })
}

impl Server {
    /// The processor time of all threads, to the ns.
    fn processor_time(&self) -> Result<Duration> {
        let tasks = format!("/proc/{}/task", self.pid());
        let mut sum = Duration::ZERO;
        for task in std::fs::read_dir(&tasks).context(tasks)? {
            let path = task?.path().join("schedstat");
            let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            let on_processor = text.split(' ').next().unwrap_or_default().parse()?;
            sum += Duration::from_nanos(on_processor);
        }
        Ok(sum)
    }
}
