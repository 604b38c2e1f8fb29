//! What each tool of a team does.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use ptyard_core::ErrorCode;
use ptyard_server::api::agents::{
    AnswerRequest, HandoffReply, LaunchReply, LaunchRequest, MemberInfo, SpeakerReply, TellRequest,
    WorkRequest,
};
use serde_json::{Value, json};

use super::text;
use crate::client::Client;
use crate::environment;
use crate::failure::Failure;
use crate::mcp::arguments::{Arguments, BadArgument};
use crate::mcp::calls::{Called, Caller, Refusal, done, unknown_tool};
use crate::mcp::{Answer, Outcome, Progress};
use crate::run::{PROFILES_VARIABLE, working_directory};

/// How often a client that asked for it is told that a handoff is still going: often enough for people to see that
/// something moves, and far below the timeouts of clients.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// The status of an agent that asks something.
const WAITS: &str = "waiting_user_answer";

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

    async fn launch(&self, arguments: &Arguments) -> Called {
        let request = LaunchRequest {
            profile: given(arguments, "agent_profile")?,
            session: given(arguments, "session")?,
            name: given(arguments, "name")?,
            message: given(arguments, "message")?,
            ..worker(arguments)?
        };
        let reply = self.place.client().await?.launch(&request).await?;
        let told = format!("Agent {} works in session {}.", reply.session_id, text::one_line(&reply.session));
        Ok(done(with_notices(told, &reply), &reply))
    }

    async fn handoff(&self, arguments: &Arguments, progress: &Progress) -> Called {
        let patience = seconds(arguments, 1, 600)?;
        let profile = arguments.required_text("agent_profile")?;
        let request = WorkRequest {
            worker: LaunchRequest { profile: Some(profile.clone()), ..worker(arguments)? },
            text: arguments.required_text("message")?,
            // Its id is to be known before it is waited for.
            timeout_ms: Some(0),
            keep: false,
        };
        let begun = Instant::now();
        let mut client = self.place.client().await?;
        let handoff = client.hand_off(&request).await?;
        let short = short_id(&mut client, &handoff.worker).await;
        let (handoff, asks) = self.await_handoff(handoff, &short, patience, progress).await?;
        Ok(told_handoff(&handoff, asks.as_deref(), &short, &format!("handoff to {profile}"), begun.elapsed()))
    }

    async fn handoff_result(&self, arguments: &Arguments, progress: &Progress) -> Called {
        let mut client = self.place.client().await?;
        let Some(id) = given(arguments, "handoff_id")? else {
            let all = client.handoffs().await?;
            return Ok(done(text::handoffs(&all), &json!({ "handoffs": all })));
        };
        let begun = Instant::now();
        let patience = seconds(arguments, 0, 0)?;
        let handoff = client.handoff(&id, 0).await?;
        let short = short_id(&mut client, &handoff.worker).await;
        let (handoff, asks) = self.await_handoff(handoff, &short, patience, progress).await?;
        Ok(told_handoff(&handoff, asks.as_deref(), &short, &format!("handoff {id}"), begun.elapsed()))
    }

    /// Waits for a handoff and tells how it goes, until its worker asks something; then what it asks comes with it. Dropped,
    /// it leaves the handoff going.
    async fn await_handoff(
        &self,
        mut handoff: HandoffReply,
        worker: &str,
        patience: Duration,
        progress: &Progress,
    ) -> Result<(HandoffReply, Option<String>), Failure> {
        let begun = Instant::now();
        loop {
            let left = patience.saturating_sub(begun.elapsed());
            if handoff.state != "open" || left.is_zero() {
                return Ok((handoff, None));
            }
            // Nobody else may be there to answer, and who waits for the result cannot.
            let status = self.place.client().await?.status(&handoff.worker, false).await;
            if let Some(status) = status.ok().filter(|status| status.status == WAITS) {
                return Ok((handoff, Some(text::status(worker, &status))));
            }
            let told = format!("handoff {}: agent {worker} is at work", handoff.id);
            progress.tell(begun.elapsed(), patience, &told).await;
            let step = u64::try_from(left.min(PROGRESS_EVERY).as_millis()).unwrap_or(u64::MAX).max(1);
            handoff = self.asked_again(&handoff.id, step).await?;
        }
    }

    /// A handoff as it stands, from the next server when one was replaced while it was asked.
    async fn asked_again(&self, id: &str, timeout_ms: u64) -> Result<HandoffReply, Failure> {
        loop {
            match self.place.client().await?.handoff(id, timeout_ms).await.map_err(Failure::from) {
                Err(failure) if failure.code() == Some(ErrorCode::Replaced) => {}
                answered => return answered,
            }
        }
    }

    async fn assign(&self, arguments: &Arguments) -> Called {
        let profile = arguments.required_text("agent_profile")?;
        let request = WorkRequest {
            worker: LaunchRequest { profile: Some(profile.clone()), ..worker(arguments)? },
            text: arguments.required_text("message")?,
            ..WorkRequest::default()
        };
        let reply = self.place.client().await?.assign(&request).await?;
        let id = reply.worker.session_id.to_string();
        let then = match &reply.worker.agent.creator {
            Some(_me) => {
                "Its result comes to you as a message: end your turn when nothing else is to be done, do not poll."
            }
            None => "`get_status` tells what it does.",
        };
        let told = format!("Task assigned to {profile} (terminal: {id}). {then}");
        let told = with_notices(told, &reply.worker);
        let data = json!({
            "success": true,
            "terminal_id": id,
            "message": told,
            "message_id": reply.message,
            "worker": reply.worker,
        });
        Ok(done(told, &data))
    }

    async fn send_message(&self, arguments: &Arguments) -> Called {
        let to = arguments.id("receiver_id")?;
        let request = TellRequest { to, text: arguments.required_text("message")?, key: None };
        let mut client = self.place.client().await?;
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
        let mut client = self.place.client().await?;
        let id = match arguments.id("terminal_id")? {
            Some(id) => id,
            None => client.speaker().await?.terminal.ok_or_else(|| BadArgument::missing("terminal_id"))?,
        };
        let messages = client.inbox(&id, arguments.flag("all", false)?).await?;
        Ok(done(text::messages(&messages), &json!({ "messages": messages })))
    }

    async fn answer_user_prompt(&self, arguments: &Arguments) -> Called {
        let id = required_id(arguments)?;
        let mut client = self.place.client().await?;
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
        let status = self.place.client().await?.status(&id, false).await?;
        Ok(done(text::status(&id, &status), &status))
    }

    async fn list_agents(&self, arguments: &Arguments) -> Called {
        let mut client = self.place.client().await?;
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
        let all = self.place.client().await?.profiles(variable.as_deref(), &project).await?;
        Ok(done(text::profiles(&all), &json!({ "profiles": all })))
    }

    async fn delete_terminal(&self, arguments: &Arguments) -> Called {
        let id = required_id(arguments)?;
        let mut client = self.place.client().await?;
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

fn told_handoff(
    handoff: &HandoffReply,
    asks: Option<&str>,
    worker: &str,
    what: &str,
    took: Duration,
) -> Answer {
    let result = handoff.result.as_deref().map(text::plain);
    let seconds = took.as_secs_f64();
    let later = format!("`handoff_result` with handoff_id {} returns its answer later.", handoff.id);
    let (text, outcome) = match (handoff.state.as_str(), asks) {
        ("done", _) => (result.clone().unwrap_or_default(), Outcome::Done),
        ("open", Some(asks)) => (
            format!("The {what} waits for an answer. {asks} `answer_user_prompt` answers it; {later}"),
            Outcome::Done,
        ),
        ("open", None) => (
            format!(
                "The {what} is not done after {seconds:.1} seconds: agent {worker} is still at it. It goes on; {later}"
            ),
            Outcome::Done,
        ),
        _ => (
            format!(
                "The {what} failed: {}\nHint: `get_status` tells what agent {worker} does; `delete_terminal` ends it",
                result.as_deref().unwrap_or("no reason is known")
            ),
            Outcome::Refused,
        ),
    };
    let message = match handoff.state.as_str() {
        "done" => format!("Successfully finished the {what} in {seconds:.2}s"),
        _ => text.clone(),
    };
    let data = json!({
        "success": handoff.state == "done",
        "message": message,
        "output": result.filter(|_| handoff.state == "done"),
        "terminal_id": worker,
        "handoff_id": handoff.id,
        "state": handoff.state,
    });
    Answer { text, data, outcome }
}

fn with_notices(told: String, reply: &LaunchReply) -> String {
    reply.notices.iter().fold(told, |told, notice| format!("{told}\nNote: {}", text::one_line(notice)))
}

/// The short id by which agents know a terminal, while it has one.
async fn short_id(client: &mut Client, id: &str) -> String {
    let short = client.info(id).await.ok().and_then(|info| info.session_id);
    short.map_or_else(|| id.to_owned(), |short| short.to_string())
}

/// What every agent that is started has, but for its profile.
fn worker(arguments: &Arguments) -> Result<LaunchRequest, Refusal> {
    let directory = given(arguments, "working_directory")?;
    Ok(LaunchRequest {
        provider: given(arguments, "provider")?,
        model: given(arguments, "model")?,
        cwd: Some(working_directory(directory.as_deref().map(Path::new))?),
        caller_env: environment::of_caller(),
        profiles: std::env::var(PROFILES_VARIABLE).ok(),
        ..LaunchRequest::default()
    })
}

/// A text that may be left out; models leave out by an empty one, too.
fn given(arguments: &Arguments, name: &str) -> Result<Option<String>, BadArgument> {
    Ok(arguments.text(name)?.filter(|text| !text.trim().is_empty()))
}

fn required_id(arguments: &Arguments) -> Result<String, BadArgument> {
    arguments.id("terminal_id")?.ok_or_else(|| BadArgument::missing("terminal_id"))
}

fn seconds(arguments: &Arguments, min: u64, default: u64) -> Result<Duration, BadArgument> {
    // More than there can be means as much as there can be.
    Ok(Duration::from_secs(arguments.number("timeout", min)?.unwrap_or(default).min(3_600)))
}

fn not_allowed(message: &str, hint: &str) -> Failure {
    Failure::new(ErrorCode::Forbidden, message).with_hint(hint)
}
