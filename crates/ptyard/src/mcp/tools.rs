//! The tools: names, descriptions and argument schemas, written out so that they are exactly these.
//!
//! `exec_command` and `write_stdin` are the tools that models were trained on; their names, arguments, defaults and
//! descriptions are a contract. The others follow the same manner.

use serde_json::{Value, json};

/// What a tool does to the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// It only looks.
    Looks,
    /// It starts, types or changes something.
    Acts,
    /// It ends programs.
    Ends,
}

/// What a tool is about: it says what a model can do about a refusal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Family {
    /// Programs.
    Programs,
    /// Agents.
    Team,
}

/// A tool.
#[derive(Debug, Clone, Copy)]
pub(super) struct ToolSpec {
    pub(super) name: &'static str,
    pub(super) description: &'static str,
    pub(super) schema: fn() -> Value,
    pub(super) effect: Effect,
    pub(super) family: Family,
}

/// For the system prompt.
pub(super) const INSTRUCTIONS: &str = "When using the shell:\n\
    - Run shell commands with `exec_command`.\n\
    - When a command is still running, its session ID is in the answer: use `write_stdin` to type into it, or with \
      empty `chars` to poll it.\n\
    - To be able to interrupt a long-running command, start it with `tty=true` and send Ctrl-C (`\\u0003`) with \
      `write_stdin`.\n\
    - Prefer `rg` and `rg --files` to search text and files.\n\
    - Do not write Python scripts only to print large parts of files.\n\
    - For full-screen programs, `read_screen` shows what is on the screen, and `send_keys` presses keys by name.\n\
    - `wait_for` returns as soon as output matches, the program is quiet or it ends: prefer it to polling.";

/// The tools for programs, in the order they are shown.
pub(super) const PROGRAMS: &[ToolSpec] = &[
    ToolSpec {
        name: "exec_command",
        description: "Runs a command in a PTY, returning output or a session ID for ongoing interaction.",
        schema: exec_command,
        effect: Effect::Acts,
        family: Family::Programs,
    },
    ToolSpec {
        name: "write_stdin",
        description: "Writes characters to an existing unified exec session and returns recent output.",
        schema: write_stdin,
        effect: Effect::Acts,
        family: Family::Programs,
    },
    ToolSpec {
        name: "send_keys",
        description: "Presses keys by name in a session that has a TTY, for example `C-c`, `Up Enter`, `F5` or `M-x`, and \
            returns recent output.",
        schema: send_keys,
        effect: Effect::Acts,
        family: Family::Programs,
    },
    ToolSpec {
        name: "wait_for",
        description: "Waits until something holds for a session, and returns its recent output: new output matches a \
            regular expression, nothing was printed for a while, a shell prompt is back, or the program ended.",
        schema: wait_for,
        effect: Effect::Acts,
        family: Family::Programs,
    },
    ToolSpec {
        name: "read_screen",
        description: "Shows what a person would see on a session's terminal now. Does not use up any output.",
        schema: read_screen,
        effect: Effect::Looks,
        family: Family::Programs,
    },
    ToolSpec {
        name: "resize",
        description: "Changes the size of a session's terminal.",
        schema: resize,
        effect: Effect::Acts,
        family: Family::Programs,
    },
    ToolSpec {
        name: "signal",
        description: "Sends a signal to a session's program.",
        schema: signal,
        effect: Effect::Acts,
        family: Family::Programs,
    },
    ToolSpec {
        name: "kill",
        description: "Ends a session's program and everything it started. Its output can still be polled.",
        schema: kill,
        effect: Effect::Ends,
        family: Family::Programs,
    },
    ToolSpec {
        name: "list",
        description: "Lists sessions, running and finished.",
        schema: list,
        effect: Effect::Looks,
        family: Family::Programs,
    },
];

fn yield_time_ms(default: u64) -> Value {
    json!({
        "default": default,
        "description": "How long to wait (in milliseconds) for output before yielding.",
        "minimum": 0,
        "title": "Yield Time Ms",
        "type": "integer",
    })
}

fn max_output_tokens() -> Value {
    json!({
        "anyOf": [{"minimum": 1, "type": "integer"}, {"type": "null"}],
        "default": 10_000,
        "description": "Maximum number of tokens to return. Excess output will be truncated.",
        "title": "Max Output Tokens",
    })
}

fn limits() -> Value {
    let whole = |description: &str| json!({"description": description, "minimum": 1, "type": "integer"});
    json!({
        "anyOf": [
            {
                "additionalProperties": false,
                "properties": {
                    "wall_ms": whole("Milliseconds the command may run."),
                    "idle_ms": whole("Milliseconds it may neither print nor be typed into."),
                    "memory_bytes": whole("Bytes of memory of all its processes together."),
                    "processes": whole("Most processes and threads."),
                },
                "type": "object",
            },
            {"type": "null"},
        ],
        "default": null,
        "description": "What the command may use; one that uses more is ended, with all it started.",
        "title": "Limits",
    })
}

fn nullable_string(title: &str, description: &str) -> Value {
    json!({
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "default": null,
        "description": description,
        "title": title,
    })
}

