//! Programs as the vendor's machines take them, and scripts of ours.

use std::collections::BTreeMap;
use std::time::Duration;

use ptyard_core::{Cause, Exit, TerminalId};
use ptyard_modal_wire::router::{
    ExitStatus, FileDescriptor, PtyInfo, PtyType, StderrConfig, StdoutConfig, TaskExecStartRequest,
    TaskExecStdinWriteRequest, TaskExecStdioReadRequest, TaskExecWaitRequest,
};
use ptyard_terminal::backend::{Io, StartSpec, Stdin};

use super::api::CALL_LIMIT;
use super::link::of_status;
use super::router::Router;
use crate::remote::http::CallError;
use crate::remote::lodging::Ran;

/// How long the machine may take to start a program.
pub(super) const START_LIMIT: Duration = Duration::from_secs(30);

/// A program by the machine's name for it.
#[derive(Debug, Clone)]
pub(super) struct Exec {
    pub(super) router: Router,
    pub(super) id: String,
}

/// Bits in the form that the vendor's own client gives its ids.
fn uuid(bits: u128) -> String {
    let hex = format!("{bits:032x}");
    format!("{}-{}-{}-{}-{}", &hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..])
}

/// The name of a terminal's program: always the same, so that a start is one however often it is asked for, and a later
/// server knows it.
pub(super) fn exec_id(id: TerminalId) -> String {
    uuid(id.bits())
}

/// A name that nobody had before.
pub(super) fn random_id() -> Result<String, CallError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random).map_err(|error| CallError::NotSent(format!("no random bytes: {error}")))?;
    Ok(uuid(u128::from_ne_bytes(random)))
}

