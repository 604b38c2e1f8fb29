//! Looking after the processes of one terminal with a script that runs where they run.
//!
//! It finds them by the variable they were born with, by their parents and by their sessions.

use std::time::Duration;

use ptyard_core::TerminalId;
use ptyard_terminal::backend::{KillReport, Target};
use ptyard_terminal::local::env::TERMINAL_VARIABLE;

/// The script, for `sh -c`. Its arguments: the mark, what to do, and for what.
pub(crate) const SCRIPT: &str = include_str!("look_after.sh");

/// The mark of all that are born in a terminal.
pub(crate) fn mark(id: TerminalId) -> String {
    format!("{TERMINAL_VARIABLE}={id}")
}

/// A grace as the script takes it.
pub(crate) fn tenths(grace: Duration) -> String {
    grace.as_millis().div_ceil(100).to_string()
}

/// A target as the script takes it.
pub(crate) const fn whom(target: Target) -> &'static str {
    match target {
        Target::Program => "program",
        Target::ForegroundGroup => "group",
    }
}

/// What the script says it did.
pub(crate) fn report(output: &str) -> KillReport {
    let words = |word: &'static str| output.lines().filter_map(move |line| line.strip_prefix(word));
    KillReport {
        found: words("found").find_map(|rest| rest.trim().parse().ok()).unwrap_or(0),
        last_signal: words("last").filter_map(|rest| rest.trim().parse().ok()).next_back(),
        survivors: words("left").flat_map(str::split_whitespace).filter_map(|pid| pid.parse().ok()).collect(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::shared::clients;

    /// Becomes another program over and over, with so many variables that this takes its time. Ends with this.
    struct Restless(Child);

    impl Restless {
        fn start(id: TerminalId) -> Self {
            let mut command = Command::new("env");
            command.args(["env"; 3000]).args(["sleep", "1000"]).stdin(Stdio::null());
            command.env(TERMINAL_VARIABLE, id.to_string()).envs((0..60_000).map(|n| (format!("V{n}"), "x")));
            Self(command.spawn().unwrap())
        }
    }

    impl Drop for Restless {
        fn drop(&mut self) {
            let _gone = self.0.kill();
            let _reaped = self.0.wait();
        }
    }

    #[tokio::test]
    async fn who_becomes_another_program_over_and_over_is_found_and_ended() {
        for round in 0..5 {
            let id = TerminalId::from_bits((u128::from(std::process::id()) << 64) | round);
            let mut restless = Restless::start(id);
            let looked = clients::look_after(&mark(id), &["kill", "0"], Duration::from_secs(20)).await;
            let killed = KillReport { found: 1, last_signal: Some(9), survivors: Vec::new() };
            assert_eq!(report(&looked.unwrap()), killed, "round {round}");
            assert!(restless.0.wait().unwrap().code().is_none(), "round {round}");
        }
    }

    /// A system with one process, which the script looks at through commands that change it.
    struct Played(tempfile::TempDir);

    impl Played {
        fn new() -> Self {
            let played = Self(tempfile::tempdir().unwrap());
            std::fs::create_dir_all(played.path("proc/123")).unwrap();
            std::fs::create_dir(played.path("bin")).unwrap();
            std::fs::write(played.path("proc/123/environ"), "").unwrap();
            played
        }

        fn path(&self, name: &str) -> std::path::PathBuf {
            self.0.path().join(name)
        }

        /// What the kernel says of it: its variables stand between these addresses.
        fn stat(variables: [u64; 2]) -> String {
            let (room, [from, to]) = (4096, variables);
            format!("123 (x) R 1 123 123 0 -1{} {room}{} {from} {to} 0\n", " 0".repeat(14), " 0".repeat(26))
        }

        /// `name` does `then` behind what it does.
        fn command(&self, name: &str, then: &str) {
            let script = format!("#!/bin/sh\nPATH=${{PATH#*:}} {name} \"$@\"\ncode=$?\n{then}\nexit $code\n");
            std::fs::write(self.path("bin").join(name), script).unwrap();
            std::fs::set_permissions(self.path("bin").join(name), PermissionsExt::from_mode(0o755)).unwrap();
        }

        /// How many processes of the terminal are found.
        fn count(&self) -> u32 {
            let script = SCRIPT.replace("/proc", &self.path("proc").display().to_string());
            let path = format!("{}:{}", self.path("bin").display(), std::env::var("PATH").unwrap());
            let mut command = Command::new("/bin/sh");
            command.args(["-c", &script, "sh", MARK, "count"]).env("PATH", path);
            report(&String::from_utf8(command.output().unwrap().stdout).unwrap()).found
        }
    }

    const MARK: &str = "PTYARD_TERMINAL=mine";

    #[test]
    fn who_has_no_variables_for_a_moment_is_asked_until_it_has() {
        let played = Played::new();
        std::fs::write(played.path("proc/123/stat"), Played::stat([0, 0])).unwrap();
        let environ = played.path("proc/123/environ");
        played.command("cat", &format!("echo {MARK} > {}", environ.display()));
        assert_eq!(played.count(), 1);
    }

    #[test]
    fn who_had_no_variables_when_all_were_asked_is_asked_again() {
        let played = Played::new();
        std::fs::write(played.path("proc/123/stat"), Played::stat([100, 200])).unwrap();
        let (stat, environ) = (played.path("proc/123/stat"), played.path("proc/123/environ"));
        let then = format!(
            "echo {MARK} > {}\necho '{}' > {}",
            environ.display(),
            Played::stat([300, 400]).trim(),
            stat.display()
        );
        played.command("grep", &then);
        assert_eq!(played.count(), 1);
    }

    #[test]
    fn who_was_born_without_variables_is_nobodys() {
        let played = Played::new();
        std::fs::write(played.path("proc/123/stat"), Played::stat([100, 100])).unwrap();
        played.command(
            "grep",
            &format!(
                "echo '{}' > {}",
                Played::stat([300, 300]).trim(),
                played.path("proc/123/stat").display()
            ),
        );
        assert_eq!(played.count(), 0);
    }

    #[test]
    fn what_the_script_says_is_understood() {
        let all = report("found 3\nlast 15\nlast 9\nleft 17 18 \n");
        assert_eq!(all, KillReport { found: 3, last_signal: Some(9), survivors: vec![17, 18] });
        assert_eq!(report("found 0\n"), KillReport::default());
        assert_eq!(report("sh: not found\n"), KillReport::default());
    }
}
