//! Calls about flows.

use ptyard_server::api::flows::{FlowInfo, FlowReply, FlowRequest, FlowRunInfo};
use serde_json::json;

use super::call::segment;
use super::{Client, ClientError};

impl Client {
    /// Adds a flow.
    pub async fn add_flow(&mut self, request: &FlowRequest) -> Result<FlowInfo, ClientError> {
        self.post("/v1/flows", request).await
    }

    /// All flows.
    pub async fn flows(&mut self) -> Result<Vec<FlowInfo>, ClientError> {
        self.get("/v1/flows").await
    }

    /// A flow and its newest runs.
    pub async fn flow(&mut self, name: &str, most: u32) -> Result<FlowReply, ClientError> {
        self.get(&format!("{}?most={most}", segment("/v1/flows/", name))).await
    }

    /// Forgets a flow and its runs.
    pub async fn remove_flow(&mut self, name: &str) -> Result<FlowInfo, ClientError> {
        self.ask("DELETE", &segment("/v1/flows/", name), None).await
    }

    /// Runs a flow now.
    pub async fn run_flow(&mut self, name: &str) -> Result<FlowRunInfo, ClientError> {
        self.post(&(segment("/v1/flows/", name) + "/run"), &json!({})).await
    }

    /// Does `what`, `pause` or `resume`, to a flow.
    pub async fn change_flow(&mut self, name: &str, what: &str) -> Result<FlowInfo, ClientError> {
        self.post(&format!("{}/{what}", segment("/v1/flows/", name)), &json!({})).await
    }
}
