//! `modal.client.ModalClient`: apps, images, sandboxes, and the way to the machine on which one runs.

use prost::{Enumeration, Message};

use crate::calls;

calls! {
    "modal.client.ModalClient":
    "ClientHello" ClientHelloRequest => ClientHelloResponse;
    "AppGetOrCreate" AppGetOrCreateRequest => AppGetOrCreateResponse;
    "EnvironmentGetOrCreate" EnvironmentGetOrCreateRequest => EnvironmentGetOrCreateResponse;
    "ImageGetOrCreate" ImageGetOrCreateRequest => ImageGetOrCreateResponse;
    "ImageJoinStreaming" ImageJoinStreamingRequest => ImageJoinStreamingResponse;
    "SandboxCreate" SandboxCreateRequest => SandboxCreateResponse;
    "SandboxGetFromName" SandboxGetFromNameRequest => SandboxGetFromNameResponse;
    "SandboxGetTaskId" SandboxGetTaskIdRequest => SandboxGetTaskIdResponse;
    "SandboxTerminate" SandboxTerminateRequest => SandboxTerminateResponse;
    "SandboxWait" SandboxWaitRequest => SandboxWaitResponse;
    "TaskGetCommandRouterAccess" TaskGetCommandRouterAccessRequest => TaskGetCommandRouterAccessResponse;
}

/// `google.protobuf.Empty` on the wire.
#[derive(Clone, PartialEq, Message)]
pub struct ClientHelloRequest {}

