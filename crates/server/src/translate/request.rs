//! From requests to what the yard is asked.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use ptyard_core::{Limits, Size};
use ptyard_terminal::backend::{Io, Stdin, Unheld};
use ptyard_yard::{
    ClientPolicy, ExecSpec, LimitSpec, Login, Naming, Program, TypedInput, WindowSpec, WriteSpec,
};

use crate::api::{
    AdoptRequest, ExecRequest, Input, KillRequest, LimitsRequest, StdinKind, WindowRequest, WriteRequest,
};
use crate::error::ApiError;

/// Most milliseconds between TERM and KILL.
const MAX_GRACE_MS: u64 = 60_000;

/// What a start asks for.
pub(crate) fn program_spec(request: ExecRequest) -> Result<ExecSpec, ApiError> {
    let io = if request.tty {
        Io::Tty(request.size.map_or(Ok(Size::DEFAULT), |size| size.parse())?)
    } else if request.size.is_some() {
        return Err(ApiError::argument("size is given, but the program has no tty"));
    } else {
        Io::Pipes(match request.stdin {
            StdinKind::Null => Stdin::Null,
            StdinKind::Pipe => Stdin::Pipe,
        })
    };
    let cwd = absolute(request.cwd)?;
    let limits = request.limits.map(limit_spec).unwrap_or_default();
    let spec = ExecSpec {
        program: program(request.argv, request.command, request.shell, request.login)?,
        backend: request.backend,
        name: request.name,
        io,
        cwd,
        env: request.env,
        caller_env: request.caller_env,
        policy: request
            .policy
            .map(|policy| ClientPolicy { client: policy.client, max_terminals: policy.max_terminals }),
        limits,
        naming: if request.full_id_only { Naming::FullId } else { Naming::Any },
        window: window_spec(request.window),
    };
    Ok(spec)
}

/// What is to be taken over.
pub(crate) fn adopt_spec(request: AdoptRequest) -> ExecSpec {
    ExecSpec {
        program: Program::Found,
        backend: Some(request.place),
        name: request.name,
        io: Io::Tty(Size::DEFAULT),
        cwd: None,
        env: BTreeMap::new(),
        caller_env: BTreeMap::new(),
        policy: None,
        limits: LimitSpec::default(),
        naming: Naming::Any,
        window: window_spec(request.window),
    }
}

/// A directory that does not depend on where the server stands.
pub(super) fn absolute(cwd: Option<String>) -> Result<Option<PathBuf>, ApiError> {
    let cwd = cwd.map(PathBuf::from);
    match cwd.as_ref().filter(|cwd| !cwd.is_absolute()) {
        Some(relative) => {
            Err(ApiError::argument(format!("cwd {} is not an absolute path", relative.display())))
        }
        None => Ok(cwd),
    }
}

fn limit_spec(request: LimitsRequest) -> LimitSpec {
    let limits = Limits {
        wall: request.wall_ms.map(Duration::from_millis),
        idle: request.idle_ms.map(Duration::from_millis),
        memory_bytes: request.memory_bytes,
        processes: request.processes,
        log_bytes: request.log_bytes,
    };
    LimitSpec { limits, unheld: if request.best_effort { Unheld::Tell } else { Unheld::Refuse } }
}

fn program(
    argv: Vec<String>,
    command: Option<String>,
    shell: Option<String>,
    login: Option<bool>,
) -> Result<Program, ApiError> {
    match (argv.first(), command) {
        (Some(_), Some(_)) => Err(ApiError::argument("argv and command are both given; give one of them")),
        (None, None) => Err(ApiError::argument("neither argv nor command is given; give one of them")),
        (Some(_), None) if shell.is_some() || login.is_some() => {
            Err(ApiError::argument("shell and login go with command; argv is run without a shell"))
        }
        (Some(first), None) if first.is_empty() => {
            Err(ApiError::argument("argv begins with an empty text, which names no program"))
        }
        (Some(_), None) if argv.iter().any(|word| word.contains('\0')) => {
            Err(ApiError::argument("argv holds a NUL character, which no program can be given"))
        }
        (Some(_), None) => Ok(Program::Argv(argv)),
        (None, Some(text)) if text.contains('\0') => {
            Err(ApiError::argument("command holds a NUL character, which no shell can be given"))
        }
        (None, Some(text)) => {
            let login = if login.unwrap_or(true) { Login::Login } else { Login::Plain };
            Ok(Program::Shell { text, shell, login })
        }
    }
}

/// What a write asks for.
pub(crate) fn write_spec(request: WriteRequest) -> Result<WriteSpec, ApiError> {
    let input = match request.input {
        Input::None => None,
        Input::Chars(text) => Some(TypedInput::Bytes(text.into_bytes())),
        Input::Base64(text) => Some(TypedInput::Bytes(bytes_of(&text)?)),
        Input::Keys(keys) => Some(TypedInput::Keys(keys)),
        Input::Paste(text) => Some(TypedInput::Paste(text)),
    };
    Ok(WriteSpec {
        input,
        key: request.key,
        since: request.since,
        take: request.take_ms.map(Duration::from_millis),
        window: window_spec(request.window),
    })
}

fn bytes_of(text: &str) -> Result<Vec<u8>, ApiError> {
    BASE64.decode(text).map_err(|error| ApiError::argument(format!("input is not base64: {error}")))
}

