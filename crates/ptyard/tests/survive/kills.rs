//! Servers, and keepers, are killed in a loop, at random moments, while programs print, are typed into, start and end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::stage::{Dice, Stage, kill, number, pass, runs, text, until};

/// Prints numbered lines, in bursts and in drops, and writes down exactly what it printed, until a file appears.
const PRINTER: &str = r#"
import os, sys, time
copy, stop = open(sys.argv[1], 'ab', 0), sys.argv[2]
if os.isatty(1):
    import tty
    tty.setraw(1)
n = 0
while not os.path.exists(stop):
    burst = 100 if n % 3 else 1
    data = b''.join(b'%09d \xe4\xbd\xa0 %s\n' % (n * 1000 + i, b'x' * (i % 61)) for i in range(burst))
    copy.write(data)
    while data:
        data = data[os.write(1, data):]
    n += 1
    time.sleep(float(sys.argv[3]))
os.write(1, b'the end\n'); copy.write(b'the end\n')
sys.exit(7)
"#;

/// Echoes what it reads, and writes both down, until it reads "end".
const LISTENER: &str = r#"
import os, sys, tty
copy = open(sys.argv[1], 'ab', 0)
if os.isatty(0):
    tty.setraw(0)
os.write(1, b'ready\n'); copy.write(b'ready\n')
line = b''
while True:
    data = os.read(0, 4096)
    if not data:
        sys.exit(3)
    copy.write(data)
    rest = data
    while rest:
        rest = rest[os.write(1, rest):]
    line += data
    if b'end\n' in line:
        sys.exit(5)
    line = line[-8:]
"#;

struct Long {
    id: String,
    short: u64,
    name: String,
    pid: u64,
    copy: std::path::PathBuf,
    code: u64,
}

fn start(stage: &Stage, name: &str, kind: &[&str], script: &str, args: &[&Path], code: u64) -> Long {
    let args: Vec<&str> = args.iter().map(|arg| arg.to_str().unwrap()).collect();
    let copy = Path::new(args[0]).to_owned();
    let started = stage.json(
        &[&["exec", "--name", name, "--until", "quiet:1"], kind, &["--", "python3", "-c", script], &args]
            .concat(),
    );
    let info = stage.json(&["info", name]);
    Long {
        id: text(&started["id"]),
        short: number(&started["session_id"]),
        name: name.to_owned(),
        pid: number(&info["pid"]),
        copy,
        code,
    }
}

/// What short programs were started, and what was heard of them.
#[derive(Default)]
struct Heard {
    /// By their number: id and short id, where the start was answered.
    starts: BTreeMap<u64, (String, u64)>,
    /// Lines that were taken, and lines of which nobody knows, by terminal.
    taken: BTreeMap<String, Vec<u64>>,
    unknown: BTreeMap<String, Vec<u64>>,
}

/// So many of the short programs are there at the end, whatever else has ended.
const CERTAINLY_KEPT: u64 = 900;

/// What is killed.
#[derive(Clone, Copy, PartialEq)]
enum Victims {
    Servers,
    /// Also keepers, though not both at once: a start in between waits until the next keeper has everything.
    Both,
}

struct Storm {
    rounds: u32,
    seed: u64,
    victims: Victims,
    /// Programs of each kind: printing to a tty and to a pipe, typed into on a tty and through a pipe.
    kinds: [usize; 4],
    /// Between two lines, or bursts, of a program that prints.
    pause_s: &'static str,
}