#[derive(Clone, PartialEq, Message)]
pub struct ClientHelloResponse {
    #[prost(string, tag = "2")]
    pub image_builder_version: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum ObjectCreationType {
    Unspecified = 0,
    CreateIfMissing = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct AppGetOrCreateRequest {
    #[prost(string, tag = "1")]
    pub app_name: String,
    #[prost(string, tag = "2")]
    pub environment_name: String,
    #[prost(enumeration = "ObjectCreationType", tag = "3")]
    pub object_creation_type: i32,
}

#[derive(Clone, PartialEq, Message)]
pub struct AppGetOrCreateResponse {
    #[prost(string, tag = "1")]
    pub app_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnvironmentGetOrCreateRequest {
    #[prost(string, tag = "1")]
    pub deployment_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnvironmentGetOrCreateResponse {
    #[prost(string, tag = "1")]
    pub environment_id: String,
    #[prost(message, optional, tag = "2")]
    pub metadata: Option<EnvironmentMetadata>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnvironmentMetadata {
    #[prost(string, tag = "1")]
    pub name: String,
    #[prost(message, optional, tag = "2")]
    pub settings: Option<EnvironmentSettings>,
}

#[derive(Clone, PartialEq, Message)]
pub struct EnvironmentSettings {
    #[prost(string, tag = "1")]
    pub image_builder_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct Image {
    #[prost(string, repeated, tag = "6")]
    pub dockerfile_commands: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum DeploymentNamespace {
    Unspecified = 0,
    Workspace = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct ImageGetOrCreateRequest {
    #[prost(message, optional, tag = "2")]
    pub image: Option<Image>,
    #[prost(string, tag = "4")]
    pub app_id: String,
    #[prost(enumeration = "DeploymentNamespace", tag = "8")]
    pub namespace: i32,
    #[prost(string, tag = "9")]
    pub builder_version: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ImageGetOrCreateResponse {
    #[prost(string, tag = "1")]
    pub image_id: String,
    /// Not set while it is being built.
    #[prost(message, optional, tag = "2")]
    pub result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct ImageJoinStreamingRequest {
    #[prost(string, tag = "1")]
    pub image_id: String,
    /// In seconds.
    #[prost(float, tag = "2")]
    pub timeout: f32,
    #[prost(string, tag = "3")]
    pub last_entry_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct ImageJoinStreamingResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<GenericResult>,
    #[prost(string, tag = "3")]
    pub entry_id: String,
    #[prost(bool, tag = "4")]
    pub eof: bool,
}

/// What became of something; unspecified while it goes on.
#[derive(Clone, PartialEq, Message)]
pub struct GenericResult {
    #[prost(enumeration = "GenericStatus", tag = "1")]
    pub status: i32,
    #[prost(string, tag = "2")]
    pub exception: String,
    #[prost(int32, tag = "3")]
    pub exitcode: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum GenericStatus {
    Unspecified = 0,
    Success = 1,
    Failure = 2,
    Terminated = 3,
    Timeout = 4,
}

#[derive(Clone, PartialEq, Message)]
pub struct Sandbox {
    #[prost(string, repeated, tag = "1")]
    pub entrypoint_args: Vec<String>,
    #[prost(string, tag = "3")]
    pub image_id: String,
    /// What it may use; empty for the vendor's own measure.
    #[prost(message, optional, tag = "5")]
    pub resources: Option<Resources>,
    /// The longest it may live.
    #[prost(uint32, tag = "7")]
    pub timeout_secs: u32,
    #[prost(string, optional, tag = "8")]
    pub workdir: Option<String>,
    #[prost(message, optional, tag = "22")]
    pub network_access: Option<NetworkAccess>,
    /// Of all that run in an app, one has it.
    #[prost(string, optional, tag = "30")]
    pub name: Option<String>,
    /// How long it lives while nothing runs in it.
    #[prost(uint32, optional, tag = "33")]
    pub idle_timeout_secs: Option<u32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct Resources {
    #[prost(uint32, tag = "2")]
    pub memory_mb: u32,
    #[prost(uint32, tag = "5")]
    pub memory_mb_max: u32,
}

#[derive(Clone, PartialEq, Message)]
pub struct NetworkAccess {
    #[prost(enumeration = "NetworkAccessType", tag = "1")]
    pub network_access_type: i32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Enumeration)]
#[repr(i32)]
pub enum NetworkAccessType {
    Unspecified = 0,
    Open = 1,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxCreateRequest {
    #[prost(string, tag = "1")]
    pub app_id: String,
    #[prost(message, optional, tag = "2")]
    pub definition: Option<Sandbox>,
    #[prost(string, tag = "3")]
    pub environment_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxCreateResponse {
    #[prost(string, tag = "1")]
    pub sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxGetFromNameRequest {
    #[prost(string, tag = "1")]
    pub sandbox_name: String,
    #[prost(string, tag = "2")]
    pub environment_name: String,
    #[prost(string, tag = "3")]
    pub app_name: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxGetFromNameResponse {
    #[prost(string, tag = "1")]
    pub sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxGetTaskIdRequest {
    #[prost(string, tag = "1")]
    pub sandbox_id: String,
    /// How long the answer may be held back while there is none, in seconds.
    #[prost(float, optional, tag = "2")]
    pub timeout: Option<f32>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxGetTaskIdResponse {
    /// Not set while no machine was found for it.
    #[prost(string, optional, tag = "1")]
    pub task_id: Option<String>,
    /// Set when it has ended.
    #[prost(message, optional, tag = "2")]
    pub task_result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxTerminateRequest {
    #[prost(string, tag = "1")]
    pub sandbox_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxTerminateResponse {
    #[prost(message, optional, tag = "1")]
    pub existing_result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxWaitRequest {
    #[prost(string, tag = "1")]
    pub sandbox_id: String,
    /// In seconds; 0 asks and does not wait.
    #[prost(float, tag = "2")]
    pub timeout: f32,
}

#[derive(Clone, PartialEq, Message)]
pub struct SandboxWaitResponse {
    #[prost(message, optional, tag = "1")]
    pub result: Option<GenericResult>,
}

#[derive(Clone, PartialEq, Message)]
pub struct TaskGetCommandRouterAccessRequest {
    #[prost(string, tag = "1")]
    pub task_id: String,
}

/// Where a sandbox's machine is, and the token for it, which is not shown.
#[derive(Clone, PartialEq, Message)]
#[prost(skip_debug)]
pub struct TaskGetCommandRouterAccessResponse {
    #[prost(string, tag = "1")]
    pub jwt: String,
    #[prost(string, tag = "2")]
    pub url: String,
}

impl std::fmt::Debug for TaskGetCommandRouterAccessResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TaskGetCommandRouterAccessResponse").field("url", &self.url).finish_non_exhaustive()
    }
}
