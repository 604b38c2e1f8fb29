//! Starting agents and giving them work.

use std::path::Path;
use std::time::{Duration, Instant};

use ptyard_core::ErrorCode;
use ptyard_server::api::agents::{HandoffReply, LaunchReply, LaunchRequest, WorkRequest};
use serde_json::json;

use super::calls::{given, short_id};
use super::text;
use crate::environment;
use crate::failure::Failure;
use crate::mcp::arguments::{Arguments, BadArgument};
use crate::mcp::calls::{Called, Caller, Refusal, done};
use crate::mcp::{Answer, Outcome, Progress};
use crate::run::{PROFILES_VARIABLE, working_directory};

/// How often a client that asked for it is told that a handoff is still going: often enough for people to see that
/// something moves, and far below the timeouts of clients.
const PROGRESS_EVERY: Duration = Duration::from_secs(2);

/// The status of an agent that asks something.
const WAITS: &str = "waiting_user_answer";

impl Caller {
    pub(super) async fn launch(&self, arguments: &Arguments) -> Called {
        let request = LaunchRequest {
            profile: given(arguments, "agent_profile")?,
            session: given(arguments, "session")?,
            name: given(arguments, "name")?,
            message: given(arguments, "message")?,
            ..worker(arguments)?
        };
        let reply = self.connected().await?.launch(&request).await?;
        let told = format!("Agent {} works in session {}.", reply.session_id, text::one_line(&reply.session));
        Ok(done(with_notices(told, &reply), &reply))
    }

    pub(super) async fn handoff(&self, arguments: &Arguments, progress: &Progress) -> Called {
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
        let mut client = self.connected().await?;
        let handoff = client.hand_off(&request).await?;
        let short = short_id(&mut client, &handoff.worker).await;
        let (handoff, asks) = self.await_handoff(handoff, &short, patience, progress).await?;
        Ok(told_handoff(&handoff, asks.as_deref(), &short, &format!("handoff to {profile}"), begun.elapsed()))
    }

    pub(super) async fn handoff_result(&self, arguments: &Arguments, progress: &Progress) -> Called {
        let mut client = self.connected().await?;
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
            let status = self.connected().await?.status(&handoff.worker, false).await;
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
            match self.connected().await?.handoff(id, timeout_ms).await.map_err(Failure::from) {
                Err(failure) if failure.code() == Some(ErrorCode::Replaced) => {}
                answered => return answered,
            }
        }
    }

    pub(super) async fn assign(&self, arguments: &Arguments) -> Called {
        let profile = arguments.required_text("agent_profile")?;
        let request = WorkRequest {
            worker: LaunchRequest { profile: Some(profile.clone()), ..worker(arguments)? },
            text: arguments.required_text("message")?,
            ..WorkRequest::default()
        };
        let reply = self.connected().await?.assign(&request).await?;
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

fn seconds(arguments: &Arguments, min: u64, default: u64) -> Result<Duration, BadArgument> {
    // More than there can be means as much as there can be.
    Ok(Duration::from_secs(arguments.number("timeout", min)?.unwrap_or(default).min(3_600)))
}
