//! A real process that writes a log and is killed for real, again and again.
//!
//! The parent feeds a pipe or a pty with a known stream; the child, which is this very test program started once more,
//! reads it into a log and is killed at some moment. What the log then holds and what is still in the pipe must be, byte
//! for byte, what was fed. The next child goes on with the same log.

use std::fs::File;
use std::io::{ErrorKind, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use ptyard_terminal::log::{FillError, LogConfig, LogWriter, recover};
use rustix::pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt};
use rustix::termios::{OptionalActions, tcgetattr, tcsetattr};

use crate::support::{place, text};

const CHILD: &str = "PTYARD_TEST_LOG_CHILD";
const CONFIG: LogConfig = LogConfig { ring_bytes: 16 << 10, segment_bytes: 64 << 10, quota_bytes: 1 << 30 };

/// Not a test: what the child does. It does nothing when the variable is not set.
#[test]
fn child_that_writes_a_log_until_it_is_killed() {
    let Some(dir) = std::env::var_os(CHILD) else { return };
    let dir = Path::new(&dir);
    let mut log = match LogWriter::create(dir, CONFIG) {
        Ok(log) => log,
        Err(_) => LogWriter::reopen(dir, CONFIG).unwrap(),
    };
    let mut input = std::io::stdin().lock();
    loop {
        match log.fill(|area| read_unbuffered(&mut input, area)) {
            Ok(0) => return,
            Ok(_) => {}
            Err(FillError::Read(e)) if e.kind() == ErrorKind::Interrupted => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// `Stdin` keeps a buffer of its own; what matters here is where the kernel's copy ends up.
fn read_unbuffered(input: &mut std::io::StdinLock<'_>, area: &mut [u8]) -> std::io::Result<usize> {
    use std::os::fd::AsFd as _;
    Ok(rustix::io::read(input.as_fd(), area)?)
}

fn child(dir: &Path, input: OwnedFd) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "kill::child_that_writes_a_log_until_it_is_killed",
            "--nocapture",
            "--test-threads=1",
        ])
        .env(CHILD, dir)
        .stdin(Stdio::from(input))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// Where the program's output comes from: the end to write to, and the end to read from.
fn pipe() -> (OwnedFd, OwnedFd) {
    let (read, write) = std::io::pipe().unwrap();
    (write.into(), read.into())
}

fn raw_pty() -> (OwnedFd, OwnedFd) {
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let master = openpt(flags).unwrap();
    grantpt(&master).unwrap();
    unlockpt(&master).unwrap();
    let slave = ioctl_tiocgptpeer(&master, flags).unwrap();
    let mut modes = tcgetattr(&slave).unwrap();
    modes.make_raw();
    tcsetattr(&slave, OptionalActions::Now, &modes).unwrap();
    (slave, master)
}

/// One life: feeds from `fed` on, kills the child after about `kill_after` bytes, reads what it left in the pipe.
/// Gives the bytes that were fed and were not read by the child, and how many were fed.
fn life(dir: &Path, ends: (OwnedFd, OwnedFd), fed: u64, kill_after: u64, spin: u64) -> (Vec<u8>, u64) {
    let (write, read) = ends;
    let mut child = child(dir, read.try_clone().unwrap());
    let (mut write, mut read) = (File::from(write), File::from(read));
    let (killed, is_killed) = std::sync::mpsc::sync_channel::<()>(1);
    thread::scope(|scope| {
        let feeder = scope.spawn(move || {
            let mut all = 0;
            while all < kill_after {
                let piece = text(fed + all, 1 + (all as usize * 7 + kill_after as usize) % 4000);
                // What is fed is what the kernel took: a write that is cut short counts as far as it went.
                all += write.write(&piece).unwrap() as u64;
            }
            (0..spin).for_each(|i| {
                std::hint::black_box(i);
            });
            child.kill().unwrap();
            let status = child.wait().unwrap();
            assert_eq!(status.signal(), Some(9), "the child ended by itself: {status}");
            killed.send(()).unwrap();
            all
        });
        // Nobody else reads the pipe now: what is in it now was never the child's. The feeder has let go of its end.
        is_killed.recv().unwrap();
        let all = feeder.join().unwrap();
        let mut left = Vec::new();
        match read.read_to_end(&mut left) {
            // The end of a pty's output shows as EIO.
            Err(e) if e.raw_os_error() == Some(5) => {}
            other => {
                other.unwrap();
            }
        }
        (left, all)
    })
}

fn killed_again_and_again(lives: u64, ends: impl Fn() -> (OwnedFd, OwnedFd)) {
    let place = place();
    let (mut fed, mut end, mut unpublished) = (0, 0, 0);
    let mut random = 0x9E37_79B9_7F4A_7C15_u64 ^ u64::from(std::process::id());
    for life_number in 0..lives {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let (kill_after, spin) = (1 + (random >> 40) % 400_000, (random >> 20) % 50_000);
        let (left, count) = life(&place.dir, ends(), fed, kill_after, spin);
        let Ok(found) = recover(&place.dir) else {
            assert_eq!(end, 0, "a log that was there cannot be read");
            assert_eq!(left, text(fed, count as usize));
            continue;
        };
        unpublished += found.unpublished;
        let mut got = Vec::new();
        found.reader.read(end, usize::MAX, &mut got).unwrap();
        let logged = got.len();
        got.extend_from_slice(&left);
        assert_eq!(got.len() as u64, count, "life {life_number}: {logged} logged, {} left", left.len());
        assert!(got == text(fed, count as usize), "life {life_number}");
        // What the child did not read is gone with its pipe: the next one is fed from there.
        end = found.end;
        fed = end;
    }
    println!("{lives} lives, {end} bytes, {unpublished} of them read and not published");
    assert!(end > lives * 1000, "the children hardly wrote: {end}");
}

#[test]
fn law_01_a_log_whose_writer_is_killed_at_any_moment_holds_all_it_read_from_a_pipe() {
    killed_again_and_again(120, pipe);
}

#[test]
fn law_01_a_log_whose_writer_is_killed_at_any_moment_holds_all_it_read_from_a_pty() {
    killed_again_and_again(120, raw_pty);
}
