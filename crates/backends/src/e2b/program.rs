//! What is said to the daemon about programs, and what it says of them.

use std::collections::BTreeMap;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::{Cause, Exit, Size};
use ptyard_terminal::backend::{Io, StartSpec, Stdin};
use serde_json::{Value, json};

use super::connect::{Daemon, SILENCE};
use crate::remote::http::CallError;
use crate::remote::lodging::Ran;

/// What the daemon tells of a program.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// It runs, with this process id.
    Started(u32),
    /// It printed this.
    Output(Vec<u8>),
    /// It ended.
    Ended(Exit),
    /// Nothing, but somebody is there.
    StillHere,
}

/// Takes a message apart.
pub(super) fn told(message: &Value) -> Result<Told, CallError> {
    let event = message.get("event").unwrap_or(&Value::Null);
    if let Some(start) = event.get("start") {
        let pid = start.get("pid").and_then(Value::as_u64).and_then(|pid| u32::try_from(pid).ok());
        return pid.map(Told::Started).ok_or_else(|| CallError::garbled("a start without a process id"));
    }
    if let Some(data) = event.get("data") {
        let text = ["pty", "stdout", "stderr"].iter().find_map(|name| data.get(name)?.as_str());
        let bytes = STANDARD.decode(text.unwrap_or_default()).map_err(CallError::garbled)?;
        return Ok(Told::Output(bytes));
    }
    Ok(event.get("end").map_or(Told::StillHere, |end| Told::Ended(end_of(end))))
}

/// An end as the daemon tells it. Zero values may be left out, as documents made from such messages do.
fn end_of(end: &Value) -> Exit {
    let status = end.get("status").and_then(Value::as_str).unwrap_or_default();
    if let Some(name) = status.strip_prefix("signal: ") {
        return match signal(name) {
            Some(signal) => Exit::signaled(signal),
            None => Exit { cause: Cause::Unknown, ..Exit::lost() },
        };
    }
    let code = end.get("exitCode").map_or(Some(0), Value::as_i64).and_then(|code| i32::try_from(code).ok());
    match code {
        Some(code @ 0..=255) => Exit::exited(code),
        _ => Exit { cause: Cause::Unknown, ..Exit::lost() },
    }
}

/// Signals as the daemon's language names them, from 1 on.
const SIGNALS: [&str; 15] = [
    "hangup",
    "interrupt",
    "quit",
    "illegal instruction",
    "trace/breakpoint trap",
    "aborted",
    "bus error",
    "floating point exception",
    "killed",
    "user defined signal 1",
    "segmentation fault",
    "user defined signal 2",
    "broken pipe",
    "alarm clock",
    "terminated",
];

fn signal(name: &str) -> Option<i32> {
    let name = name.trim_end_matches(" (core dumped)");
    let number = name.strip_prefix("signal ").and_then(|number| number.parse().ok());
    number.or_else(|| (1..).zip(SIGNALS).find_map(|(number, known)| (known == name).then_some(number)))
}

/// A program to start, with its own arguments: they stand in the daemon's field for them, and no shell reads them.
pub(super) fn start(spec: &StartSpec) -> Value {
    let mut order = match spec.io {
        Io::Tty(size) => json!({
            "process": process(&spec.argv[0], &spec.argv[1..], &spec.env),
            "pty": { "size": of(size) },
        }),
        // The daemon reads output and errors each by itself, which loses their order, so they share one pipe. And it
        // starts programs in its own process group, where a signal to the group would reach the daemon.
        Io::Pipes(stdin) => {
            let mut arguments = vec!["-c".to_owned(), PIPES.to_owned(), "sh".to_owned()];
            arguments.extend_from_slice(&spec.argv);
            json!({
                "process": process("/bin/sh", &arguments, &spec.env),
                "stdin": stdin == Stdin::Pipe,
            })
        }
    };
    if !spec.cwd.as_os_str().is_empty() {
        order["process"]["cwd"] = json!(spec.cwd);
    }
    order["tag"] = json!(spec.id.to_string());
    order
}

