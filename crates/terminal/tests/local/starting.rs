//! Starts: what the program gets, and starts that fail.

use std::future::poll_fn;
use std::io;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use ptyard_core::{ErrorCode, Exit};
use ptyard_terminal::backend::{Backend, BoxFuture, Io, StartError};
use ptyard_terminal::local::launcher::{Launched, Launcher, Order};
use ptyard_terminal::local::{Containment, ForkLauncher, LocalBackend};
use tokio::sync::{Notify, mpsc};

use crate::support::{PIPES, Program, TTY, containments, lives, spec, within};

async fn refused(argv: &[&str], io: Io) -> StartError {
    let backend = LocalBackend::new().unwrap();
    Program::start(&backend, spec(argv, io)).await.err().expect("the start must fail")
}

#[tokio::test]
async fn case_x04_a_program_that_cannot_be_started_is_an_error_and_not_a_program_that_ran() {
    for io in [TTY, PIPES] {
        assert_eq!(refused(&["/no/such/program"], io).await.code, ErrorCode::ProgramNotFound);
        assert_eq!(refused(&["nosuchprogram"], io).await.code, ErrorCode::ProgramNotFound);
        assert_eq!(refused(&[""], io).await.code, ErrorCode::ProgramNotFound);
        assert_eq!(refused(&["/etc/passwd"], io).await.code, ErrorCode::ProgramNotExecutable);
        assert_eq!(refused(&["/etc"], io).await.code, ErrorCode::ProgramNotExecutable);
        assert_eq!(refused(&["/etc/passwd/x"], io).await.code, ErrorCode::ProgramNotFound);
        let (output, exit) = Program::run(&["sh", "-c", "nosuchcmd 2>/dev/null"], io).await.finish().await;
        assert_eq!((output.as_str(), exit), ("", Exit::exited(127)));
    }
}

#[tokio::test]
async fn case_x04_the_message_names_the_file_the_error_and_the_interpreter_that_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    // Written by another process: a descriptor open for writing, inherited by some child, would make it busy.
    let script = format!(
        "cd {} && printf '#!/no/interpreter\\n' >script && printf hello >data && chmod 755 script data",
        dir.path().display()
    );
    Program::run(&["sh", "-c", &script], PIPES).await.finish().await;
    let error = refused(&[&path("script")], PIPES).await;
    assert_eq!(error.code, ErrorCode::ProgramNotFound);
    assert!(error.message.contains("#!/no/interpreter"), "{error}");
    let error = refused(&[&path("data")], PIPES).await;
    assert_eq!(error.code, ErrorCode::ProgramNotExecutable);
    assert!(error.message.contains("os error 8"), "{error}");
}

#[tokio::test]
async fn arguments_that_no_exec_could_take_are_refused_before_anything_runs() {
    let backend = LocalBackend::new().unwrap();
    let mut with_nul_in_env = spec(&["true"], PIPES);
    with_nul_in_env.env.insert("A".to_owned(), "b\0c".to_owned());
    let mut with_odd_name = spec(&["true"], PIPES);
    with_odd_name.env.insert("A=B".to_owned(), "c".to_owned());
    let mut relative = spec(&["true"], PIPES);
    relative.cwd = "tmp".into();
    let long = "x".repeat(3_000_000);
    for bad in [
        spec(&[], PIPES),
        spec(&["true", "a\0b"], PIPES),
        with_nul_in_env,
        with_odd_name,
        relative,
        spec(&["true", &long], TTY),
    ] {
        let error = Program::start(&backend, bad).await.err().expect("the start must fail");
        assert_eq!(error.code, ErrorCode::InvalidArgument, "{error}");
    }
}

#[tokio::test]
async fn case_w17_a_working_directory_that_cannot_be_entered_runs_nothing() {
    let backend = LocalBackend::new().unwrap();
    for cwd in ["/no/such/directory", "/etc/passwd"] {
        let mut bad = spec(&["true"], TTY);
        bad.cwd = cwd.into();
        let error = Program::start(&backend, bad).await.err().expect("the start must fail");
        assert_eq!(error.code, ErrorCode::CwdNotFound, "{error}");
        assert!(error.message.contains(cwd), "{error}");
    }
    let mut good = spec(&["pwd"], PIPES);
    good.cwd = "/usr/lib".into();
    let (output, _) = Program::start(&backend, good).await.unwrap().finish().await;
    assert_eq!(output, "/usr/lib\n");
}

#[tokio::test]
async fn case_v05_arguments_arrive_as_they_were_given() {
    let argv = ["printf", "[%s]", "a b;c $HOME", "", "*", "\u{1d11e}\n'\""];
    let (output, _) = Program::run(&argv, PIPES).await.finish().await;
    assert_eq!(output, "[a b;c $HOME][][*][\u{1d11e}\n'\"]");
}

#[tokio::test]
async fn case_z03_a_program_gets_three_descriptors_and_none_of_the_servers() {
    let backend = LocalBackend::new().unwrap();
    // What the server inherited without close-on-exec must not be passed on either.
    let (inherited, _other) = rustix::pipe::pipe().unwrap();
    assert!(rustix::io::fcntl_getfd(&inherited).unwrap().is_empty());
    let _sibling = Program::start(&backend, spec(&["cat"], TTY)).await.unwrap();
    for io in [TTY, PIPES] {
        // The shell itself lists: a glob opens the directory as descriptor 3 while it looks.
        let list = ["sh", "-c", "for f in /proc/$$/fd/*; do echo ${f##*/}; done"];
        let (output, _) = Program::start(&backend, spec(&list, io)).await.unwrap().finish().await;
        let fds: Vec<&str> = output.split_whitespace().filter(|&fd| fd != "3").collect();
        // dash keeps its own script-less tty descriptor out of this: it has no job control here.
        assert_eq!(fds, ["0", "1", "2"], "{io:?}");
    }
}

