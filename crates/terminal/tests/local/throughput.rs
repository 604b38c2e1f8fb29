//! How fast output is taken. Not a test of right or wrong: run it with `--release -- --ignored --nocapture`.

use std::future::poll_fn;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ptyard_terminal::backend::{Backend, Source};
use ptyard_terminal::local::LocalBackend;
use rustix::pty::OpenptFlags;

use crate::support::{TTY, spec};

const BYTES: u64 = 81_000_000;
const PRODUCE: &str = "stty raw; exec head -c 81000000 /dev/zero";

/// A loop of blocking reads, on a thread of its own.
fn plain_loop() -> Duration {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = rustix::pty::openpt(flags).unwrap();
    rustix::pty::grantpt(&master).unwrap();
    rustix::pty::unlockpt(&master).unwrap();
    let slave: OwnedFd = rustix::pty::ioctl_tiocgptpeer(&master, flags).unwrap();
    let start = Instant::now();
    let mut child = Command::new("sh")
        .args(["-c", PRODUCE])
        .stdin(Stdio::from(slave.try_clone().unwrap()))
        .stdout(Stdio::from(slave))
        .spawn()
        .unwrap();
    let (mut master, mut room, mut total) = (std::fs::File::from(master), vec![0; 65536], 0_u64);
    while let Ok(read @ 1..) = master.read(&mut room) {
        total += read as u64;
    }
    child.wait().unwrap();
    assert_eq!(total, BYTES);
    start.elapsed()
}

async fn through_source(backend: &LocalBackend) -> Duration {
    let start = Instant::now();
    let mut started = backend.start(spec(&["sh", "-c", PRODUCE], TTY)).await.unwrap();
    let source: &mut dyn Source = started.source.as_mut();
    let (mut room, mut total) = (vec![0; 65536], 0_u64);
    loop {
        match poll_fn(|cx| source.poll_read(cx, &mut room)).await.unwrap() {
            0 => break,
            read => total += read as u64,
        }
    }
    assert_eq!(total, BYTES);
    start.elapsed()
}

#[test]
#[ignore = "a measurement"]
fn draining_81_mb_costs_what_a_plain_loop_of_reads_costs() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let (mut ratios, mut best) = (Vec::new(), [Duration::MAX; 2]);
    runtime.block_on(async {
        let backend = std::sync::Arc::new(LocalBackend::new().unwrap());
        for _ in 0..25 {
            let plain = tokio::task::spawn_blocking(plain_loop).await.unwrap();
            let on_worker = std::sync::Arc::clone(&backend);
            let ours = tokio::spawn(async move { through_source(&on_worker).await }).await.unwrap();
            println!("plain {plain:?}, source {ours:?}");
            best = [best[0].min(plain), best[1].min(ours)];
            ratios.push(plain.as_secs_f64() / ours.as_secs_f64());
        }
    });
    ratios.sort_by(f64::total_cmp);
    println!("best of each: plain {:?}, source {:?}", best[0], best[1]);
    println!("median throughput of the source: {:.3} of the plain loop's", ratios[ratios.len() / 2]);
}

#[test]
#[ignore = "a measurement"]
fn a_start_costs_a_millisecond_or_so() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let backend = LocalBackend::new().unwrap();
        for io in [TTY, crate::support::PIPES] {
            let mut took = Vec::new();
            for _ in 0..200 {
                let start = Instant::now();
                let started = backend.start(spec(&["true"], io)).await.unwrap();
                took.push(start.elapsed());
                crate::support::Program::of(started).finish().await;
            }
            took.sort();
            println!("{io:?}: median {:?}, 95th percentile {:?}", took[100], took[190]);
        }
    });
}
