//! What each tool of a team does.

use std::collections::BTreeMap;

use ptyard_core::ErrorCode;
use ptyard_server::api::agents::{AnswerRequest, MemberInfo, SpeakerReply, TellRequest};
use serde_json::{Value, json};

use super::text;
use crate::client::Client;
use crate::failure::Failure;
use crate::mcp::Progress;
use crate::mcp::arguments::{Arguments, BadArgument};
use crate::mcp::calls::{Called, Caller, done, unknown_tool};
use crate::run::{PROFILES_VARIABLE, working_directory};

impl Caller {
    /// Calls a tool of a team.
    pub(in crate::mcp) async fn call_team(
        &self,
        tool: &str,
        arguments: &Arguments,
        progress: &Progress,
    ) -> Called {
        match tool {
            "launch" => self.launch(arguments).await,
            "handoff" => self.handoff(arguments, progress).await,
            "handoff_result" => self.handoff_result(arguments, progress).await,
            "assign" => self.assign(arguments).await,
            "send_message" => self.send_message(arguments).await,
            "read_inbox" => self.read_inbox(arguments).await,
            "answer_user_prompt" => self.answer_user_prompt(arguments).await,
            "get_status" => self.get_status(arguments).await,
            "list_agents" => self.list_agents(arguments).await,
            "list_profiles" => self.list_profiles().await,
            "delete_terminal" => self.delete_terminal(arguments).await,
            other => Err(unknown_tool(other)),
        }
    }

    async fn send_message(&self, arguments: &Arguments) -> Called {
        let to = arguments.id("receiver_id")?;
        let request = TellRequest { to, text: arguments.required_text("message")?, key: None };
        let mut client = self.connected().await?;
        let message = client.tell(&request).await?;
        let receiver = short_id(&mut client, &message.to).await;
        let told = format!("Message {} is stored for {receiver}, who gets it when ready.", message.id);
        let data = json!({
            "success": true,
            "message_id": message.id,
            "sender_id": message.from,
            "receiver_id": message.to,
            "state": message.state,
            "created_at": message.created_at,
        });
        Ok(done(told, &data))
    }

    async fn read_inbox(&self, arguments: &Arguments) -> Called {
        let mut client = self.connected().await?;
        let id = match arguments.id("terminal_id")? {
            Some(id) => id,
            None => client.speaker().await?.terminal.ok_or_else(|| BadArgument::missing("terminal_id"))?,
        };
        let messages = client.inbox(&id, arguments.flag("all", false)?).await?;
        Ok(done(text::messages(&messages), &json!({ "messages": messages })))
    }

    async fn answer_user_prompt(&self, arguments: &Arguments) -> Called {
        let id = required_id(arguments)?;
        let mut client = self.connected().await?;
        let target = client.info(&id).await?.id;
        if client.speaker().await?.terminal.as_ref() == Some(&target) {
            return Err(
                not_allowed("an agent does not answer its own questions", "the user answers them").into()
            );
        }
        let request = AnswerRequest { text: Some(arguments.required_text("answer")?), keys: None };
        let reply = client.answer(&id, &request).await?;
        let removed = match reply.removed {
            0 => String::new(),
            count => format!(" {count} characters were controls and were not typed."),
        };
        let data = json!({ "success": true, "terminal_id": id, "removed": reply.removed });
        Ok(done(format!("The answer was typed into terminal {id}.{removed}"), &data))
    }

    async fn get_status(&self, arguments: &Arguments) -> Called {
        let id = required_id(arguments)?;
        let status = self.connected().await?.status(&id, false).await?;
        Ok(done(text::status(&id, &status), &status))
    }

    async fn list_agents(&self, arguments: &Arguments) -> Called {
        let mut client = self.connected().await?;
        let session = match given(arguments, "session")? {
            None if !arguments.flag("all", false)? => client.speaker().await?.session,
            named => named,
        };
        let mut sessions = client.sessions().await?;
        sessions.retain(|one| session.as_ref().is_none_or(|name| one.name == *name));
        if let Some(name) = session.filter(|_| sessions.is_empty()) {
            // Refused in the words of the server.
            client.session(&name).await?;
        }
        let (mut lines, mut agents) = (Vec::new(), Vec::new());
        for session in &sessions {
            for member in &session.members {
                let (line, data) = agent(&mut client, &session.name, member).await;
                lines.push(line);
                agents.push(data);
            }
        }
        let told = if lines.is_empty() { "There are no agents.".to_owned() } else { lines.join("\n") };
        Ok(done(told, &json!({ "agents": agents })))
    }

