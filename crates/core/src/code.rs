//! The stable error codes, declared once.
//!
//! Every error that can leave the process has one of these. Each face (command line, HTTP, MCP) maps them in one
//! module of its own, and a test walks [`ErrorCode::ALL`] so that no code lacks a mapping.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($( $(#[doc = $doc:literal])+ $name:ident = $text:literal, retry $retry:ident, hint $hint:literal; )+) => {
        /// A stable error code. Its text never changes; new codes may be added.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ErrorCode {
            $( $(#[doc = $doc])+ #[serde(rename = $text)] $name, )+
        }

        impl ErrorCode {
            /// Every code.
            pub const ALL: &'static [Self] = &[$(Self::$name),+];

            /// The text of the code, as it stands in JSON.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text),+ }
            }

            /// What happened, in one sentence.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$name => concat!($($doc),+).trim_ascii()),+ }
            }

            /// The next step for whoever got this error; empty when there is none.
            #[must_use]
            pub const fn hint(self) -> &'static str {
                match self { $(Self::$name => $hint),+ }
            }

            /// Whether the same request may succeed later without a change.
            #[must_use]
            pub const fn is_retryable(self) -> bool {
                match self { $(Self::$name => retry!($retry)),+ }
            }
        }
    };
}
macro_rules! retry {
    (yes) => {
        true
    };
    (no) => {
        false
    };
}