fn storm(storm: &Storm) {
    let stage = Arc::new(Stage::new());
    let stop = stage.file("stop");
    let mut longs = Vec::new();
    let names = |kind: &'static str, count| (0..count).map(move |n| format!("{kind}{n}"));
    for (kind, count, flags) in [("tty", storm.kinds[0], &["--tty"][..]), ("pipe", storm.kinds[1], &[])] {
        for name in names(kind, count) {
            let copy = stage.file(&format!("{name}.copy"));
            longs.push(start(&stage, &name, flags, PRINTER, &[&copy, &stop, Path::new(storm.pause_s)], 7));
        }
    }
    let mut typed = Vec::new();
    for (kind, count, flags) in
        [("typed", storm.kinds[2], &["--tty"][..]), ("piped", storm.kinds[3], &["--stdin", "pipe"])]
    {
        for name in names(kind, count) {
            longs.push(start(&stage, &name, flags, LISTENER, &[&stage.file(&format!("{name}.copy"))], 5));
            until("the listener", || !stage.log(&name).is_empty());
            typed.push(name);
        }
    }
    let heard = Arc::new(Mutex::new(Heard::default()));
    let over = Arc::new(AtomicBool::new(false));
    let mut busy = vec![starting(&stage, &heard, &over), starting(&stage, &heard, &over)];
    busy.push(typing(&stage, &heard, &over, typed.clone()));
    let events = listening(&stage, &over);
    let mut dice = Dice::new(storm.seed);
    let mut slowest = Duration::ZERO;
    for _ in 0..storm.rounds {
        let began = std::time::Instant::now();
        let server = stage.server();
        slowest = slowest.max(began.elapsed());
        pass(Duration::from_millis(dice.roll(120)));
        if storm.victims == Victims::Both && dice.roll(3) == 0 {
            kill(stage.keeper());
            assert_eq!(stage.json(&["exec", "--until", "exit", "--", "true"])["exit"]["code"], 0);
        } else {
            kill(server);
            // Sometimes the keeper has the programs for a while.
            pass(Duration::from_millis(dice.roll(3) * 20));
        }
    }
    over.store(true, Ordering::Release);
    for thread in busy {
        thread.join().unwrap();
    }
    check_long(&stage, &longs, &stop, &typed, storm.victims);
    let heard = heard.lock().unwrap();
    check_short(&stage, &heard, storm.victims);
    for name in &typed {
        let log = String::from_utf8(stage.log(name)).unwrap();
        for n in heard.taken.get(name).into_iter().flatten() {
            assert_eq!(log.matches(&format!("<{n}>")).count(), 1, "{name}: line {n} was taken");
        }
        for n in heard.unknown.get(name).into_iter().flatten() {
            assert!(log.matches(&format!("<{n}>")).count() <= 1, "{name}: line {n} came twice");
        }
    }
    assert!(heard.taken.values().map(Vec::len).sum::<usize>() > 3, "nothing was typed");
    let told = events.join().unwrap();
    assert!(told.values().all(|count| *count == 1), "an end was told twice: {told:?}");
    eprintln!(
        "{} kills, {} terminals: {} starts answered, {} lines taken, {} ends told, the slowest restart took {slowest:?}",
        storm.rounds,
        longs.len(),
        heard.starts.len(),
        heard.taken.values().map(Vec::len).sum::<usize>(),
        told.len(),
    );
}

/// Starts short programs all the time.
fn starting(stage: &Arc<Stage>, heard: &Arc<Mutex<Heard>>, over: &Arc<AtomicBool>) -> JoinHandle<()> {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    let (stage, heard, over) = (Arc::clone(stage), Arc::clone(heard), Arc::clone(over));
    std::thread::spawn(move || {
        while !over.load(Ordering::Acquire) {
            let n = NEXT.fetch_add(1, Ordering::Relaxed);
            let script = format!("printf 'number {n}\\n'; exit {}", n % 100);
            let kind = if n.is_multiple_of(2) { &["--tty"][..] } else { &[] };
            let args = [&["exec", "--until", "exit"], kind, &["--", "sh", "-c", &script]].concat();
            if let Some(reply) = stage.try_json(&args) {
                let short = reply["session_id"].as_u64().unwrap_or(0);
                heard.lock().unwrap().starts.insert(n, (text(&reply["id"]), short));
            }
        }
    })
}

/// Types numbered lines all the time, in turns.
fn typing(
    stage: &Arc<Stage>,
    heard: &Arc<Mutex<Heard>>,
    over: &Arc<AtomicBool>,
    names: Vec<String>,
) -> JoinHandle<()> {
    let (stage, heard, over) = (Arc::clone(stage), Arc::clone(heard), Arc::clone(over));
    std::thread::spawn(move || {
        for (n, name) in (1..).zip(names.iter().cycle()) {
            if over.load(Ordering::Acquire) {
                return;
            }
            let line = format!("<{n}>\n");
            let reply = stage.try_json(&["write", name, "--chars", &line, "--until", "quiet:1"]);
            let mut heard = heard.lock().unwrap();
            let heard = &mut *heard;
            let list = if reply.is_some() { &mut heard.taken } else { &mut heard.unknown };
            list.entry(name.clone()).or_default().push(n);
        }
    })
}

/// Listens to the events of all servers: how often each end was told.
fn listening(stage: &Arc<Stage>, over: &Arc<AtomicBool>) -> JoinHandle<BTreeMap<String, u32>> {
    let (stage, over) = (Arc::clone(stage), Arc::clone(over));
    std::thread::spawn(move || {
        let mut told = BTreeMap::new();
        let mut last = 0;
        while !over.load(Ordering::Acquire) {
            let since = last.to_string();
            let output = stage.run(&["events", "--json", "--since", &since]);
            for line in String::from_utf8_lossy(&output.stdout).lines() {
                let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
                last = last.max(event["seq"].as_u64().unwrap_or(0));
                if event["kind"] == "exited" {
                    *told.entry(text(&event["id"])).or_default() += 1;
                }
            }
        }
        told
    })
}

