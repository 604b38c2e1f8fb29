//! `ptyard demo`: the main job on real programs, in a state directory that is gone afterwards.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use ptyard_core::ErrorCode;

use crate::failure::{Failure, status};

/// What is shown: why, and the command line (the program itself left out).
const SCENES: &[(&str, &[&str])] = &[
    (
        "A program starts in a terminal of its own; the call returns what it printed.",
        &["exec", "--tty", "--name", "calc", "--until", "prompt", "--", "python3", "-q"],
    ),
    (
        "Type into it; the window ends 20 ms after the answer, not at a deadline.",
        &["write", "calc", "--chars", "6*7\n", "--until", "quiet:20"],
    ),
    (
        "A character that a slow program prints in two halves is one character: first the window before it ...",
        &[
            "exec",
            "--name",
            "halves",
            "--until",
            "quiet:100",
            "-c",
            r"printf 'h\303'; sleep .4; printf '\251llo\n'",
        ],
    ),
    (
        "... then the window with all of it, and the exit with the last bytes.",
        &["write", "halves", "--until", "exit"],
    ),
    (
        "A window within a budget of 20 tokens keeps head and tail, and counts the whole exactly ...",
        &["exec", "--name", "long", "--max-tokens", "20", "--json", "-c", "seq 1 100"],
    ),
    (
        "... and every byte can still be read, as often as wanted.",
        &["read", "long", "--since", "100", "--max-bytes", "24"],
    ),
    (
        "A program that leaves a child behind ends when it ends; the report says that one is left ...",
        &["exec", "--name", "leaver", "-c", "setsid sleep 600 & echo started"],
    ),
    ("... and a kill finds it, although it left the session.", &["kill", "leaver"]),
    (
        "A full-screen program: what a person would see.",
        &[
            "exec",
            "--tty",
            "--size",
            "40x6",
            "--name",
            "form",
            "--until",
            "regex:Name",
            "-c",
            r#"printf '\033[?1049h\033[2J\033[2;3H\033[1mSettings\033[0m\033[4;3HName: '; read name; printf 'hello %s' "$name""#,
        ],
    ),
    ("", &["screen", "form"]),
    (
        "Keys are named, and encoded as the program's modes demand.",
        &["write", "form", "--keys", "A d a Enter", "--until", "exit"],
    ),
    ("Everything there was.", &["list"]),
];

/// Plays the scenes and ends what is left of them.
pub(super) fn demo() -> Result<u8, Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("cannot find this program: {error}")))?;
    let state = Stage::set()?;
    for (why, args) in SCENES {
        play(&program, &state.0, why, args)?;
    }
    say("\nThe server ends with its programs:")?;
    play(&program, &state.0, "", &["stop"])?;
    Ok(status::DONE)
}

fn play(program: &Path, state: &Path, why: &str, args: &[&str]) -> Result<(), Failure> {
    if !why.is_empty() {
        say(&format!("\n# {why}"))?;
    }
    say(&format!("$ ptyard {}", args.iter().map(|arg| quoted(arg)).collect::<Vec<_>>().join(" ")))?;
    let output = Command::new(program).args(args).env("PTYARD_STATE", state).output().map_err(|error| {
        Failure::new(ErrorCode::SpawnFailed, format!("cannot run {}: {error}", program.display()))
    })?;
    let shown = [output.stdout.as_slice(), output.stderr.as_slice()]
        .map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    for text in shown.iter().filter(|text| !text.is_empty()) {
        say(text.trim_end_matches('\n'))?;
    }
    Ok(())
}

fn say(text: &str) -> Result<(), Failure> {
    writeln!(std::io::stdout(), "{text}")
        .map_err(|error| Failure::new(ErrorCode::Internal, format!("cannot write to stdout: {error}")))
}

/// As a person would type it into bash.
fn quoted(arg: &str) -> String {
    let is_safe = |c: char| c.is_ascii_alphanumeric() || "_-+=:,./@%".contains(c);
    if !arg.is_empty() && arg.chars().all(is_safe) {
        arg.to_owned()
    } else if arg.contains('\n') {
        format!("$'{}'", arg.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
    } else {
        format!("'{}'", arg.replace('\'', r"'\''"))
    }
}

/// A state directory for the demonstration, removed in the end.
struct Stage(PathBuf);

impl Stage {
    fn set() -> Result<Self, Failure> {
        let directory = std::env::temp_dir().join(format!("ptyard-demo-{}", std::process::id()));
        let made =
            std::os::unix::fs::DirBuilderExt::mode(&mut std::fs::DirBuilder::new(), 0o700).create(&directory);
        made.map_err(|error| {
            Failure::new(ErrorCode::StateUnwritable, format!("cannot make {}: {error}", directory.display()))
        })?;
        Ok(Self(directory))
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What stays is in the directory for temporary files.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_shown_as_they_can_be_typed() {
        assert_eq!(quoted("seq"), "seq");
        assert_eq!(quoted("6*7\n"), r"$'6*7\n'");
        assert_eq!(quoted("it's"), r"'it'\''s'");
        assert_eq!(quoted(""), "''");
    }
}