codes! {
    /// No terminal ever had this id or name.
    UnknownTerminal = "unknown_terminal", retry no, hint "`ptyard list` shows the terminals that exist";
    /// The terminal was removed; its output is gone.
    TerminalRemoved = "terminal_removed", retry no, hint "its log was removed with it; start the program again";
    /// The program has ended, so this cannot be done to it.
    TerminalExited = "terminal_exited", retry no, hint "its output can still be read with `ptyard read`";
    /// The program still runs, so this cannot be done to it.
    TerminalRunning = "terminal_running", retry no, hint "`ptyard kill` ends it first";
    /// The name is in use by another terminal.
    NameTaken = "name_taken", retry no, hint "choose another name, or remove the terminal that has it";
    /// More than one terminal matches.
    AmbiguousName = "ambiguous_name", retry no, hint "use the id";
    /// The program has no stdin to write to.
    NoStdin = "no_stdin", retry no, hint "start the command with a tty (`--tty`, `tty=true`) or with `stdin=pipe`";
    /// Stdin was closed before.
    StdinClosed = "stdin_closed", retry no, hint "nothing can be typed after close-stdin";
    /// Only a terminal (tty) can do this.
    NotATty = "not_a_tty", retry no, hint "start the command with a tty (`--tty`, `tty=true`)";
    /// A typed end of input cannot reach a program that reads raw bytes.
    RawMode = "raw_mode", retry no, hint "the program reads raw keys; send the key it ends on (`--keys C-d`) or `ptyard kill` it";
    /// The size is outside the limits.
    InvalidSize = "invalid_size", retry no, hint "columns 2..=1000, rows 1..=1000, for example 120x40";
    /// The pattern is not a regular expression.
    InvalidRegex = "invalid_regex", retry no, hint "the syntax is that of the Rust regex crate: no look-around, no back-references";
    /// An argument has a value that cannot be used.
    InvalidArgument = "invalid_argument", retry no, hint "";
    /// The request is not what this endpoint takes.
    InvalidRequest = "invalid_request", retry no, hint "GET /v1/openapi.json describes the requests";
    /// There is no such endpoint.
    NotFound = "not_found", retry no, hint "GET /v1/openapi.json lists the endpoints";
    /// The program does not exist.
    ProgramNotFound = "program_not_found", retry no, hint "give a path, or a PATH that holds it (`--env PATH=...`)";
    /// The program exists and cannot be executed.
    ProgramNotExecutable = "program_not_executable", retry no, hint "check its mode, its `#!` line and its architecture";
    /// The program could not be started for another reason.
    SpawnFailed = "spawn_failed", retry yes, hint "";
    /// The working directory does not exist or is not a directory.
    CwdNotFound = "cwd_not_found", retry no, hint "nothing was run; create the directory or give another `--cwd`";
    /// The working directory cannot be entered.
    CwdNotAccessible = "cwd_not_accessible", retry no, hint "nothing was run; check the permissions of the directory";
    /// The state directory cannot be written.
    StateUnwritable = "state_unwritable", retry no, hint "give another one with `--state DIR` or `PTYARD_STATE`";
    /// Another server uses the state directory.
    StateLocked = "state_locked", retry no, hint "`ptyard stop` ends it, or give another `--state DIR`";
    /// The state directory belongs to another user.
    StateForeign = "state_foreign", retry no, hint "give a directory of your own with `--state DIR`";
    /// The database of the state directory is damaged; nothing in it was changed.
    StoreDamaged = "store_damaged", retry no, hint "move the file the message names away, or put a copy of it back, and start again";
    /// The database of the state directory was made by a newer version.
    StoreNewer = "store_newer", retry no, hint "start the newer version, or give another `--state DIR`";
    /// The disk is full.
    DiskFull = "disk_full", retry yes, hint "free some space: programs wait, nothing is lost";
    /// The bytes asked for were evicted under the quota.
    OutputEvicted = "output_evicted", retry no, hint "read from the oldest offset kept, which `info` shows as log.start";
    /// The offset is beyond the end of the log.
    OffsetBeyondEnd = "offset_beyond_end", retry no, hint "`info` shows the end as log.end";
    /// The request is larger than the limit.
    InputTooLarge = "input_too_large", retry no, hint "send it in parts, or with `ptyard write --file`";
    /// The program does not take its input, and the queue is full.
    InputQueueFull = "input_queue_full", retry yes, hint "the program is not reading; wait, or interrupt it";
    /// The same idempotency key came with other content.
    KeyConflict = "key_conflict", retry no, hint "use a new key for a new write";
    /// No message ever had this id.
    UnknownMessage = "unknown_message", retry no, hint "`ptyard inbox ID --all` shows the messages of a terminal";
    /// The message is in a state in which this cannot be done to it.
    MessageSettled = "message_settled", retry no, hint "`ptyard message MID` shows its state";
    /// Too many messages wait for this terminal.
    InboxFull = "inbox_full", retry yes, hint "wait until some are delivered, or cancel some";
    /// Every short id of this server's life is used up.
    IdsExhausted = "ids_exhausted", retry no, hint "restart the server: short ids are never given twice in one life";
    /// A limit cannot be held here.
    LimitUnavailable = "limit_unavailable", retry no, hint "leave it out, or add `--best-effort` to start without it";
    /// A limit on the number of terminals is reached.
    TooManyTerminals = "too_many_terminals", retry yes, hint "end or remove some with `ptyard kill` and `ptyard rm`";
    /// This cannot be done by this backend.
    Unsupported = "unsupported", retry no, hint "";
    /// The place where the program was to run cannot be reached.
    BackendUnreachable = "backend_unreachable", retry yes, hint "`ptyard doctor` shows which places can be reached; the message says why";
    /// What the place needs is not set, or cannot be used: a key, its file, an address.
    BackendNotSetUp = "backend_not_set_up", retry no, hint "the message names the variable or the file; variables reach a server when it starts, so `ptyard stop` comes first";
    /// The place does not take the key, or lets nobody in who has it.
    BackendUnauthorized = "backend_unauthorized", retry no, hint "put another key where this one is read from (docs/BACKENDS.md says where), and `ptyard stop` the server that has read it";
    /// The image, container, host or pane does not exist.
    PlaceNotFound = "place_not_found", retry no, hint "check what stands behind the colon of `--backend`";
    /// There is no such condition.
    UnsupportedCondition = "unsupported_condition", retry no, hint "conditions are exit, quiet:MS, regex:RE, prompt and status:NAME";
    /// The signal name is unknown.
    UnknownSignal = "unknown_signal", retry no, hint "for example INT, TERM, KILL, HUP, USR1 or a number 1..=64";
    /// The key name is unknown.
    UnknownKey = "unknown_key", retry no, hint "for example Enter, Tab, Escape, Up, F5, C-c, M-x, S-Tab";
    /// Some of the program's processes survived the kill.
    Survivors = "survivors", retry yes, hint "the message names them";
    /// The token is missing or wrong.
    Unauthorized = "unauthorized", retry no, hint "send `Authorization: Bearer TOKEN` with the token of the state directory's `token` file";
    /// The peer, host or origin is not allowed.
    Forbidden = "forbidden", retry no, hint "only the server's own user, loopback hosts and the server's own origin are allowed";
    /// No server runs, and none was to be started.
    NoServer = "no_server", retry yes, hint "leave out `--no-start`, or run `ptyard serve`";
    /// The server speaks another version of the protocol.
    Incompatible = "incompatible_server", retry no, hint "`ptyard stop` ends it; the next command starts this version";
    /// The keeper of the running programs speaks another version of the protocol.
    IncompatibleKeeper = "incompatible_keeper", retry no, hint "the version that started the programs can still be used; it names both";
    /// The state directory was written by a version with another format.
    IncompatibleState = "incompatible_state", retry no, hint "use the version it names, or give another `--state DIR`";
    /// Another version of the server takes this one's place.
    Replaced = "server_replaced", retry yes, hint "ask again: programs, ids and offsets stay as they are; `ptyard read` shows whether what was sent came through";
    /// The server is shutting down.
    Stopping = "stopping", retry yes, hint "try again when it has restarted";
    /// There is no profile of this name.
    UnknownProfile = "unknown_profile", retry no, hint "`ptyard profile list` shows the profiles and where they are looked for";
    /// The profile cannot be used.
    InvalidProfile = "invalid_profile", retry no, hint "the message names the line";
    /// There is no session of this name.
    UnknownSession = "unknown_session", retry no, hint "`ptyard session list` shows the sessions";
    /// A terminal may not send to itself.
    SelfSend = "self_send", retry no, hint "name another receiver";
    /// No receiver was named, and there is none to fall back on.
    NoReceiver = "no_receiver", retry no, hint "name the terminal that is to get it";
    /// Work was handed down too many times.
    TooDeep = "too_deep", retry no, hint "do this piece in this terminal";
    /// There is no handoff with this id.
    UnknownHandoff = "unknown_handoff", retry no, hint "whoever began it was told its id, such as h3";
    /// There is no flow of this name.
    UnknownFlow = "unknown_flow", retry no, hint "`ptyard flow list` shows the flows";
    /// There is a flow of this name.
    FlowTaken = "flow_taken", retry no, hint "choose another name, or `ptyard flow rm` the one there is";
    /// A run of the flow is still going.
    FlowRunning = "flow_running", retry no, hint "`ptyard flow show` tells where it stands; it ends by itself, or with its terminal";
    /// The schedule cannot be used.
    InvalidSchedule = "invalid_schedule", retry no, hint "five fields as in cron, for example `30 9 * * mon-fri`, or `@daily`";
    /// The agent asks nothing now, so there is nothing to answer.
    NotAsking = "not_asking", retry no, hint "`ptyard status` shows what it does; `ptyard send` leaves it a message";
    /// Something broke that should not have.
    Internal = "internal", retry no, hint "this is a bug in ptyard: please report it with the server's log";
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_distinct_snake_case_words() {
        let mut seen = std::collections::BTreeSet::new();
        for code in ErrorCode::ALL {
            assert!(seen.insert(code.as_str()), "{code} twice");
            assert!(code.as_str().bytes().all(|b| b.is_ascii_lowercase() || b == b'_'), "{code}");
        }
    }
}