    async fn list_profiles(&self) -> Called {
        let variable = std::env::var(PROFILES_VARIABLE).ok();
        let project = working_directory(None)?;
        let all = self.connected().await?.profiles(variable.as_deref(), &project).await?;
        Ok(done(text::profiles(&all), &json!({ "profiles": all })))
    }

    async fn delete_terminal(&self, arguments: &Arguments) -> Called {
        let id = required_id(arguments)?;
        let mut client = self.connected().await?;
        let target = client.info(&id).await?.id;
        let speaker = client.speaker().await?;
        if let Some(me) = &speaker.terminal {
            may_delete(&mut client, me, &target, &speaker).await?;
        }
        client.kill(&target, None).await?;
        client.remove(&target).await?;
        let data = json!({ "success": true, "terminal_id": id, "message": "deleted" });
        Ok(done(format!("Terminal {id} is ended and removed."), &data))
    }
}

/// An agent ends those that it started, and those that they started: nobody else's.
async fn may_delete(
    client: &mut Client,
    me: &str,
    target: &str,
    speaker: &SpeakerReply,
) -> Result<(), Failure> {
    if me == target {
        return Err(not_allowed("an agent does not delete its own terminal", "end your turn instead"));
    }
    let creators: BTreeMap<String, String> = client
        .sessions()
        .await?
        .into_iter()
        .flat_map(|session| session.members)
        .filter_map(|member| Some((member.id, member.creator?)))
        .collect();
    let mut at = target;
    // A chain of creators is at most as long as there are agents.
    for _ in 0..=creators.len() {
        match creators.get(at) {
            Some(creator) if creator == me => return Ok(()),
            Some(creator) => at = creator,
            None => break,
        }
    }
    let whose = speaker.session.as_deref().map_or_else(String::new, |name| format!(" of session {name}"));
    Err(not_allowed(
        &format!("terminal {target} was not started by you"),
        &format!("`list_agents` shows the agents{whose} and who started them"),
    ))
}

async fn agent(client: &mut Client, session: &str, member: &MemberInfo) -> (String, Value) {
    let status =
        client.status(&member.id, false).await.map_or_else(|_| "unknown".to_owned(), |reply| reply.status);
    let info = client.info(&member.id).await.ok();
    let name = info.as_ref().and_then(|info| info.name.clone());
    let short = info.and_then(|info| info.session_id);
    let id = short.map_or_else(|| member.id.clone(), |short| short.to_string());
    let what = member.profile.as_ref().unwrap_or(&member.provider);
    let called = name.as_deref().map_or_else(String::new, |name| format!(" ({})", text::one_line(name)));
    let creator = member.creator.as_deref().unwrap_or("a person");
    let line = format!("{id} {}{called} in {session}: {status}, started by {creator}", text::one_line(what));
    let data = json!({
        "terminal_id": id,
        "id": member.id,
        "name": name,
        "session": session,
        "profile": member.profile,
        "provider": member.provider,
        "creator": member.creator,
        "status": status,
    });
    (line, data)
}

/// The short id by which agents know a terminal, while it has one.
pub(super) async fn short_id(client: &mut Client, id: &str) -> String {
    let short = client.info(id).await.ok().and_then(|info| info.session_id);
    short.map_or_else(|| id.to_owned(), |short| short.to_string())
}

/// A text that may be left out; models leave out by an empty one, too.
pub(super) fn given(arguments: &Arguments, name: &str) -> Result<Option<String>, BadArgument> {
    Ok(arguments.text(name)?.filter(|text| !text.trim().is_empty()))
}

fn required_id(arguments: &Arguments) -> Result<String, BadArgument> {
    arguments.id("terminal_id")?.ok_or_else(|| BadArgument::missing("terminal_id"))
}

fn not_allowed(message: &str, hint: &str) -> Failure {
    Failure::new(ErrorCode::Forbidden, message).with_hint(hint)
}