/// No program died, ids are the same, every byte is there, and each end is told as it was.
fn check_long(stage: &Stage, longs: &[Long], stop: &Path, typed: &[String], victims: Victims) {
    for long in longs {
        let info = stage.json(&["info", &long.name]);
        assert!(runs(long.pid), "{} died: {info}", long.name);
        assert_eq!((&info["id"], &info["session_id"]), (&long.id.as_str().into(), &long.short.into()));
        assert_eq!(number(&info["pid"]), long.pid);
        assert_eq!(info["state"], "running");
    }
    std::fs::write(stop, "").unwrap();
    for name in typed {
        stage.json(&["write", name, "--chars", "\nend\n"]);
    }
    for long in longs {
        let exit = stage.end(&long.name);
        assert!(is_true(&exit, long.code, victims), "{}: {exit}", long.name);
        let (log, copy) = (stage.log(&long.name), std::fs::read(&long.copy).unwrap());
        let bounds = stage.json(&["info", &long.name])["log"].clone();
        assert_eq!(number(&bounds["end"]), copy.len() as u64, "{}", long.name);
        // What the quota evicted is gone, and said to be.
        let kept = &copy[number(&bounds["start"]) as usize..];
        let same = log.iter().zip(kept).take_while(|(a, b)| a == b).count();
        assert!(
            log == kept,
            "{}: {} bytes of {}, the first wrong at {same}",
            long.name,
            log.len(),
            kept.len()
        );
    }
}

/// Whether an end is as it was. Of a program whose keeper died, and then its heir, nobody may know it: that is said.
fn is_true(exit: &Value, code: u64, victims: Victims) -> bool {
    let is_known = exit["code"] == code && exit["cause"] == "exited";
    is_known || (victims == Victims::Both && exit["code"].is_null() && exit["cause"] == "lost")
}

/// Every short program whose start was answered is there once, with its output and its end; so is every other one
/// that was started at all.
fn check_short(stage: &Stage, heard: &Heard, victims: Victims) {
    let list = stage.json(&["list"]);
    let mut by_number: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for info in list.as_array().unwrap() {
        let Some(script) = info["argv"][2].as_str().filter(|_| info["argv"][0] == "sh") else { continue };
        let n = script.trim_start_matches("printf 'number ").split('\\').next().unwrap().parse().unwrap();
        by_number.entry(n).or_default().push(info);
    }
    // Of ended terminals the last 1,000 are kept.
    let newest = heard.starts.keys().max().copied().unwrap_or(0);
    for (n, (id, short)) in heard.starts.range(newest.saturating_sub(CERTAINLY_KEPT)..) {
        let found = by_number.get(n).unwrap_or_else(|| panic!("program {n} is not there"));
        assert_eq!(found.len(), 1, "program {n}");
        assert_eq!(found[0]["id"], id.as_str(), "program {n}");
        if *short != 0 && !found[0]["session_id"].is_null() {
            assert_eq!(number(&found[0]["session_id"]), *short, "program {n}");
        }
    }
    for (n, infos) in &by_number {
        let id = text(&infos[0]["id"]);
        let known = infos[0]["exit"].clone();
        let exit = if known.is_null() { stage.end(&id) } else { known };
        assert!(is_true(&exit, n % 100, victims), "program {n}, {id}: {exit}");
        let log = String::from_utf8(stage.log(&id)).unwrap().replace('\r', "");
        assert_eq!(log, format!("number {n}\n"), "program {n}");
    }
    assert!(by_number.len() > 3, "nothing was started");
}

#[test]
fn law_01_and_04_a_server_that_is_killed_25_times_loses_no_program_no_byte_and_no_end() {
    storm(&Storm { rounds: 25, seed: 1, victims: Victims::Servers, kinds: [6, 6, 4, 4], pause_s: "0.03" });
}

#[test]
fn law_01_and_04_servers_and_keepers_that_are_killed_in_turns_lose_no_program_and_no_byte() {
    storm(&Storm { rounds: 25, seed: 2, victims: Victims::Both, kinds: [2, 2, 1, 1], pause_s: "0.005" });
}

#[test]
#[ignore = "takes minutes; for soaking"]
fn law_01_and_04_a_server_that_is_killed_200_times_loses_no_program_no_byte_and_no_end() {
    storm(&Storm {
        rounds: 200,
        seed: 1000,
        victims: Victims::Servers,
        kinds: [6, 6, 4, 4],
        pause_s: "0.03",
    });
    storm(&Storm { rounds: 100, seed: 1001, victims: Victims::Both, kinds: [6, 6, 4, 4], pause_s: "0.03" });
}
