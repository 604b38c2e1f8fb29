//! What each tool does.

use std::path::Path;
use std::sync::OnceLock;
use std::time::Instant;

use ptyard_core::ErrorCode;
use ptyard_core::window::WindowLimits;
use ptyard_server::api::{
    ClientPolicy, ExecRequest, Input, LimitsRequest, SignalRequest, WindowReply, WindowRequest, WriteRequest,
};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::arguments::{Arguments, BadArgument};
use super::tools::{Family, ToolSpec};
use super::{Answer, Outcome, Progress, hints, text};
use crate::client::Client;
use crate::environment;
use crate::failure::Failure;
use crate::run::{Place, ended, table, working_directory};

/// Terminals one client may have; the next one ends the least used.
const MAX_TERMINALS: u32 = 64;
/// What a model is told when it types where nothing reads.
const NO_STDIN: &str = "stdin is not available for this process. Start the command with `tty=true` in `exec_command` \
    before using `write_stdin`.";

/// One MCP client: all its terminals count together.
#[derive(Debug)]
pub(super) struct Caller {
    pub(super) place: Place,
    client: String,
    /// What it says it is called.
    name: OnceLock<String>,
}

/// Why a tool did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(super) enum Refusal {
    #[error(transparent)]
    Argument(#[from] BadArgument),
    #[error(transparent)]
    Failure(#[from] Failure),
}

impl From<crate::client::ClientError> for Refusal {
    fn from(error: crate::client::ClientError) -> Self {
        Self::Failure(error.into())
    }
}

pub(super) type Called = Result<Answer, Refusal>;

impl Caller {
    pub(super) fn new(place: Place) -> Result<Self, Failure> {
        let id = getrandom::u64()
            .map_err(|error| Failure::new(ErrorCode::Internal, format!("no random numbers: {error}")))?;
        Ok(Self { place, client: format!("mcp-{id:016x}"), name: OnceLock::new() })
    }

    /// Keeps what the client said it is called; what it says later is not heard.
    pub(super) fn is_called(&self, name: &str) {
        let _ = self.name.set(name.to_owned());
    }

    /// A connection to the server, in the client's name.
    pub(super) async fn connected(&self) -> Result<Client, Failure> {
        let client = self.place.client().await?;
        Ok(match self.name.get() {
            Some(name) => client.called(name),
            None => client,
        })
    }

    /// Calls a tool. Each call has a connection of its own, which goes with it when it is dropped.
    pub(super) async fn call(
        &self,
        tool: &ToolSpec,
        given: Map<String, Value>,
        progress: &Progress,
    ) -> Answer {
        let arguments = Arguments::new(given);
        let called = match tool.family {
            Family::Programs => progress.while_it_takes(self.call_programs(tool.name, &arguments)).await,
            Family::Team => self.call_team(tool.name, &arguments, progress).await,
        };
        called.unwrap_or_else(|refusal| refused(tool, &refusal))
    }

    async fn call_programs(&self, tool: &str, arguments: &Arguments) -> Called {
        match tool {
            "exec_command" => self.exec_command(arguments).await,
            "write_stdin" => self.write_stdin(arguments).await,
            "send_keys" => self.send_keys(arguments).await,
            "wait_for" => self.wait_for(arguments).await,
            "read_screen" => self.read_screen(arguments).await,
            "resize" => self.resize(arguments).await,
            "signal" => self.signal(arguments).await,
            "kill" => self.kill(arguments).await,
            "list" => self.list(arguments).await,
            other => Err(unknown_tool(other)),
        }
    }

    async fn exec_command(&self, arguments: &Arguments) -> Called {
        let begun = Instant::now();
        let workdir = arguments.text("workdir")?.filter(|dir| !dir.trim().is_empty());
        let request = ExecRequest {
            command: Some(arguments.required_text("cmd")?),
            shell: arguments.text("shell")?,
            login: Some(arguments.flag("login", true)?),
            tty: arguments.flag("tty", false)?,
            // The server refuses a directory that is not there, and then nothing runs.
            cwd: Some(working_directory(workdir.as_deref().map(Path::new))?),
            caller_env: environment::of_caller(),
            limits: limits(arguments)?,
            policy: Some(ClientPolicy { client: self.client.clone(), max_terminals: Some(MAX_TERMINALS) }),
            window: window_request(arguments, 10_000)?,
            ..ExecRequest::default()
        };
        let reply = self.connected().await?.exec(&request).await?;
        Ok(window(&reply, begun))
    }

    async fn write_stdin(&self, arguments: &Arguments) -> Called {
        let id = session_id(arguments)?;
        let input = match arguments.text("chars")? {
            Some(chars) if !chars.is_empty() => Input::Chars(chars),
            _ => Input::None,
        };
        self.write(&id, input, window_request(arguments, 250)?).await
    }

    async fn send_keys(&self, arguments: &Arguments) -> Called {
        let id = session_id(arguments)?;
        let keys = Input::Keys(arguments.required_text("keys")?);
        self.write(&id, keys, window_request(arguments, 250)?).await
    }

    async fn wait_for(&self, arguments: &Arguments) -> Called {
        let window = WindowRequest {
            yield_ms: Some(milliseconds(arguments.number("timeout_ms", 0)?, 30_000)),
            max_tokens: max_tokens(arguments)?,
            until: arguments.required_texts("until")?,
        };
        let mut answer = self.write(&session_id(arguments)?, Input::None, window).await?;
        let ended_by = answer.data["ended_by"].as_str().unwrap_or("deadline");
        answer.text =
            answer.text.replacen("\nOutput:\n", &format!("\nWait ended by: {ended_by}\nOutput:\n"), 1);
        Ok(answer)
    }

    async fn write(&self, id: &str, input: Input, window_of: WindowRequest) -> Called {
        let begun = Instant::now();
        let request = WriteRequest { input, window: window_of, ..WriteRequest::default() };
        let written = self.connected().await?.write(id, &request).await;
        match written.map_err(Failure::from) {
            Ok(reply) => Ok(window(&reply, begun)),
            Err(failure) => Err(match failure.code() {
                Some(ErrorCode::UnknownTerminal) => {
                    reworded(&failure, &format!("PTY session not found: {id}"))
                }
                Some(ErrorCode::NoStdin) => reworded(&failure, NO_STDIN),
                _ => failure,
            }
            .into()),
        }
    }

    async fn read_screen(&self, arguments: &Arguments) -> Called {
        let scrollback = u32::try_from(arguments.number("scrollback", 0)?.unwrap_or(0)).unwrap_or(u32::MAX);
        let screen = self.connected().await?.screen(&session_id(arguments)?, scrollback).await?;
        Ok(done(text::screen(&screen), &screen))
    }

    async fn resize(&self, arguments: &Arguments) -> Called {
        let id = session_id(arguments)?;
        let size =
            format!("{}x{}", arguments.required_number("cols", 0)?, arguments.required_number("rows", 0)?);
        let reply = self.connected().await?.resize(&id, &size).await?;
        Ok(done(format!("Session {id} is {size} now."), &reply))
    }

    async fn signal(&self, arguments: &Arguments) -> Called {
        let id = session_id(arguments)?;
        let request = SignalRequest {
            signal: arguments.required_text("signal")?,
            group: arguments.flag("group", true)?,
        };
        let reply = self.connected().await?.signal(&id, &request).await?;
        Ok(done(format!("Signal {} was sent to session {id}.", request.signal), &reply))
    }

    async fn kill(&self, arguments: &Arguments) -> Called {
        let id = session_id(arguments)?;
        let reply = self.connected().await?.kill(&id, arguments.number("grace_ms", 0)?).await?;
        let how = reply.exit.as_ref().map_or_else(|| "ended".to_owned(), ended);
        let mut told = format!("Session {id} {how}.");
        if !reply.survivors.is_empty() {
            told.push_str(&format!(" These processes survived: {:?}.", reply.survivors));
        }
        Ok(done(told, &reply))
    }

    async fn list(&self, arguments: &Arguments) -> Called {
        let all = arguments.flag("all", false)?;
        let mut sessions = self.connected().await?.list().await?;
        sessions.retain(|info| all || info.client.as_deref() == Some(self.client.as_str()));
        let told = if sessions.is_empty() { "There are no sessions.".to_owned() } else { table(&sessions) };
        Ok(done(told, &json!({ "sessions": sessions })))
    }
}

/// What a command may use, when it is limited.
fn limits(arguments: &Arguments) -> Result<Option<LimitsRequest>, BadArgument> {
    let Some(limits) = arguments.object("limits", &["wall_ms", "idle_ms", "memory_bytes", "processes"])?
    else {
        return Ok(None);
    };
    Ok(Some(LimitsRequest {
        wall_ms: limits.number("wall_ms", 1)?,
        idle_ms: limits.number("idle_ms", 1)?,
        memory_bytes: limits.number("memory_bytes", 1)?,
        processes: limits.number("processes", 1)?.map(|most| u32::try_from(most).unwrap_or(u32::MAX)),
        ..LimitsRequest::default()
    }))
}

fn session_id(arguments: &Arguments) -> Result<String, BadArgument> {
    Ok(arguments.required_number("session_id", 0)?.to_string())
}

/// Milliseconds to wait; more than there can be is as much as there can be.
fn milliseconds(given: Option<u64>, default: i64) -> i64 {
    given.map_or(default, |ms| i64::try_from(ms).unwrap_or(i64::MAX))
}

fn window_request(arguments: &Arguments, default_yield_ms: i64) -> Result<WindowRequest, BadArgument> {
    Ok(WindowRequest {
        yield_ms: Some(milliseconds(arguments.number("yield_time_ms", 0)?, default_yield_ms)),
        max_tokens: max_tokens(arguments)?,
        until: Vec::new(),
    })
}

/// The cap asked for. The schema has no most, so what is beyond ours means: as much as there can be.
fn max_tokens(arguments: &Arguments) -> Result<Option<i64>, BadArgument> {
    let given = arguments.number("max_output_tokens", 1)?;
    Ok(Some(given.map_or(WindowLimits::DEFAULT_TOKENS, |given| {
        i64::try_from(given).unwrap_or(i64::MAX).min(WindowLimits::MAX_TOKENS)
    })))
}

fn window(reply: &WindowReply, begun: Instant) -> Answer {
    done(text::window(reply, begun.elapsed()), reply)
}

pub(super) fn done(text: String, data: &impl Serialize) -> Answer {
    Answer { text, data: serde_json::to_value(data).unwrap_or_default(), outcome: Outcome::Done }
}

fn reworded(failure: &Failure, message: &str) -> Failure {
    let mut body = failure.body().clone();
    body.message = message.to_owned();
    body.hint = String::new();
    body.into()
}

/// A tool that is shown and not done.
pub(super) fn unknown_tool(name: &str) -> Refusal {
    Failure::new(ErrorCode::Internal, format!("no tool {name:?}")).into()
}

/// A refusal says that the tool failed, and never looks as if a process had.
fn refused(tool: &ToolSpec, refusal: &Refusal) -> Answer {
    let name = tool.name;
    let failure = match refusal {
        Refusal::Argument(error) => Failure::new(ErrorCode::InvalidArgument, error.to_string()),
        Refusal::Failure(failure) => match failure.code() {
            Some(code) if failure.body().hint == code.hint() => {
                failure.clone().with_hint(hints::of(code, tool.family))
            }
            _ => failure.clone(),
        },
    };
    let body = failure.body();
    let mut text = if body.message == NO_STDIN {
        body.message.clone()
    } else {
        format!("{name} failed: {}", body.message)
    };
    if !body.hint.is_empty() {
        text.push_str(&format!("\nHint: {}", body.hint));
    }
    Answer {
        text,
        data: serde_json::to_value(failure.reply()).unwrap_or_default(),
        outcome: Outcome::Refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mcp::tools::PROGRAMS;

    fn refused(tool: &str, refusal: &Refusal) -> Answer {
        super::refused(PROGRAMS.iter().find(|spec| spec.name == tool).unwrap(), refusal)
    }

    #[test]
    fn refusals_are_texts_a_model_can_act_on() {
        let argument = refused(
            "exec_command",
            &Refusal::Argument(Arguments::new(Map::new()).required_text("cmd").unwrap_err()),
        );
        assert_eq!(argument.text, "exec_command failed: `cmd` is required");
        let missing = Failure::new(ErrorCode::CwdNotFound, "working directory /nope does not exist");
        let missing = refused("exec_command", &Refusal::Failure(missing));
        assert!(missing.text.starts_with(
            "exec_command failed: working directory /nope does not exist\nHint: nothing was run"
        ));
        assert_eq!(missing.outcome, Outcome::Refused);
        assert_eq!(missing.data["error"]["code"], "cwd_not_found");
    }

    #[test]
    fn the_two_refusals_of_write_stdin_that_models_know() {
        let unknown =
            reworded(&Failure::new(ErrorCode::UnknownTerminal, "x"), "PTY session not found: 19523");
        assert_eq!(
            refused("write_stdin", &unknown.into()).text,
            "write_stdin failed: PTY session not found: 19523"
        );
        let pipes = reworded(&Failure::new(ErrorCode::NoStdin, "x"), NO_STDIN);
        assert_eq!(refused("write_stdin", &pipes.into()).text, NO_STDIN);
    }
}