/// Becomes the program, in a session of its own, with errors where the output goes.
const PIPES: &str = "exec 2>&1; command -v setsid >/dev/null && exec setsid \"$@\"; exec \"$@\"";

fn process(program: &str, arguments: &[String], env: &BTreeMap<String, String>) -> Value {
    json!({ "cmd": program, "args": arguments, "envs": env })
}

/// A size as the daemon takes it.
pub(super) fn of(size: Size) -> Value {
    json!({ "cols": size.cols(), "rows": size.rows() })
}

/// Most that a script of ours has to say, in bytes.
const MOST_OUTPUT: usize = 64 << 10;

/// Runs a script of ours to its end. What it is told in variables stands on no command line.
pub(super) async fn run(
    daemon: &Daemon,
    script: &str,
    arguments: &[&str],
    env: &BTreeMap<String, String>,
) -> Result<Ran, CallError> {
    let mut all = vec!["-c".to_owned(), script.to_owned(), "sh".to_owned()];
    all.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let order = json!({ "process": process("/bin/sh", &all, env), "stdin": false });
    let mut stream = daemon.start(&order).await?;
    let mut output = Vec::new();
    while let Some(message) = stream.next().await? {
        match told(&message)? {
            Told::Output(bytes) if output.len() < MOST_OUTPUT => output.extend(bytes),
            Told::Ended(exit) => {
                return Ok(Ran { output: String::from_utf8_lossy(&output).into_owned(), code: exit.code });
            }
            Told::Output(_) | Told::Started(_) | Told::StillHere => {}
        }
    }
    Err(CallError::Broken(format!("a script ended without its end, and no word for {SILENCE:?}")))
}

#[cfg(test)]
mod tests {
    use ptyard_terminal::backend::Placing;

    use super::*;

    fn end(end: &Value) -> Exit {
        match told(&json!({ "event": { "end": end } })) {
            Ok(Told::Ended(exit)) => exit,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn ends_are_told_as_they_were() {
        let exited = json!({ "exitCode": 3, "exited": true, "status": "exit status 3" });
        assert_eq!(end(&exited), Exit::exited(3));
        assert_eq!(end(&json!({ "exited": true, "status": "exit status 0" })), Exit::exited(0));
        let killed = json!({ "exitCode": -1, "exited": false, "status": "signal: killed" });
        assert_eq!(end(&killed), Exit::signaled(9));
        let dumped = json!({ "exitCode": -1, "status": "signal: segmentation fault (core dumped)" });
        assert_eq!(end(&dumped), Exit::signaled(11));
        assert_eq!(end(&json!({ "exitCode": -1, "status": "signal: signal 34" })), Exit::signaled(34));
        let strange = end(&json!({ "exitCode": -1, "status": "signal: what" }));
        assert_eq!((strange.code, strange.signal, strange.cause), (None, None, Cause::Unknown));
    }

    #[test]
    fn variables_and_directory_have_fields_of_their_own() {
        let spec = StartSpec {
            id: ptyard_core::TerminalId::from_bits(7),
            argv: vec!["printf".to_owned(), "a b".to_owned()],
            cwd: "/work".into(),
            env: [("SECRET".to_owned(), "value".to_owned())].into(),
            io: Io::Pipes(Stdin::Null),
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
        };
        for io in [Io::Tty(Size::DEFAULT), Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)] {
            let order = start(&StartSpec { io, ..spec.clone() });
            assert_eq!(order["process"]["envs"], json!({ "SECRET": "value" }));
            assert_eq!(order["process"]["cwd"], json!("/work"));
            assert!(!order["process"]["args"].to_string().contains("value"));
            assert_eq!(
                order["stdin"].as_bool(),
                matches!(io, Io::Pipes(_)).then_some(io == Io::Pipes(Stdin::Pipe))
            );
        }
    }
}