#[tokio::test]
async fn case_z03_a_terminal_hears_the_hang_up_when_it_is_dropped_while_siblings_run() {
    let backend = LocalBackend::new().unwrap();
    let _sibling = Program::start(&backend, spec(&["sleep", "600"], TTY)).await.unwrap();
    let first = Program::start(&backend, spec(&["cat"], TTY)).await.unwrap();
    let pid = first.pid;
    let end = pidfd(pid);
    drop(first);
    within("the end of a dropped terminal's program", gone(end)).await;
    assert!(!lives(pid));
}

#[tokio::test]
async fn signals_that_the_server_ignores_or_blocks_have_their_default_in_the_program() {
    // Rust's runtime ignores SIGPIPE; a program that inherited that would not end when its reader does.
    let (output, _) =
        Program::run(&["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status"], PIPES).await.finish().await;
    for line in output.lines() {
        let mask = u64::from_str_radix(line.split_whitespace().last().unwrap(), 16).unwrap();
        assert_eq!(mask, 0, "{line}");
    }
    assert_eq!(output.lines().count(), 2);
}

/// Launches like [`ForkLauncher`], tells the process id, and then waits before it hands the program over.
#[derive(Debug)]
struct HeldLauncher {
    fork: ForkLauncher,
    launched: mpsc::Sender<u32>,
    go_on: Arc<Notify>,
}

impl Launcher for HeldLauncher {
    fn launch(&self, order: Order) -> BoxFuture<'static, Result<Launched, StartError>> {
        let (launch, launched, go_on) =
            (self.fork.launch(order), self.launched.clone(), Arc::clone(&self.go_on));
        Box::pin(async move {
            let program = launch.await?;
            launched.send(program.pid).await.unwrap();
            go_on.notified().await;
            Ok(program)
        })
    }

    fn adopt_orphans(&self) -> io::Result<u32> {
        self.fork.adopt_orphans()
    }
}

#[tokio::test]
async fn r21_a_start_that_nobody_waits_for_any_more_leaves_nothing_running() {
    for containment in containments() {
        for io in [TTY, PIPES] {
            let (launched, mut pids) = mpsc::channel(1);
            let go_on = Arc::new(Notify::new());
            let launcher = HeldLauncher { fork: ForkLauncher::new(), launched, go_on: Arc::clone(&go_on) };
            let backend = LocalBackend::with(Arc::new(launcher), containment).unwrap();
            let mut start = backend.start(spec(&["sh", "-c", "sleep 600 & sleep 601"], io));
            let pid = within("a launch", async {
                tokio::select! {
                    _ = &mut start => panic!("the start is held"),
                    pid = pids.recv() => pid.unwrap(),
                }
            })
            .await;
            let end = pidfd(pid);
            drop(start);
            assert!(lives(pid), "dropping the start does not interrupt it half way");
            go_on.notify_one();
            within("the end of the abandoned program", gone(end)).await;
        }
    }
}

#[tokio::test]
async fn r21_a_start_that_was_never_polled_starts_nothing() {
    let (launched, mut pids) = mpsc::channel(1);
    let launcher = HeldLauncher { fork: ForkLauncher::new(), launched, go_on: Arc::new(Notify::new()) };
    let backend = LocalBackend::with(Arc::new(launcher), Containment::Walk).unwrap();
    drop(backend.start(spec(&["sleep", "600"], PIPES)));
    drop(backend);
    assert_eq!(within("the end of the channel", pids.recv()).await, None);
}

#[tokio::test]
async fn a_start_does_not_hold_the_runtime_up() {
    // One thread: were the fork done on it, the counter could not move between two polls of the start.
    let backend = LocalBackend::new().unwrap();
    let mut start = backend.start(spec(&["true"], PIPES));
    let first = poll_fn(|cx| Poll::Ready(start.as_mut().poll(cx).is_pending())).await;
    assert!(first, "the start was done in one poll");
    tokio::task::yield_now().await;
    let mut program = Program::of(within("a start", start).await.unwrap());
    program.control.kill(Duration::ZERO).await;
}

/// A descriptor of a process that is not reaped: its own, whatever happens to the number.
fn pidfd(pid: u32) -> std::os::fd::OwnedFd {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
    rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty()).unwrap()
}

async fn gone(pidfd: std::os::fd::OwnedFd) {
    tokio::task::spawn_blocking(move || {
        let mut ended = [rustix::event::PollFd::new(&pidfd, rustix::event::PollFlags::IN)];
        let limit = rustix::time::Timespec { tv_sec: 20, tv_nsec: 0 };
        let ready = loop {
            match rustix::event::poll(&mut ended, Some(&limit)) {
                Err(rustix::io::Errno::INTR) => {}
                other => break other.unwrap(),
            }
        };
        assert_eq!(ready, 1, "the process lives");
    })
    .await
    .unwrap();
}