/// The time between TERM and KILL.
pub(crate) fn grace(request: &KillRequest) -> Result<Option<Duration>, ApiError> {
    match request.grace_ms {
        Some(ms) if ms > MAX_GRACE_MS => {
            Err(ApiError::argument(format!("grace_ms is {ms}, at most {MAX_GRACE_MS} can be waited")))
        }
        ms => Ok(ms.map(Duration::from_millis)),
    }
}

fn window_spec(window: WindowRequest) -> WindowSpec {
    WindowSpec { yield_ms: window.yield_ms, max_tokens: window.max_tokens, until: window.until }
}

#[cfg(test)]
mod tests {
    use ptyard_core::ErrorCode;

    use super::*;

    fn exec(json: serde_json::Value) -> Result<ExecSpec, (ErrorCode, String)> {
        let request: ExecRequest = serde_json::from_value(json).unwrap();
        program_spec(request).map_err(|error| (error.code(), error.to_string()))
    }

    #[test]
    fn exactly_one_of_argv_and_command_is_taken() {
        use serde_json::json;
        let argv = exec(json!({"argv": ["ls", "-l"]})).unwrap();
        assert_eq!(argv.program, Program::Argv(vec!["ls".into(), "-l".into()]));
        let shell = exec(json!({"command": "ls", "login": false, "shell": "/bin/sh"})).unwrap();
        let expected =
            Program::Shell { text: "ls".into(), shell: Some("/bin/sh".into()), login: Login::Plain };
        assert_eq!(shell.program, expected);
        for (bad, word) in [
            (json!({}), "neither"),
            (json!({"argv": []}), "neither"),
            (json!({"argv": ["ls"], "command": "ls"}), "both"),
            (json!({"argv": ["ls"], "shell": "sh"}), "without a shell"),
            (json!({"argv": ["ls"], "login": true}), "without a shell"),
            (json!({"argv": [""]}), "empty"),
            (json!({"argv": ["a\u{0}b"]}), "NUL"),
            (json!({"command": "a\u{0}b"}), "NUL"),
        ] {
            let (code, message) = exec(bad).unwrap_err();
            assert_eq!(code, ErrorCode::InvalidArgument);
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn streams_are_a_tty_with_a_size_or_pipes_without() {
        use serde_json::json;
        let io = |json| exec(json).map(|spec| spec.io);
        assert_eq!(io(json!({"argv": ["a"]})), Ok(Io::Pipes(Stdin::Null)));
        assert_eq!(io(json!({"argv": ["a"], "stdin": "pipe"})), Ok(Io::Pipes(Stdin::Pipe)));
        assert_eq!(io(json!({"argv": ["a"], "tty": true})), Ok(Io::Tty(Size::DEFAULT)));
        let sized = io(json!({"argv": ["a"], "tty": true, "size": "120x40"}));
        assert_eq!(sized, Ok(Io::Tty(Size::new(120, 40).unwrap())));
        let code = |json| io(json).unwrap_err().0;
        assert_eq!(code(json!({"argv": ["a"], "tty": true, "size": "1x1"})), ErrorCode::InvalidSize);
        assert_eq!(code(json!({"argv": ["a"], "size": "80x24"})), ErrorCode::InvalidArgument);
    }

    #[test]
    fn directories_are_absolute() {
        use serde_json::json;
        for bad in [json!({"argv": ["a"], "cwd": "relative/path"}), json!({"argv": ["a"], "cwd": ""})] {
            assert_eq!(exec(bad.clone()).unwrap_err().0, ErrorCode::InvalidArgument, "{bad}");
        }
        assert!(exec(json!({"argv": ["a"], "cwd": "/", "env": {"A": "b=c"}})).is_ok());
    }

    #[test]
    fn unknown_fields_are_refused_beside_the_flattened_window() {
        let known = r#"{"argv":["a"],"yield_ms":1,"max_tokens":2,"until":["exit"]}"#;
        assert!(serde_json::from_str::<ExecRequest>(known).is_ok());
        let typo = r#"{"argv":["a"],"yield":1}"#;
        assert!(serde_json::from_str::<ExecRequest>(typo).unwrap_err().to_string().contains("yield"));
        let typo = r#"{"input":{"chars":"a"},"ttl":1}"#;
        assert!(serde_json::from_str::<WriteRequest>(typo).is_err());
    }

    #[test]
    fn input_is_bytes_keys_or_a_paste() {
        let spec = |input| write_spec(WriteRequest { input, ..WriteRequest::default() });
        assert_eq!(spec(Input::Base64("AP8=".into())).unwrap().input, Some(TypedInput::Bytes(vec![0, 255])));
        assert_eq!(spec(Input::Chars("\u{3}".into())).unwrap().input, Some(TypedInput::Bytes(vec![3])));
        let refused = spec(Input::Base64("A".into())).unwrap_err();
        assert_eq!(refused.code(), ErrorCode::InvalidArgument);
        let written: WriteRequest = serde_json::from_str(r#"{"input":"none"}"#).unwrap();
        assert_eq!(written.input, Input::None);
    }

    #[test]
    fn a_grace_is_at_most_a_minute() {
        let of = |grace_ms| grace(&KillRequest { grace_ms });
        assert_eq!(of(None), Ok(None));
        assert_eq!(of(Some(60_000)), Ok(Some(Duration::from_secs(60))));
        assert_eq!(of(Some(60_001)).unwrap_err().code(), ErrorCode::InvalidArgument);
    }
}
