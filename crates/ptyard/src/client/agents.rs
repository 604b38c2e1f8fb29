//! Calls about agents.

use ptyard_server::api::agents::{
    AnswerReply, AnswerRequest, AssignReply, HandoffReply, HookRequest, LaunchReply, LaunchRequest,
    ProfileInfo, ProviderInfo, SessionInfo, SpeakerReply, StatusReply, TellRequest, WorkRequest,
};
use ptyard_server::api::{Done, MessageInfo};
use serde_json::{Value, json};

use super::call::{at, escaped};
use super::{Client, ClientError};

impl Client {
    /// Starts an agent.
    pub async fn launch(&mut self, request: &LaunchRequest) -> Result<LaunchReply, ClientError> {
        self.post("/v1/agents", request).await
    }

    /// Starts a worker, gives it work and waits for what it answers.
    pub async fn hand_off(&mut self, request: &WorkRequest) -> Result<HandoffReply, ClientError> {
        self.post("/v1/handoffs", request).await
    }

    /// For whom this client speaks.
    pub async fn speaker(&mut self) -> Result<SpeakerReply, ClientError> {
        self.get("/v1/speaker").await
    }

    /// Says something in the name of who speaks.
    pub async fn tell(&mut self, request: &TellRequest) -> Result<MessageInfo, ClientError> {
        self.post("/v1/messages", request).await
    }

    /// The newest handoffs of who speaks.
    pub async fn handoffs(&mut self) -> Result<Vec<HandoffReply>, ClientError> {
        self.get("/v1/handoffs").await
    }

    /// A handoff, once it is settled or `timeout_ms` milliseconds are over.
    pub async fn handoff(&mut self, id: &str, timeout_ms: u64) -> Result<HandoffReply, ClientError> {
        self.get(&format!("/v1/handoffs/{}?timeout_ms={timeout_ms}", escaped(id))).await
    }

    /// Starts a worker and gives it work, whose result comes as a message.
    pub async fn assign(&mut self, request: &WorkRequest) -> Result<AssignReply, ClientError> {
        self.post("/v1/assignments", request).await
    }

    /// What an agent does.
    pub async fn status(&mut self, id: &str, explain: bool) -> Result<StatusReply, ClientError> {
        self.get(&at(id, if explain { "/status?explain=true" } else { "/status" })).await
    }

    /// Says that nothing is under way in a terminal.
    pub async fn reset(&mut self, id: &str) -> Result<Done, ClientError> {
        self.post(&at(id, "/reset"), &json!({})).await
    }

    /// Answers what an agent asks.
    pub async fn answer(&mut self, id: &str, request: &AnswerRequest) -> Result<AnswerReply, ClientError> {
        self.post(&at(id, "/answer"), request).await
    }

    /// All sessions.
    pub async fn sessions(&mut self) -> Result<Vec<SessionInfo>, ClientError> {
        self.get("/v1/sessions").await
    }

    /// One session.
    pub async fn session(&mut self, name: &str) -> Result<SessionInfo, ClientError> {
        self.get(&format!("/v1/sessions/{}", escaped(name))).await
    }

    /// Ends all programs of a session and removes its terminals.
    pub async fn shut_down_session(&mut self, name: &str) -> Result<SessionInfo, ClientError> {
        self.ask("DELETE", &format!("/v1/sessions/{}", escaped(name)), None).await
    }

    /// Tells what a hook of the agent whose terminal the caller speaks for was told.
    pub async fn hook(&mut self, words: &str, told: Value) -> Result<Done, ClientError> {
        self.post("/v1/hook", &HookRequest { words: words.to_owned(), told }).await
    }

    /// All providers, in the editions that the server uses.
    pub async fn providers(&mut self) -> Result<Vec<ProviderInfo>, ClientError> {
        self.get("/v1/providers").await
    }

    /// All profiles, for a caller with this `PTYARD_PROFILES` in this directory.
    pub async fn profiles(
        &mut self,
        variable: Option<&str>,
        project: &str,
    ) -> Result<Vec<ProfileInfo>, ClientError> {
        let variable =
            variable.map_or_else(String::new, |variable| format!("&variable={}", escaped(variable)));
        self.get(&format!("/v1/profiles?project={}{variable}", escaped(project))).await
    }
}