/// Becomes the program, in a session of its own if it is not in one: a signal for its group reaches nobody else then.
const PIPES: &str = r#"
IFS= read -r s </proc/$$/stat; s=${s##*) }; s=${s#* * }
[ "${s%% *}" != $$ ] && command -v setsid >/dev/null && exec setsid "$@"
exec "$@"
"#;

/// The same, and there is nothing to read.
const NO_INPUT: &str = "exec </dev/null";

/// A program to start, with its own arguments.
pub(super) fn start(task: String, spec: &StartSpec) -> TaskExecStartRequest {
    let mut request = TaskExecStartRequest {
        task_id: task,
        exec_id: exec_id(spec.id),
        stdout_config: StdoutConfig::Pipe.into(),
        // Read by themselves, errors would lose their place among the output.
        stderr_config: StderrConfig::Stdout.into(),
        env: spec.env.clone(),
        ..TaskExecStartRequest::default()
    };
    if !spec.cwd.as_os_str().is_empty() {
        request.workdir = Some(spec.cwd.to_string_lossy().into_owned());
    }
    match spec.io {
        Io::Tty(size) => {
            let variable = |name: &str| spec.env.get(name).cloned().unwrap_or_default();
            request.command_args = spec.argv.clone();
            request.pty_info = Some(PtyInfo {
                enabled: true,
                winsz_rows: size.rows().into(),
                winsz_cols: size.cols().into(),
                env_term: variable("TERM"),
                env_colorterm: variable("COLORTERM"),
                pty_type: PtyType::Shell.into(),
                no_terminate_on_idle_stdin: true,
            });
        }
        Io::Pipes(stdin) => {
            let script = match stdin {
                Stdin::Null => format!("{NO_INPUT}\n{PIPES}"),
                Stdin::Pipe => PIPES.to_owned(),
            };
            request.command_args = ["/bin/sh", "-c", &script, "sh"].map(str::to_owned).into();
            request.command_args.extend_from_slice(&spec.argv);
        }
    }
    request
}

/// An end as the machine tells it.
pub(super) fn exit_of(status: ExitStatus) -> Exit {
    match status {
        ExitStatus::Code(code @ 0..=255) => Exit::exited(code),
        ExitStatus::Signal(signal @ 1..=64) => Exit::signaled(signal),
        ExitStatus::Code(_) | ExitStatus::Signal(_) => Exit { cause: Cause::Unknown, ..Exit::lost() },
    }
}

/// Most that a script of ours has to say, in bytes.
const MOST_OUTPUT: usize = 64 << 10;

/// Runs a script of ours to its end. What it is told in variables stands on no command line.
pub(super) async fn run(
    router: &Router,
    script: &str,
    arguments: &[&str],
    env: &BTreeMap<String, String>,
    limit: Duration,
) -> Result<Ran, CallError> {
    let mut command_args = ["/bin/sh", "-c", script, "sh"].map(str::to_owned).to_vec();
    command_args.extend(arguments.iter().map(|&argument| argument.to_owned()));
    let exec = Exec { router: router.clone(), id: random_id()? };
    let start = TaskExecStartRequest {
        task_id: router.task(),
        exec_id: exec.id.clone(),
        command_args,
        stdout_config: StdoutConfig::Pipe.into(),
        stderr_config: StderrConfig::Stdout.into(),
        env: env.clone(),
        ..TaskExecStartRequest::default()
    };
    let running = async {
        router.ask(&start, START_LIMIT).await?;
        let (output, exit) = tokio::try_join!(exec.output(), exec.end(limit))?;
        Ok(Ran { output: String::from_utf8_lossy(&output).into_owned(), code: exit.code })
    };
    tokio::time::timeout(limit, running)
        .await
        .map_err(|_| CallError::too_late("no end of a script", limit))?
}

impl Exec {
    /// The program of a terminal.
    pub(super) fn of(router: &Router, id: TerminalId) -> Self {
        Self { router: router.clone(), id: exec_id(id) }
    }

    /// A read from this byte on.
    pub(super) fn read_from(&self, offset: u64) -> TaskExecStdioReadRequest {
        TaskExecStdioReadRequest {
            task_id: self.router.task(),
            exec_id: self.id.clone(),
            offset,
            file_descriptor: FileDescriptor::Stdout.into(),
        }
    }

    /// A wait for the end.
    pub(super) fn wait(&self) -> TaskExecWaitRequest {
        TaskExecWaitRequest { task_id: self.router.task(), exec_id: self.id.clone() }
    }

    /// Input to write at this byte.
    pub(super) fn write(&self, offset: u64, data: Vec<u8>, eof: bool) -> TaskExecStdinWriteRequest {
        TaskExecStdinWriteRequest { task_id: self.router.task(), exec_id: self.id.clone(), offset, data, eof }
    }

    /// All the output of a script.
    async fn output(&self) -> Result<Vec<u8>, CallError> {
        let mut output = Vec::new();
        let mut failures = 0;
        loop {
            let read = self.read_from(output.len() as u64);
            let read = async {
                let mut stream = self.router.open(&read, CALL_LIMIT).await?;
                while let Some(piece) = stream.message().await.map_err(|status| of_status(&status))? {
                    output.extend(piece.data);
                    if output.len() > MOST_OUTPUT {
                        return Err(CallError::garbled("a script says too much"));
                    }
                }
                Ok(())
            };
            match read.await {
                Ok(()) => return Ok(output),
                Err(error) if error.may_pass() && failures < 3 => failures += 1,
                Err(error) => return Err(error),
            }
        }
    }

    /// The end of a script.
    async fn end(&self, limit: Duration) -> Result<Exit, CallError> {
        match self.router.ask(&self.wait(), limit).await?.exit_status {
            Some(status) => Ok(exit_of(status)),
            None => Err(CallError::garbled("an end without a status")),
        }
    }
}

#[cfg(test)]
mod tests {
    use ptyard_core::Size;
    use ptyard_terminal::backend::Placing;

    use super::*;

    fn spec(io: Io) -> StartSpec {
        StartSpec {
            id: TerminalId::from_bits(0x0123_4567_89ab_cdef_0123_4567_89ab_cdef),
            argv: vec!["printf".to_owned(), "a b".to_owned()],
            cwd: "/work".into(),
            env: [("SECRET", "value"), ("TERM", "xterm")]
                .map(|(name, value)| (name.to_owned(), value.to_owned()))
                .into(),
            io,
            ceilings: Default::default(),
            title: None,
            placing: Placing::Exact,
        }
    }

    #[test]
    fn variables_and_directory_have_fields_of_their_own() {
        for io in [Io::Tty(Size::DEFAULT), Io::Pipes(Stdin::Null), Io::Pipes(Stdin::Pipe)] {
            let request = start("ta-1".to_owned(), &spec(io));
            assert_eq!(request.env["SECRET"], "value");
            assert_eq!(request.workdir.as_deref(), Some("/work"));
            assert!(!request.command_args.concat().contains("value"));
            assert!(!format!("{request:?}").contains("value"));
            assert_eq!(request.command_args[request.command_args.len() - 2..], ["printf", "a b"]);
        }
    }

    #[test]
    fn a_terminal_has_one_program_with_one_name() {
        let request = start("ta-1".to_owned(), &spec(Io::Tty(Size::DEFAULT)));
        assert_eq!(request.exec_id, "01234567-89ab-cdef-0123-456789abcdef");
        let pty = request.pty_info.unwrap();
        assert_eq!((pty.winsz_rows, pty.winsz_cols, pty.env_term.as_str()), (24, 80, "xterm"));
        assert!(pty.enabled && pty.no_terminate_on_idle_stdin);
    }

    #[test]
    fn ends_are_told_as_they_were() {
        assert_eq!(exit_of(ExitStatus::Code(0)), Exit::exited(0));
        assert_eq!(exit_of(ExitStatus::Code(255)), Exit::exited(255));
        assert_eq!(exit_of(ExitStatus::Signal(9)), Exit::signaled(9));
        for strange in [ExitStatus::Code(-1), ExitStatus::Code(256), ExitStatus::Signal(0)] {
            let exit = exit_of(strange);
            assert_eq!((exit.code, exit.signal, exit.cause), (None, None, Cause::Unknown));
        }
    }
}
