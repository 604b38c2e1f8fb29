//! The wire types: what HTTP requests and replies hold, as JSON.
//!
//! | method and path | request | reply |
//! |---|---|---|
//! | POST /v1/terminals | [`ExecRequest`] | [`WindowReply`] |
//! | POST /v1/adopt | [`AdoptRequest`] | [`WindowReply`] |
//! | GET /v1/terminals | | array of [`TerminalInfo`] |
//! | GET /v1/terminals/{id} | | [`TerminalInfo`] |
//! | DELETE /v1/terminals/{id} | | [`Done`] |
//! | POST /v1/terminals/{id}/write | [`WriteRequest`] | [`WindowReply`] |
//! | GET /v1/terminals/{id}/output?since=&max_bytes= | | [`ReadReply`], or raw bytes with `Accept: application/octet-stream` |
//! | GET /v1/terminals/{id}/screen?scrollback=&format=text\|ansi\|json | | [`ScreenReply`], or `text/plain` |
//! | POST /v1/terminals/{id}/wait | [`WaitRequest`] | [`WaitReply`] |
//! | POST /v1/terminals/{id}/resize | [`ResizeRequest`] | [`Done`] |
//! | POST /v1/terminals/{id}/signal | [`SignalRequest`] | [`Done`] |
//! | POST /v1/terminals/{id}/close-stdin | | [`Done`] |
//! | POST /v1/terminals/{id}/kill | [`KillRequest`] | [`KillReply`] |
//! | GET /v1/terminals/{id}/stream?since= | WebSocket, see [`stream`] | |
//! | GET /v1/terminals/{id}/status?explain= | | [`agents::StatusReply`] |
//! | POST /v1/terminals/{id}/reset | | [`Done`] |
//! | POST /v1/terminals/{id}/answer | [`agents::AnswerRequest`] | [`agents::AnswerReply`] |
//! | POST /v1/agents | [`agents::LaunchRequest`] | [`agents::LaunchReply`] |
//! | POST /v1/handoffs | [`agents::WorkRequest`] | [`agents::HandoffReply`] |
//! | GET /v1/handoffs | | array of [`agents::HandoffReply`], the speaker's |
//! | GET /v1/handoffs/{id}?timeout_ms= | | [`agents::HandoffReply`] |
//! | POST /v1/assignments | [`agents::WorkRequest`] | [`agents::AssignReply`] |
//! | GET /v1/sessions | | array of [`agents::SessionInfo`] |
//! | GET, DELETE /v1/sessions/{name} | | [`agents::SessionInfo`] |
//! | GET /v1/profiles?variable=&project= | | array of [`agents::ProfileInfo`] |
//! | GET /v1/providers | | array of [`agents::ProviderInfo`] |
//! | POST /v1/flows | [`flows::FlowRequest`] | [`flows::FlowInfo`] |
//! | GET /v1/flows | | array of [`flows::FlowInfo`] |
//! | GET /v1/flows/{name}?most= | | [`flows::FlowReply`] |
//! | DELETE /v1/flows/{name} | | [`flows::FlowInfo`] |
//! | POST /v1/flows/{name}/run | | [`flows::FlowRunInfo`] |
//! | POST /v1/flows/{name}/pause, /v1/flows/{name}/resume | | [`flows::FlowInfo`] |
//! | POST /v1/terminals/{id}/inbox | [`SendRequest`] | [`MessageInfo`] |
//! | GET /v1/terminals/{id}/inbox?all=&after=&most= | | array of [`MessageInfo`] |
//! | GET /v1/speaker | | [`agents::SpeakerReply`] |
//! | POST /v1/hook | [`agents::HookRequest`], by the terminal whose hook it is | [`Done`] |
//! | POST /v1/messages | [`agents::TellRequest`] | [`MessageInfo`] |
//! | GET /v1/messages/{mid} | | [`MessageInfo`] |
//! | POST /v1/messages/{mid}/retry, /v1/messages/{mid}/cancel | | [`MessageInfo`] |
//! | GET /v1/events?since= | `Last-Event-ID` | SSE of [`Event`], `id:` is its `seq` |
//! | GET /v1/version | | [`Version`] |
//! | POST /v1/gc | [`leftovers::SweepRequest`] | [`leftovers::SweepReply`] |
//! | GET /v1/openapi.json | | the description of all this |
//! | POST /v1/stop | | [`Done`] |
//! | POST /v1/replace | | [`Leaving`] |
//! | GET /healthz | | `ok` as text; needs no token |
//!
//! `{id}` is the full id, the short integer or a unique name. Every refusal is an [`ErrorReply`].
//!
//! A program in a terminal of the yard speaks for that terminal with the headers `Ptyard-Terminal` and
//! `Ptyard-Terminal-Token`, which it finds as `PTYARD_TERMINAL` and `PTYARD_TOKEN` in its environment. Without them
//! the sender is a person; with wrong ones the request is refused.
//!
//! On the Unix socket no token is needed. On TCP every request carries `Authorization: Bearer TOKEN`; a browser's
//! WebSocket offers the subprotocols `ptyard.v1` and `ptyard.token.TOKEN` instead.

pub mod agents;
pub mod flows;
pub mod leftovers;
mod mail;
mod reply;
mod request;
pub mod stream;

pub use mail::{AwaitMail, Batching, MailboxInfo, MailboxRequest, MessageInfo, SendRequest, Urgency};
pub use reply::{
    Done, ErrorBody, ErrorReply, Event, ExitInfo, KillReply, Leaving, LimitsInfo, LogInfo, ReadReply,
    ScreenCursor, ScreenReply, SizeInfo, TerminalInfo, Version, WaitReply, WindowReply,
};
pub use request::{
    AdoptRequest, ClientPolicy, ExecRequest, Input, KillRequest, LimitsRequest, ResizeRequest, SignalRequest,
    StdinKind, WaitRequest, WindowRequest, WriteRequest,
};

/// The protocol number: raised when a client or server of before could not be understood.
pub const PROTOCOL: u32 = 1;
