//! Nothing is left behind. In a process of its own, so that no other test's programs are counted.

use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use ptyard_terminal::local::{Containment, ForkLauncher, LocalBackend};

use crate::support::{PIPES, PIPES_WITH_STDIN, Program, TTY, spec, within};

/// Tells the process that runs one of these tests that it was started for it alone.
const ALONE: &str = "PTYARD_TEST_ALONE";

/// Runs the test `name` again in a process of its own; `false` in that process.
fn elsewhere(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    succeeds(alone(Command::new(std::env::current_exe().unwrap()), name));
    true
}

/// The same, as the first process of a pid namespace whose session was begun outside of it: `getsid` says 0 there, as
/// in a container that was not started by a leader of a session.
fn elsewhere_in_the_session_of_another_namespace(name: &str) -> bool {
    if std::env::var_os(ALONE).is_some() {
        return false;
    }
    let enter = ["--pid", "--fork", "--mount-proc", "--"];
    match Command::new("unshare").args(enter).arg("true").output() {
        Ok(output) if output.status.success() => {}
        refused => {
            eprintln!("SKIPPED {name}: a pid namespace cannot be had here: {refused:?}");
            return true;
        }
    }
    let mut command = Command::new("unshare");
    command.args(enter).arg(std::env::current_exe().unwrap());
    succeeds(alone(command, name));
    true
}

/// `command`, running the test `name` by itself.
fn alone(mut command: Command, name: &str) -> Command {
    command.args(["--exact", name, "--nocapture"]).env(ALONE, "1");
    command
}

fn succeeds(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// What a process can leave lying about.
#[derive(Debug, PartialEq, Eq)]
struct Traces {
    descriptors: usize,
    children: Vec<String>,
    tasks: usize,
    cgroups: usize,
}

impl Traces {
    fn now() -> Self {
        let own = format!("{}", std::process::id());
        let parent =
            |stat: &str| stat.rsplit(')').next().unwrap().split_whitespace().nth(1).map(str::to_owned);
        let children = fs::read_dir("/proc")
            .unwrap()
            .flatten()
            .filter_map(|entry| fs::read_to_string(entry.path().join("stat")).ok())
            .filter(|stat| parent(stat).as_ref() == Some(&own))
            .collect();
        Self {
            descriptors: fs::read_dir("/proc/self/fd").unwrap().count(),
            children,
            tasks: tokio::runtime::Handle::current().metrics().num_alive_tasks(),
            cgroups: cgroup_dirs(),
        }
    }

    /// Waits until there are no more traces than `before`; tasks and orphans end a moment after what they wait for.
    async fn settle(before: &Self) {
        for _ in 0..10_000 {
            if Self::now() == *before {
                return;
            }
            tokio::task::yield_now().await;
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        assert_eq!(Self::now(), *before);
    }
}

/// How many cgroups this process made that are still there.
fn cgroup_dirs() -> usize {
    let Some(home) = homes().into_iter().next() else { return 0 };
    fs::read_dir(home).unwrap().flatten().filter(|entry| entry.file_type().unwrap().is_dir()).count()
}

/// The cgroups of this process's backends.
fn homes() -> Vec<std::path::PathBuf> {
    let mount = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let Some(mount) = mount.lines().find(|line| line.contains(" - cgroup2 ")) else { return Vec::new() };
    let own = fs::read_to_string("/proc/self/cgroup").unwrap();
    let own = own.lines().find_map(|line| line.strip_prefix("0::/")).unwrap().to_owned();
    let prefix = format!("ptyard-{}-", std::process::id());
    let Ok(dir) = fs::read_dir(std::path::Path::new(mount.split(' ').nth(4).unwrap()).join(own)) else {
        return Vec::new();
    };
    dir.flatten()
        .filter(|entry| entry.file_name().to_str().unwrap().starts_with(&prefix))
        .map(|entry| entry.path())
        .collect()
}

async fn two_hundred_programs(backend: &LocalBackend) {
    for round in 0..20 {
        let mut programs = Vec::new();
        for (script, io) in [
            ("echo hello", TTY),
            ("echo hello", PIPES),
            ("cat", PIPES_WITH_STDIN),
            ("setsid sleep 600 & echo left", PIPES),
            ("(env -i setsid sleep 600 &) ; echo left; sleep 600", TTY),
        ] {
            for _ in 0..2 {
                programs.push(Program::start(backend, spec(&["sh", "-c", script], io)).await.unwrap());
            }
        }
        for (n, mut program) in programs.into_iter().enumerate() {
            // Ended by themselves, killed, and dropped while they run.
            match (n + round) % 3 {
                0 => assert_eq!(program.kill(Duration::from_secs(5)).await.survivors, Vec::<u32>::new()),
                1 if n < 4 => {
                    program.exit().await;
                }
                _ => {}
            }
        }
    }
    for argv in [["/no/such/program"], ["/etc/passwd"]] {
        assert!(Program::start(backend, spec(&argv, TTY)).await.is_err());
        assert!(Program::start(backend, spec(&argv, PIPES)).await.is_err());
    }
}

fn leaves_nothing(containment: Containment) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    runtime.block_on(async {
        let Ok(backend) = LocalBackend::with(Arc::new(ForkLauncher::new()), containment) else {
            eprintln!("{containment:?} cannot be had here");
            return;
        };
        let before = Traces::now();
        two_hundred_programs(&backend).await;
        Traces::settle(&before).await;
        drop(backend);
        within("the end of the backend's cgroup", async {
            while !homes().is_empty() {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        })
        .await;
    });
}

#[test]
fn case_z03_two_hundred_programs_in_cgroups_leave_nothing_behind() {
    if !elsewhere("leaks::case_z03_two_hundred_programs_in_cgroups_leave_nothing_behind") {
        leaves_nothing(Containment::Cgroup);
    }
}

#[test]
fn case_z03_two_hundred_programs_found_by_walking_leave_nothing_behind() {
    if !elsewhere("leaks::case_z03_two_hundred_programs_found_by_walking_leave_nothing_behind") {
        leaves_nothing(Containment::Walk);
    }
}

#[test]
fn case_z03_nothing_is_left_behind_in_the_session_of_another_pid_namespace() {
    if !elsewhere_in_the_session_of_another_namespace(
        "leaks::case_z03_nothing_is_left_behind_in_the_session_of_another_pid_namespace",
    ) {
        leaves_nothing(Containment::Walk);
    }
}
