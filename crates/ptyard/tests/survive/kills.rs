//! The server is killed in a loop, at random moments, while programs print, are typed into, start and end.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
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
    time.sleep(0.005)
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
    name: &'static str,
    pid: u64,
    copy: std::path::PathBuf,
    code: u64,
}

fn start(stage: &Stage, name: &'static str, kind: &[&str], script: &str, args: &[&Path], code: u64) -> Long {
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
        name,
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
    taken: BTreeMap<&'static str, Vec<u64>>,
    unknown: BTreeMap<&'static str, Vec<u64>>,
}

fn storm(rounds: u32, seed: u64) {
    let stage = Arc::new(Stage::new());
    let stop = stage.file("stop");
    let longs = [
        start(&stage, "tty", &["--tty"], PRINTER, &[&stage.file("tty.copy"), &stop], 7),
        start(&stage, "pipe", &[], PRINTER, &[&stage.file("pipe.copy"), &stop], 7),
        start(&stage, "typed", &["--tty"], LISTENER, &[&stage.file("typed.copy")], 5),
        start(&stage, "piped", &["--stdin", "pipe"], LISTENER, &[&stage.file("piped.copy")], 5),
    ];
    for name in ["typed", "piped"] {
        until("the listener", || !stage.log(name).is_empty());
    }
    let heard = Arc::new(Mutex::new(Heard::default()));
    let over = Arc::new(AtomicBool::new(false));
    let next = Arc::new(AtomicU64::new(1));
    let mut busy = Vec::new();
    for _ in 0..2 {
        let (stage, heard, over, next) =
            (Arc::clone(&stage), Arc::clone(&heard), Arc::clone(&over), Arc::clone(&next));
        busy.push(std::thread::spawn(move || {
            while !over.load(Ordering::Acquire) {
                let n = next.fetch_add(1, Ordering::Relaxed);
                let script = format!("printf 'number {n}\\n'; exit {}", n % 100);
                let kind = if n % 2 == 0 { &["--tty"][..] } else { &[] };
                let args = [&["exec", "--until", "exit"], kind, &["--", "sh", "-c", &script]].concat();
                if let Some(reply) = stage.try_json(&args) {
                    let short = reply["session_id"].as_u64().unwrap_or(0);
                    heard.lock().unwrap().starts.insert(n, (text(&reply["id"]), short));
                }
            }
        }));
    }
    for name in ["typed", "piped"] {
        let (stage, heard, over) = (Arc::clone(&stage), Arc::clone(&heard), Arc::clone(&over));
        busy.push(std::thread::spawn(move || {
            let mut n = 0;
            while !over.load(Ordering::Acquire) {
                n += 1;
                let line = format!("<{n}>\n");
                let reply = stage.try_json(&["write", name, "--chars", &line, "--until", "quiet:1"]);
                let mut heard = heard.lock().unwrap();
                let heard = &mut *heard;
                let list = if reply.is_some() { &mut heard.taken } else { &mut heard.unknown };
                list.entry(name).or_default().push(n);
            }
        }));
    }
    let mut dice = Dice::new(seed);
    let mut slowest = Duration::ZERO;
    for _ in 0..rounds {
        let began = std::time::Instant::now();
        let server = stage.server();
        slowest = slowest.max(began.elapsed());
        pass(Duration::from_millis(dice.roll(120)));
        kill(server);
        // Sometimes the keeper has the programs for a while.
        pass(Duration::from_millis(dice.roll(3) * 20));
    }
    over.store(true, Ordering::Release);
    for thread in busy {
        thread.join().unwrap();
    }
    check_long(&stage, &longs, &stop);
    let heard = heard.lock().unwrap();
    check_short(&stage, &heard);
    for name in ["typed", "piped"] {
        let log = String::from_utf8(stage.log(name)).unwrap();
        for n in heard.taken.get(name).into_iter().flatten() {
            assert_eq!(log.matches(&format!("<{n}>")).count(), 1, "{name}: line {n} was taken");
        }
        for n in heard.unknown.get(name).into_iter().flatten() {
            assert!(log.matches(&format!("<{n}>")).count() <= 1, "{name}: line {n} came twice");
        }
        assert!(heard.taken.get(name).is_some_and(|taken| taken.len() > 3), "{name}: nothing was typed");
    }
    eprintln!(
        "{rounds} kills: {} starts answered, {} lines taken, the slowest restart took {slowest:?}",
        heard.starts.len(),
        heard.taken.values().map(Vec::len).sum::<usize>()
    );
}

/// No program died, ids are the same, every byte is there, and each end is told as it was.
fn check_long(stage: &Stage, longs: &[Long], stop: &Path) {
    for long in longs {
        let info = stage.json(&["info", long.name]);
        assert!(runs(long.pid), "{} died: {info}", long.name);
        assert_eq!((&info["id"], &info["session_id"]), (&long.id.as_str().into(), &long.short.into()));
        assert_eq!(number(&info["pid"]), long.pid);
        assert_eq!(info["state"], "running");
    }
    std::fs::write(stop, "").unwrap();
    for name in ["typed", "piped"] {
        stage.json(&["write", name, "--chars", "\nend\n"]);
    }
    for long in longs {
        let exit = stage.end(long.name);
        assert_eq!(
            (&exit["code"], &exit["cause"]),
            (&long.code.into(), &"exited".into()),
            "{}: {exit}",
            long.name
        );
        let (log, copy) = (stage.log(long.name), std::fs::read(&long.copy).unwrap());
        let bounds = stage.json(&["info", long.name])["log"].clone();
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

/// Every short program whose start was answered is there once, with its output and its end; so is every other one
/// that was started at all.
fn check_short(stage: &Stage, heard: &Heard) {
    let list = stage.json(&["list"]);
    let mut by_number: BTreeMap<u64, Vec<&Value>> = BTreeMap::new();
    for info in list.as_array().unwrap() {
        let Some(script) = info["argv"][2].as_str().filter(|_| info["argv"][0] == "sh") else { continue };
        let n = script.trim_start_matches("printf 'number ").split('\\').next().unwrap().parse().unwrap();
        by_number.entry(n).or_default().push(info);
    }
    for (n, (id, short)) in &heard.starts {
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
        assert_eq!(
            (&exit["code"], &exit["cause"]),
            (&(n % 100).into(), &"exited".into()),
            "program {n}: {exit}"
        );
        let log = String::from_utf8(stage.log(&id)).unwrap().replace('\r', "");
        assert_eq!(log, format!("number {n}\n"), "program {n}");
    }
    assert!(by_number.len() > 3, "nothing was started");
}

#[test]
fn law_01_and_04_a_server_that_is_killed_30_times_loses_no_program_no_byte_and_no_end() {
    storm(30, 1);
}

#[test]
#[ignore = "takes a minute; for soaking"]
fn law_01_and_04_a_server_that_is_killed_200_times_loses_no_program_no_byte_and_no_end() {
    for seed in 0..4 {
        storm(50, 1000 + seed);
    }
}