fn session_id(description: &str) -> Value {
    json!({"description": description, "title": "Session Id", "type": "integer"})
}

fn session() -> Value {
    session_id("Identifier of the session.")
}

fn exec_command() -> Value {
    json!({
        "properties": {
            "cmd": {"description": "Shell command to execute.", "minLength": 1, "title": "Cmd", "type": "string"},
            "workdir": nullable_string(
                "Workdir",
                "Optional working directory to run the command in; defaults to the turn cwd.",
            ),
            "shell": nullable_string("Shell", "Shell binary to launch. Defaults to the user's default shell."),
            "login": {
                "default": true,
                "description": "Whether to run the shell with -l/-i semantics. Defaults to true.",
                "title": "Login",
                "type": "boolean",
            },
            "tty": {
                "default": false,
                "description": "Whether to allocate a TTY for the command. Defaults to false (plain pipes); set to true \
                    to open a PTY and access TTY process.",
                "title": "Tty",
                "type": "boolean",
            },
            "yield_time_ms": yield_time_ms(10_000),
            "max_output_tokens": max_output_tokens(),
            "limits": limits(),
        },
        "required": ["cmd"],
        "title": "ExecCommandArgs",
        "type": "object",
    })
}

fn write_stdin() -> Value {
    json!({
        "properties": {
            "session_id": session_id("Identifier of the running unified exec session."),
            "chars": {
                "default": "",
                "description": "Bytes to write to stdin (may be empty to poll).",
                "title": "Chars",
                "type": "string",
            },
            "yield_time_ms": yield_time_ms(250),
            "max_output_tokens": max_output_tokens(),
        },
        "required": ["session_id"],
        "title": "WriteStdinArgs",
        "type": "object",
    })
}

fn send_keys() -> Value {
    json!({
        "properties": {
            "session_id": session(),
            "keys": {
                "description": "Names of keys, separated by spaces; a name that is no key is an error.",
                "minLength": 1,
                "title": "Keys",
                "type": "string",
            },
            "yield_time_ms": yield_time_ms(250),
            "max_output_tokens": max_output_tokens(),
        },
        "required": ["session_id", "keys"],
        "title": "SendKeysArgs",
        "type": "object",
    })
}

fn wait_for() -> Value {
    json!({
        "properties": {
            "session_id": session(),
            "until": {
                "description": "Conditions, the first that holds ends the wait: `exit`, `quiet:MS` (no output for MS \
                    milliseconds), `regex:RE` (new output matches RE), `prompt`, `status:NAME`.",
                "items": {"type": "string"},
                "minItems": 1,
                "title": "Until",
                "type": "array",
            },
            "timeout_ms": {
                "default": 30_000,
                "description": "How long to wait (in milliseconds) at most.",
                "minimum": 0,
                "title": "Timeout Ms",
                "type": "integer",
            },
            "max_output_tokens": max_output_tokens(),
        },
        "required": ["session_id", "until"],
        "title": "WaitForArgs",
        "type": "object",
    })
}

fn read_screen() -> Value {
    json!({
        "properties": {
            "session_id": session(),
            "scrollback": {
                "default": 0,
                "description": "How many lines above the screen to show as well.",
                "minimum": 0,
                "title": "Scrollback",
                "type": "integer",
            },
        },
        "required": ["session_id"],
        "title": "ReadScreenArgs",
        "type": "object",
    })
}

fn resize() -> Value {
    let side =
        |title: &str, min: u32| json!({"maximum": 1000, "minimum": min, "title": title, "type": "integer"});
    json!({
        "properties": {"session_id": session(), "cols": side("Cols", 2), "rows": side("Rows", 1)},
        "required": ["session_id", "cols", "rows"],
        "title": "ResizeArgs",
        "type": "object",
    })
}

fn signal() -> Value {
    json!({
        "properties": {
            "session_id": session(),
            "signal": {
                "description": "Name or number, for example INT, TERM, HUP, USR1.",
                "minLength": 1,
                "title": "Signal",
                "type": "string",
            },
            "group": {
                "default": true,
                "description": "Whether it goes to the process group in the foreground, as Ctrl-C does, instead of the \
                    program alone.",
                "title": "Group",
                "type": "boolean",
            },
        },
        "required": ["session_id", "signal"],
        "title": "SignalArgs",
        "type": "object",
    })
}

fn kill() -> Value {
    json!({
        "properties": {
            "session_id": session(),
            "grace_ms": {
                "default": 2_000,
                "description": "How long (in milliseconds) the program may take to end by itself before it is forced.",
                "maximum": 60_000,
                "minimum": 0,
                "title": "Grace Ms",
                "type": "integer",
            },
        },
        "required": ["session_id"],
        "title": "KillArgs",
        "type": "object",
    })
}

fn list() -> Value {
    json!({
        "properties": {
            "all": {
                "default": false,
                "description": "Whether to list the sessions of others as well.",
                "title": "All",
                "type": "boolean",
            },
        },
        "title": "ListArgs",
        "type": "object",
    })
}
