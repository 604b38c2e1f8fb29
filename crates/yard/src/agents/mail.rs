//! Messages of agents: from whom they are, to whom they go, and how they are put before their receiver.

use ptyard_core::TerminalId;
use ptyard_core::typed::Removed;

use super::error::AgentError;
use super::framing::{self, Purpose, Sender, Tag};
use super::launch::{LaunchSpec, Launched};
use crate::error::YardError;
use crate::ids;
use crate::inbox::{self, Message, SendSpec, Urgency};
use crate::spec::TerminalRef;
use crate::yard::Yard;

/// A message that was accepted, and what its text lost.
#[derive(Debug, Clone)]
pub struct Told {
    /// The message.
    pub message: Message,
    /// What was removed from its text.
    pub removed: Removed,
}

impl Yard {
    /// Accepts a message of `speaker`, whom the yard knows by its token; `None` is a person. Without a receiver it goes
    /// to who created the speaker. What agents say is framed; a person's words are typed as they are.
    ///
    /// # Errors
    /// [`AgentError::Roster`] for a message to oneself, or to nobody.
    pub async fn tell(
        &self,
        speaker: Option<TerminalId>,
        to: Option<&TerminalRef>,
        text: &str,
        purpose: Purpose,
        key: Option<String>,
    ) -> Result<Told, YardError> {
        self.tell_urgently(speaker, to, text, purpose, key, Urgency::Ready).await
    }

    /// The same, and how urgent it is.
    pub async fn tell_urgently(
        &self,
        speaker: Option<TerminalId>,
        to: Option<&TerminalRef>,
        text: &str,
        purpose: Purpose,
        key: Option<String>,
        urgency: Urgency,
    ) -> Result<Told, YardError> {
        let named = to.map(|at| Ok::<_, YardError>(self.find(at)?.id())).transpose()?;
        let receiver = match speaker {
            Some(speaker) => self.inner.team.roster().receiver(speaker, named).map_err(AgentError::from)?,
            None => {
                named.ok_or_else(|| YardError::InvalidArgument("a message needs a receiver".to_owned()))?
            }
        };
        let purpose = if speaker.is_none() && purpose == Purpose::Message { Purpose::Plain } else { purpose };
        let framed = framing::frame(text, purpose, &self.sender(speaker), Tag::new(ids::random_u32()));
        let spec = SendSpec {
            from: speaker.map(TerminalRef::Id),
            purpose: match purpose {
                Purpose::Plain | Purpose::Message => inbox::Purpose::Message,
                Purpose::Task => inbox::Purpose::Assign,
                Purpose::Handoff => inbox::Purpose::Handoff,
            },
            key,
            urgency,
            ..SendSpec::new(framed.text)
        };
        let message = self.send(&TerminalRef::Id(receiver), spec).await?;
        Ok(Told { message, removed: framed.removed })
    }

    /// Starts an agent and gives it work, of which it sends the result as a message.
    pub async fn assign(&self, spec: LaunchSpec, text: &str) -> Result<(Launched, Told), YardError> {
        self.start_with(spec, text, Purpose::Task).await
    }

    /// Starts an agent and gives it its first words; what its provider wants told before goes before.
    pub async fn start_with(
        &self,
        spec: LaunchSpec,
        text: &str,
        purpose: Purpose,
    ) -> Result<(Launched, Told), YardError> {
        if text.trim().is_empty() {
            return Err(YardError::InvalidArgument("the message is empty".to_owned()));
        }
        let creator = spec.creator;
        let launched = self.launch(spec).await?;
        let told = self.tell(creator, Some(&TerminalRef::Id(launched.id)), text, purpose, None).await?;
        Ok((launched, told))
    }

    fn sender(&self, speaker: Option<TerminalId>) -> Sender {
        let Some(id) = speaker else { return Sender::Person };
        let entry = self.find(&TerminalRef::Id(id)).ok();
        let short = entry.as_ref().map(|entry| entry.tell_short().to_string());
        let profile = || self.inner.team.roster().member(id).and_then(|member| member.profile.clone());
        let name = entry.and_then(|entry| entry.record.name.clone()).or_else(profile);
        Sender::Terminal { id: short.unwrap_or_else(|| id.to_string()), name }
    }
}
