//! `modal.task_command_router.TaskCommandRouter`: programs in a sandbox, on the machine where it runs.

use std::collections::BTreeMap;

use prost::{Enumeration, Message, Oneof};

use crate::calls;

calls! {
    "modal.task_command_router.TaskCommandRouter":
    "TaskExecPoll" TaskExecPollRequest => TaskExecPollResponse;
    "TaskExecStart" TaskExecStartRequest => TaskExecStartResponse;
    "TaskExecStdinStatus" TaskExecStdinStatusRequest => TaskExecStdinStatusResponse;
    "TaskExecStdinWrite" TaskExecStdinWriteRequest => TaskExecStdinWriteResponse;
    "TaskExecStdioRead" TaskExecStdioReadRequest => TaskExecStdioReadResponse;
    "TaskExecWait" TaskExecWaitRequest => TaskExecWaitResponse;
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum StdoutConfig {
    Devnull = 0,
    Pipe = 1,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum StderrConfig {
    Devnull = 0,
    Pipe = 1,
    /// The same pipe as the output, in the order of writing.
    Stdout = 2,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum FileDescriptor {
    Stdout = 0,
    Stderr = 1,
}

/// `modal.client.PTYInfo`.
#[derive(Clone, PartialEq, Message)]
pub struct PtyInfo {
    #[prost(bool, tag = "1")]
    pub enabled: bool,
    #[prost(uint32, tag = "2")]
    pub winsz_rows: u32,
    #[prost(uint32, tag = "3")]
    pub winsz_cols: u32,
    #[prost(string, tag = "4")]
    pub env_term: String,
    #[prost(string, tag = "5")]
    pub env_colorterm: String,
    #[prost(enumeration = "PtyType", tag = "7")]
    pub pty_type: i32,
    #[prost(bool, tag = "8")]
    pub no_terminate_on_idle_stdin: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum PtyType {
    Unspecified = 0,
    Function = 1,
    Shell = 2,
}

/// Starts a program. Sent twice with the same `exec_id` it starts one. Values of variables are not shown.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct TaskExecStartRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
    #[prost(string, tag = "2")]
    pub exec_id: String,
    #[prost(string, repeated, tag = "3")]
    pub command_args: Vec<String>,
    #[prost(enumeration = "StdoutConfig", tag = "4")]
    pub stdout_config: i32,
    #[prost(enumeration = "StderrConfig", tag = "5")]
    pub stderr_config: i32,
    #[prost(uint32, optional, tag = "6")]
    pub timeout_secs: Option<u32>,
    #[prost(string, optional, tag = "7")]
    pub workdir: Option<String>,
    #[prost(message, optional, tag = "9")]
    pub pty_info: Option<PtyInfo>,
    #[prost(btree_map = "string, string", tag = "12")]
    pub env: BTreeMap<String, String>,
    /// Later clients give variables here and not in `env`.
    #[prost(message, repeated, tag = "13")]
    pub secret_sources: Vec<SecretSource>,
}

impl std::fmt::Debug for TaskExecStartRequest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskExecStartRequest")
            .field("exec_id", &self.exec_id)
            .field("command_args", &self.command_args)
            .finish_non_exhaustive()
    }
}

/// `modal.client.SecretSource`.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct SecretSource {
    #[prost(oneof = "Source", tags = "1, 2")]
    pub source: Option<Source>,
}

impl std::fmt::Debug for SecretSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SecretSource").finish_non_exhaustive()
    }
}

#[derive(Clone, PartialEq, Oneof)]
#[prost(skip_debug)]
pub enum Source {
    #[prost(string, tag = "1")]
    SecretId(String),
    #[prost(message, tag = "2")]
    Env(StringMap),
}

impl std::fmt::Debug for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Source(..)")
    }
}

/// `modal.client.StringMap`.
#[derive(Clone, PartialEq, Message)]
pub struct StringMap {
    #[prost(btree_map = "string, string", tag = "1")]
    pub contents: BTreeMap<String, String>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStartResponse {}

/// Reads what a program has printed, from a byte on, and goes on until its end.
#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStdioReadRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
    #[prost(string, tag = "2")]
    pub exec_id: String,
    #[prost(uint64, tag = "3")]
    pub offset: u64,
    #[prost(enumeration = "FileDescriptor", tag = "4")]
    pub file_descriptor: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStdioReadResponse {
    /// Never empty.
    #[prost(bytes = "vec", tag = "1")]
    pub data: Vec<u8>,
}

/// Types. What was written before, by offset, is not written again.
#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStdinWriteRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
    #[prost(string, tag = "2")]
    pub exec_id: String,
    #[prost(uint64, tag = "3")]
    pub offset: u64,
    #[prost(bytes = "vec", tag = "4")]
    pub data: Vec<u8>,
    #[prost(bool, tag = "5")]
    pub eof: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStdinWriteResponse {}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStdinStatusRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecStdinStatusResponse {
    #[prost(uint64, tag = "1")]
    pub num_bytes_written: u64,
    #[prost(bool, tag = "2")]
    pub closed: bool,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecPollRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecPollResponse {
    /// Not set while it runs.
    #[prost(oneof = "ExitStatus", tags = "1, 2")]
    pub exit_status: Option<ExitStatus>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecWaitRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
    #[prost(string, tag = "2")]
    pub exec_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskExecWaitResponse {
    /// Not set while it runs.
    #[prost(oneof = "ExitStatus", tags = "1, 2")]
    pub exit_status: Option<ExitStatus>,
}

/// How a program ended.
#[derive(Clone, Copy, PartialEq, Eq, Oneof)]
pub enum ExitStatus {
    #[prost(int32, tag = "1")]
    Code(i32),
    #[prost(int32, tag = "2")]
    Signal(i32),
}
