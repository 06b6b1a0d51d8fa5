//! Items of 100 MB that are stored and evicted, and their effect on other clients.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use results::Metric;

use crate::Setting;
use crate::contestant::{Kind, turns};
use crate::load::{Load, Run, SATURATING_RATE};
use crate::table::{self, Figures, exact};

/// The size of one item. Source: the acceptance criterion of this part, "a set of 100 MB and its get, with eviction".
const ITEM: usize = 100 << 20;
/// Items that take turns: twice as many bytes as the servers have memory.
const ITEMS: usize = 20;
/// The time from the begin of one set or get to the begin of the next, unless the operation takes longer.
const EVERY: Duration = Duration::from_millis(250);
/// The load of the other clients, as a share of the slowest server's maximum without large items.
const SHARE: f64 = 0.3;
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn run(setting: &Setting) {
    println!("\n## Items of 100 MB set and got beside other clients: one server core");
    let mut all = setting.with(" -I 128m");
    all.retain(|contestant| contestant.kind != Kind::Floor);
    let load = Load { connections: 16, ..Load::of_filled("get", setting.seconds) };
    let cpu = setting.generator_cpu;
    let [mut alone, mut beside, mut moved]: [Figures; 3] =
        std::array::from_fn(|_| vec![Vec::new(); all.len()]);
    for round in 0..setting.rounds {
        // Evictions may have taken some of the small items.
        setting.fill(&all, &Load::new("get", 1));
        let most = |server| setting.run(&load, server, Some(SATURATING_RATE));
        let Some(slowest) =
            all.iter().filter_map(|server| Some(most(server)?.trial.achieved_rps)).reduce(f64::min)
        else {
            continue;
        };
        let at_share = |server| setting.run(&load, server, Some(SHARE * slowest));
        let p99 = |run: Run| Metric::P99.reading(&run.trial);
        for i in turns(round, all.len()) {
            alone[i].push(at_share(&all[i]).map(p99));
            let transfers = Transfers::start(all[i].address, cpu);
            let run = at_share(&all[i]);
            let transfers = all[i].awake(|| transfers.end());
            let (bytes, took) = transfers.unwrap_or_else(|error| panic!("{}: {error}", all[i].name));
            moved[i].push(Some(exact(bytes as f64 / 1e6 / took.as_secs_f64())));
            beside[i].push(run.map(p99));
        }
    }
    table::print("p99 of the others without large items", "µs", &all, &alone, false);
    table::print("p99 of the others beside large items", "µs", &all, &beside, false);
    table::print("Large items moved", "MB/s", &all, &moved, true);
    let rows = [
        ("p99 of the others without large items", &alone, false),
        ("p99 of the others beside them", &beside, false),
        ("MB/s of large items", &moved, true),
    ];
    let rows = rows.map(|(what, figures, higher)| {
        [what.to_owned()].into_iter().chain(table::ratios(&all, figures, higher)).collect()
    });
    let sphinxes = table::sphinxes(&all).map(|(_, sphinx)| sphinx.name.clone());
    let columns: Vec<String> = ["figure".to_owned()].into_iter().chain(sphinxes).collect();
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    table::shown(setting, "Large items: ratios to memcached", &columns, rows.to_vec());
}

/// A client that sets and gets large items in turn.
struct Transfers {
    ended: Arc<AtomicBool>,
    client: JoinHandle<io::Result<(u64, Duration)>>,
}

impl Transfers {
    /// Begins on processor `cpu`, whether or not the server is awake.
    fn start(server: SocketAddr, cpu: usize) -> Transfers {
        let ended = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&ended);
        let client = thread::spawn(move || {
            reactor::pin_to(cpu)?;
            transfer(server, &until)
        });
        Transfers { ended, client }
    }

    /// Ends after the transfer that goes on: the bytes moved, and the time that took without the pauses.
    fn end(self) -> io::Result<(u64, Duration)> {
        self.ended.store(true, Ordering::Relaxed);
        self.client.join().expect("the client does not panic")
    }
}

fn transfer(server: SocketAddr, ended: &AtomicBool) -> io::Result<(u64, Duration)> {
    let mut stream = TcpStream::connect(server)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut answers = BufReader::with_capacity(1 << 18, stream.try_clone()?);
    let value = vec![b'x'; ITEM];
    let (mut moved, mut busy) = (0, Duration::ZERO);
    for n in 0.. {
        let begun = Instant::now();
        let key = format!("large:{}", n / 2 % ITEMS);
        if n % 2 == 0 {
            stream.write_all(format!("set {key} 0 0 {ITEM}\r\n").as_bytes())?;
            stream.write_all(&value)?;
            stream.write_all(b"\r\n")?;
            expect(&mut answers, "STORED")?;
        } else {
            stream.write_all(format!("get {key}\r\n").as_bytes())?;
            expect(&mut answers, &format!("VALUE {key} 0 {ITEM}"))?;
            io::copy(&mut (&mut answers).take(ITEM as u64), &mut io::sink())?;
            expect(&mut answers, "")?;
            expect(&mut answers, "END")?;
        }
        moved += ITEM as u64;
        busy += begun.elapsed();
        if ended.load(Ordering::Relaxed) {
            break;
        }
        thread::sleep(EVERY.saturating_sub(begun.elapsed()));
    }
    Ok((moved, busy))
}

fn expect(answers: &mut impl BufRead, line: &str) -> io::Result<()> {
    let mut found = String::new();
    answers.read_line(&mut found)?;
    if found.trim_end() == line {
        return Ok(());
    }
    Err(io::Error::other(format!("answered {found:?} instead of {line:?}")))
}
