//! Mail.

use ptyard_server::api::{MailboxInfo, MailboxRequest, MessageInfo, SendRequest};
use serde_json::json;

use super::call::{at, segment};
use super::{Client, ClientError};

/// How many messages are asked for at once.
const PAGE: usize = 1_000;

impl Client {
    /// Sends a message; waits as long as the request says.
    pub async fn send_message(
        &mut self,
        to: &str,
        request: &SendRequest,
    ) -> Result<MessageInfo, ClientError> {
        self.post(&at(to, "/inbox"), request).await
    }

    /// The messages of a terminal that are not delivered, or all that are kept; oldest first.
    pub async fn inbox(&mut self, id: &str, all: bool) -> Result<Vec<MessageInfo>, ClientError> {
        let mut messages: Vec<MessageInfo> = Vec::new();
        loop {
            let after = messages.last().map_or_else(String::new, |last| format!("&after={}", last.id));
            let path = at(id, &format!("/inbox?all={all}&most={PAGE}{after}"));
            let page: Vec<MessageInfo> = self.get(&path).await?;
            let is_last = page.len() < PAGE;
            messages.extend(page);
            if is_last {
                return Ok(messages);
            }
        }
    }

    /// How the inbox of a terminal stands.
    pub async fn mailbox(&mut self, id: &str) -> Result<MailboxInfo, ClientError> {
        self.get(&at(id, "/mailbox")).await
    }

    /// Says how the mail of a terminal is handed over.
    pub async fn set_mailbox(
        &mut self,
        id: &str,
        request: &MailboxRequest,
    ) -> Result<MailboxInfo, ClientError> {
        self.post(&at(id, "/mailbox"), request).await
    }

    /// A message.
    pub async fn message(&mut self, id: &str) -> Result<MessageInfo, ClientError> {
        self.get(&segment("/v1/messages/", id)).await
    }

    /// Does `what`, `retry` or `cancel`, to a message.
    pub async fn change_message(&mut self, id: &str, what: &str) -> Result<MessageInfo, ClientError> {
        self.post(&format!("{}/{what}", segment("/v1/messages/", id)), &json!({})).await
    }
}
