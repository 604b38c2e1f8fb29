//! Messages of agents: from whom they are, to whom they go, and how they are put before their receiver.

use ptyard_core::TerminalId;
use ptyard_core::typed::Removed;

use super::error::AgentError;
use super::framing::{self, Purpose, Sender, Tag};
use super::launch::{LaunchSpec, Launched};
use crate::error::YardError;
use crate::ids;
use crate::inbox::{self, Message, Origin, SendSpec, Urgency};
use crate::spec::TerminalRef;
use crate::yard::Yard;

/// Longest first words of an agent, in bytes: what a message may have, less what is put around it.
pub(crate) const FIRST_WORDS_BYTES: usize = (1 << 20) - 4_096;

/// Who says something, or has it done: a terminal, a program outside of all terminals, or a person.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Voice {
    /// The terminal.
    pub terminal: Option<TerminalId>,
    /// What is known of one that is no terminal. Not looked at where a terminal speaks.
    pub origin: Option<Origin>,
}

impl From<Option<TerminalId>> for Voice {
    fn from(terminal: Option<TerminalId>) -> Self {
        Self { terminal, origin: None }
    }
}

/// A message that was accepted, and what its text lost.
#[derive(Debug, Clone)]
pub struct Told {
    /// The message.
    pub message: Message,
    /// What was removed from its text.
    pub removed: Removed,
}

impl Yard {
    /// Accepts a message of `speaker`; a terminal the yard knows by its token. Without a receiver it goes to who created
    /// the speaker. What agents say is framed; words of others are typed as they are.
    ///
    /// # Errors
    /// [`AgentError::Roster`] for a message to oneself, or to nobody.
    pub async fn tell(
        &self,
        speaker: impl Into<Voice>,
        to: Option<&TerminalRef>,
        text: &str,
        purpose: Purpose,
        key: Option<String>,
    ) -> Result<Told, YardError> {
        self.tell_urgently(speaker.into(), to, text, purpose, key, Urgency::Ready).await
    }

    /// The same, and how urgent it is.
    pub async fn tell_urgently(
        &self,
        speaker: Voice,
        to: Option<&TerminalRef>,
        text: &str,
        purpose: Purpose,
        key: Option<String>,
        urgency: Urgency,
    ) -> Result<Told, YardError> {
        let named = to.map(|at| Ok::<_, YardError>(self.find(at)?.id())).transpose()?;
        let receiver = match speaker.terminal {
            Some(speaker) => self.inner.team.roster().receiver(speaker, named).map_err(AgentError::from)?,
            None => named.ok_or_else(|| {
                YardError::InvalidArgument(
                    "a message of a person needs a receiver: name a terminal".to_owned(),
                )
            })?,
        };
        let (spec, removed) = self.put(&speaker, text, purpose);
        let message = self.send(&TerminalRef::Id(receiver), SendSpec { key, urgency, ..spec }).await?;
        Ok(Told { message, removed })
    }

    /// What a speaker says, as it is put before its receiver, and what it lost.
    pub(super) fn put(&self, speaker: &Voice, text: &str, purpose: Purpose) -> (SendSpec, Removed) {
        let terminal = speaker.terminal;
        let purpose =
            if terminal.is_none() && purpose == Purpose::Message { Purpose::Plain } else { purpose };
        let framed = framing::frame(text, purpose, &self.sender(terminal), Tag::new(ids::random_u32()));
        let spec = SendSpec {
            from: terminal.map(TerminalRef::Id),
            origin: speaker.origin.clone(),
            purpose: match purpose {
                Purpose::Plain | Purpose::Message => inbox::Purpose::Message,
                Purpose::Task => inbox::Purpose::Assign,
                Purpose::Handoff => inbox::Purpose::Handoff,
            },
            ..SendSpec::new(framed.text)
        };
        (spec, framed.removed)
    }

    /// Starts an agent and gives it work, of which it sends the result as a message.
    pub async fn assign(&self, spec: LaunchSpec, text: &str) -> Result<(Launched, Told), YardError> {
        self.start_with(spec, text, Purpose::Task).await
    }

    /// Starts an agent and gives it its first words, which are on disk when this returns; what its provider wants told
    /// before goes before. It goes on when the caller is gone.
    pub async fn start_with(
        &self,
        spec: LaunchSpec,
        text: &str,
        purpose: Purpose,
    ) -> Result<(Launched, Told), YardError> {
        check_first_words(text)?;
        let (yard, text) = (self.clone(), text.to_owned());
        abandoned_by_nobody(async move {
            let creator = spec.creator.clone();
            let launched = yard.launch(spec).await?;
            let to = TerminalRef::Id(launched.id);
            let told = yard.tell(creator, Some(&to), &text, purpose, None).await?;
            Ok((launched, told))
        })
        .await
    }

    /// The same with words as they are: for a caller that has put lines of its own around them.
    pub async fn start_verbatim(&self, spec: LaunchSpec, words: SendSpec) -> Result<Launched, YardError> {
        check_first_words(&words.text)?;
        let yard = self.clone();
        abandoned_by_nobody(async move {
            let launched = yard.launch(spec).await?;
            yard.send(&TerminalRef::Id(launched.id), words).await?;
            Ok(launched)
        })
        .await
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

/// Looks at the first words of an agent before it is started.
pub(super) fn check_first_words(text: &str) -> Result<(), YardError> {
    if text.trim().is_empty() {
        return Err(YardError::InvalidArgument("the message is empty".to_owned()));
    }
    if text.len() > FIRST_WORDS_BYTES {
        return Err(YardError::InputTooLarge { bytes: text.len(), most: FIRST_WORDS_BYTES });
    }
    Ok(())
}

/// Does in a task of its own what must not be left half done: a caller who vanishes drops no more than the answer.
pub(super) async fn abandoned_by_nobody<T: Send + 'static>(
    work: impl Future<Output = Result<T, YardError>> + Send + 'static,
) -> Result<T, YardError> {
    tokio::spawn(work).await.map_err(|error| YardError::Internal(error.to_string()))?
}
