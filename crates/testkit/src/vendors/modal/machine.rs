//! The machine of a sandbox: programs, over `modal.task_command_router.TaskCommandRouter`.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use ptyard_modal_wire::Call;
use ptyard_modal_wire::router::{
    FileDescriptor, Source, StderrConfig, TaskExecPollRequest, TaskExecPollResponse, TaskExecStartRequest,
    TaskExecStartResponse, TaskExecStdinStatusRequest, TaskExecStdinWriteRequest, TaskExecStdinWriteResponse,
    TaskExecStdioReadRequest, TaskExecStdioReadResponse, TaskExecWaitRequest, TaskExecWaitResponse,
};
use tonic::{Code, Status};

use super::exec::Exec;
use super::serve::{Answered, Answers, Asked, Service, streaming, unary};
use super::{Break, Vendor, locked};
use crate::vendors::program::{Io, Order, Program, Told};
use crate::vendors::sandbox::Sandbox;

/// One sandbox, and the programs in it.
#[derive(Debug)]
pub(super) struct Machine {
    env: BTreeMap<String, String>,
    workdir: String,
    sandbox: Sandbox,
    execs: Mutex<HashMap<String, Arc<Exec>>>,
}

impl Machine {
    pub(super) fn new(env: BTreeMap<String, String>, workdir: Option<String>) -> Self {
        let workdir = workdir.unwrap_or_else(|| "/".to_owned());
        Self { env, workdir, sandbox: Sandbox::new(), execs: Mutex::default() }
    }

    /// How many programs live.
    pub(super) fn living(&self) -> usize {
        self.sandbox.count()
    }

    fn find(&self, exec: &str) -> Result<Arc<Exec>, Status> {
        let found = locked(&self.execs).get(exec).cloned();
        found.ok_or_else(|| Status::not_found(format!("exec {exec} not found")))
    }

    fn start(&self, request: &TaskExecStartRequest, vendor: &Vendor) -> Result<(), Status> {
        let mut execs = locked(&self.execs);
        if execs.contains_key(&request.exec_id) {
            return Ok(());
        }
        let mut env = self.sandbox.environment();
        env.extend(self.env.clone());
        env.extend(request.env.clone());
        for source in &request.secret_sources {
            if let Some(Source::Env(map)) = &source.source {
                env.extend(map.contents.clone());
            }
        }
        let cwd = request.workdir.clone().unwrap_or_else(|| self.workdir.clone());
        if !std::path::Path::new(&cwd).is_dir() {
            return Err(Status::invalid_argument(format!("workdir {cwd} does not exist")));
        }
        let (mut argv, mut io) = (request.command_args.clone(), Io::Pipes { stdin: true });
        if let Some(pty) = request.pty_info.as_ref().filter(|pty| pty.enabled) {
            let cells = |number: u32| u16::try_from(number).unwrap_or(u16::MAX);
            io = Io::Tty(cells(pty.winsz_cols), cells(pty.winsz_rows));
            for (name, value) in [("TERM", &pty.env_term), ("COLORTERM", &pty.env_colorterm)] {
                if !value.is_empty() {
                    env.insert(name.to_owned(), value.clone());
                }
            }
        } else if request.stderr_config == i32::from(StderrConfig::Stdout) {
            let joined = ["sh", "-c", "exec 2>&1; exec \"$@\"", "sh"].map(str::to_owned);
            argv.splice(0..0, joined);
        }
        let order = Order { argv, cwd: Some(cwd), env, io, told: Told::AtOnce };
        let (program, events) = Program::start(&order, &self.sandbox.mark())
            .map_err(|error| Status::internal(error.to_string()))?;
        let late = locked(&vendor.faults).last_output_late_by;
        execs.insert(request.exec_id.clone(), Exec::of(program, events, late));
        if self.sandbox.is_over() {
            self.sandbox.end();
            return Err(Status::not_found("the sandbox has ended"));
        }
        Ok(())
    }

    /// Ends everything in it.
    pub(super) fn end(&self) {
        self.sandbox.end();
    }
}

/// One read.
struct Reading {
    vendor: Arc<Vendor>,
    request: TaskExecStdioReadRequest,
    at: usize,
}

/// Most of a program's output in one message, in bytes.
const PIECE: usize = 64 << 10;

impl Reading {
    fn answers(self, exec: Arc<Exec>) -> Answers<TaskExecStdioReadRequest> {
        Box::pin(futures_util::stream::unfold(Some(self), move |reading| {
            let exec = Arc::clone(&exec);
            async move {
                let mut reading = reading?;
                match reading.next(&exec).await {
                    Ok(data) => Some((Ok(TaskExecStdioReadResponse { data: data? }), Some(reading))),
                    Err(status) => Some((Err(status), None)),
                }
            }
        }))
    }

    async fn next(&mut self, exec: &Exec) -> Result<Option<Vec<u8>>, Status> {
        let most = locked(&self.vendor.faults).output_piece_bytes.unwrap_or(PIECE);
        let kept = match self.request.file_descriptor == i32::from(FileDescriptor::Stderr) {
            true => &exec.err,
            false => &exec.out,
        };
        let next = kept.from(self.at, most).await;
        let breaks = locked(&self.vendor.faults).breaks();
        match breaks {
            Some(Break::Unavailable) => return Err(Status::unavailable("not now")),
            Some(Break::Unauthenticated) => {
                self.vendor.revoke_tokens();
                return Err(Status::unauthenticated("the token is over"));
            }
            Some(Break::Connection) => {
                self.vendor.cut();
                return std::future::pending().await;
            }
            None => {}
        }
        self.at += next.as_ref().map_or(0, Vec::len);
        Ok(next)
    }
}

/// The service of all machines, told apart by the task that a call names.
#[derive(Debug, Clone)]
pub(super) struct Machines(pub(super) Arc<Vendor>);

impl Machines {
    fn find(&self, task: &str) -> Result<Arc<Machine>, Status> {
        let machine = self.0.machine(task);
        machine.ok_or_else(|| Status::not_found(format!("task {task} not found")))
    }

    fn exec(&self, task: &str, exec: &str) -> Result<Arc<Exec>, Status> {
        self.find(task)?.find(exec)
    }
}

impl Service for Machines {
    fn vendor(&self) -> &Arc<Vendor> {
        &self.0
    }

    async fn answer(self, path: String, asked: Asked) -> Answered {
        let bearer = asked.headers().get("authorization").and_then(|value| value.to_str().ok());
        if !bearer.is_some_and(|bearer| self.0.takes_token(bearer)) {
            self.0.refused.fetch_add(1, Ordering::Relaxed);
            return Status::unauthenticated("the token is not taken").into_http();
        }
        match path.as_str() {
            TaskExecStartRequest::PATH => {
                unary(asked, |request: TaskExecStartRequest| {
                    let this = self.clone();
                    async move {
                        this.find(&request.task_id)?.start(&request, &this.0)?;
                        Ok(TaskExecStartResponse {})
                    }
                })
                .await
            }
            TaskExecStdioReadRequest::PATH => {
                streaming(asked, |request: TaskExecStdioReadRequest| {
                    let this = self.clone();
                    async move {
                        let exec = this.exec(&request.task_id, &request.exec_id)?;
                        let at = usize::try_from(request.offset).unwrap_or(usize::MAX);
                        Ok(Reading { vendor: this.0, at, request }.answers(exec))
                    }
                })
                .await
            }
            TaskExecStdinWriteRequest::PATH => {
                unary(asked, |request: TaskExecStdinWriteRequest| {
                    let exec = self.exec(&request.task_id, &request.exec_id);
                    async move {
                        let exec = exec?;
                        // What was begun is finished, whoever listens: how much was written has to be known.
                        let writing = tokio::spawn(async move {
                            exec.write(request.offset, &request.data, request.eof).await
                        });
                        writing.await.map_err(|error| Status::internal(error.to_string()))??;
                        Ok(TaskExecStdinWriteResponse {})
                    }
                })
                .await
            }
            TaskExecStdinStatusRequest::PATH => {
                unary(asked, |request: TaskExecStdinStatusRequest| {
                    let exec = self.exec(&request.task_id, &request.exec_id);
                    async move { Ok(exec?.input().await) }
                })
                .await
            }
            TaskExecPollRequest::PATH => {
                unary(asked, |request: TaskExecPollRequest| {
                    let exec = self.exec(&request.task_id, &request.exec_id);
                    async move { Ok(TaskExecPollResponse { exit_status: exec?.ended() }) }
                })
                .await
            }
            TaskExecWaitRequest::PATH => {
                unary(asked, |request: TaskExecWaitRequest| {
                    let this = self.clone();
                    async move {
                        let exec = this.exec(&request.task_id, &request.exec_id)?;
                        let gone = this.0.gone(&request.task_id);
                        tokio::select! {
                            biased;
                            end = exec.end() => Ok(TaskExecWaitResponse { exit_status: Some(end) }),
                            () = gone => Err(Status::not_found("the task has ended")),
                        }
                    }
                })
                .await
            }
            other => Status::new(Code::Unimplemented, other).into_http(),
        }
    }
}
