//! Who works with whom: sessions, their conductors, and who created whom.
//!
//! Pure. The roster is the only place that decides who a message goes to and what nobody may do.

use std::collections::BTreeMap;

use ptyard_core::{ErrorCode, TerminalId};
use ptyard_store::SessionName;
use serde::{Deserialize, Serialize};

use super::labels::Labels;

/// How deep work may be handed down: an agent that a person started is at 0. Deeper chains are agents that start
/// agents without end, never a plan.
pub const DEEPEST: u8 = 8;

/// From this many terminals on, whoever adds one to a session is told how many there are.
pub const CROWD: usize = 10;

/// An agent, as far as others work with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its terminal.
    pub id: TerminalId,
    /// The session it works in.
    pub session: String,
    /// Who created it; `None` is a person or the calendar.
    pub creator: Option<TerminalId>,
    /// What it was started as.
    pub profile: Option<String>,
    /// What it runs on.
    pub provider: String,
    /// How many agents stand between it and a person.
    pub depth: u8,
    /// The tools that whoever started it let it use, in that one's words; `None` when nothing was said of them.
    #[serde(default)]
    pub tools: Option<Vec<String>>,
    /// What is written on it.
    #[serde(default)]
    pub labels: Labels,
}

/// Who works with whom.
///
/// # Invariants
/// 1. The conductor of a session is a member of it, or nobody.
/// 2. A member is in one session, which exists.
/// 3. A session with members that never lost its conductor is led by its first one.
#[derive(Debug, Clone, Default)]
pub struct Roster {
    members: BTreeMap<TerminalId, Member>,
    sessions: BTreeMap<SessionName, Option<TerminalId>>,
}

/// Why something is not done.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RosterError {
    /// A message to oneself.
    #[error("terminal {0} would send to itself")]
    SelfSend(TerminalId),
    /// No receiver was named, and nobody created the sender.
    #[error("no receiver was named, and terminal {0} was started by a person: name one")]
    NoReceiver(TerminalId),
    /// Agents start agents start agents.
    #[error(
        "work was handed down {DEEPEST} times already; do this piece yourself, or answer that it is too much"
    )]
    TooDeep,
    /// There is no such session.
    #[error("there is no session {0}")]
    UnknownSession(String),
    /// The session is there already.
    #[error("there is a session {0} already")]
    SessionTaken(SessionName),
}

impl RosterError {
    /// The stable code.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        match self {
            Self::SelfSend(_) => ErrorCode::SelfSend,
            Self::NoReceiver(_) => ErrorCode::NoReceiver,
            Self::TooDeep => ErrorCode::TooDeep,
            Self::UnknownSession(_) => ErrorCode::UnknownSession,
            Self::SessionTaken(_) => ErrorCode::NameTaken,
        }
    }
}

/// A session and who is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Session {
    /// Its name.
    pub name: SessionName,
    /// Who leads it.
    pub conductor: Option<TerminalId>,
    /// Everybody, oldest first.
    pub members: Vec<Member>,
}

impl Roster {
    /// A roster of what an earlier server knew. A conductor that is not there any more leads nothing.
    #[must_use]
    pub fn restored(sessions: Vec<(SessionName, Option<TerminalId>)>, members: Vec<Member>) -> Self {
        let mut roster = Self { members: BTreeMap::new(), sessions: sessions.into_iter().collect() };
        for member in members {
            if let Some(name) = SessionName::new(member.session.clone()) {
                roster.sessions.entry(name).or_default();
                roster.members.insert(member.id, member);
            }
        }
        let members = &roster.members;
        for (name, conductor) in &mut roster.sessions {
            *conductor =
                conductor.filter(|id| members.get(id).is_some_and(|member| member.session == name.as_str()));
        }
        roster.check();
        roster
    }

    /// The session a new agent works in, and its depth: that of its creator unless another is named. Nothing changes.
    ///
    /// # Errors
    /// [`RosterError::TooDeep`].
    pub fn place(
        &self,
        creator: Option<TerminalId>,
        session: Option<SessionName>,
    ) -> Result<(Option<SessionName>, u8), RosterError> {
        let Some(creator) = creator.and_then(|id| self.members.get(&id)) else { return Ok((session, 0)) };
        let depth = creator.depth + 1;
        if depth > DEEPEST {
            return Err(RosterError::TooDeep);
        }
        Ok((session.or_else(|| SessionName::new(creator.session.clone())), depth))
    }

    /// Adds a member. The first one of a session leads it, and makes it.
    pub fn join(&mut self, member: Member) {
        if let Some(name) = SessionName::new(member.session.clone()) {
            let id = member.id;
            self.sessions.entry(name).or_insert(Some(id));
            self.members.insert(id, member);
        }
        self.check();
    }

    /// Takes a member off. Its session goes with the last one; the name says so.
    pub fn leave(&mut self, id: TerminalId) -> Option<(Member, Option<SessionName>)> {
        let member = self.members.remove(&id)?;
        let name = SessionName::new(member.session.clone())?;
        let is_empty = !self.members.values().any(|other| other.session == member.session);
        if is_empty {
            self.sessions.remove(&name);
        } else if let Some(conductor) = self.sessions.get_mut(&name) {
            *conductor = conductor.filter(|leads| *leads != id);
        }
        self.check();
        Some((member, is_empty.then_some(name)))
    }

    /// A member.
    #[must_use]
    pub fn member(&self, id: TerminalId) -> Option<&Member> {
        self.members.get(&id)
    }

    /// Writes something else on a member.
    pub fn relabel(&mut self, id: TerminalId, labels: Labels) {
        if let Some(member) = self.members.get_mut(&id) {
            member.labels = labels;
        }
    }

    /// Who gets a message of `sender`: who was named, else who created it.
    ///
    /// # Errors
    /// [`RosterError::SelfSend`], [`RosterError::NoReceiver`].
    pub fn receiver(&self, sender: TerminalId, named: Option<TerminalId>) -> Result<TerminalId, RosterError> {
        let creator = || self.members.get(&sender).and_then(|member| member.creator);
        match named.or_else(creator) {
            Some(receiver) if receiver == sender => Err(RosterError::SelfSend(sender)),
            Some(receiver) => Ok(receiver),
            None => Err(RosterError::NoReceiver(sender)),
        }
    }

    /// A session.
    ///
    /// # Errors
    /// [`RosterError::UnknownSession`].
    pub fn session(&self, name: &str) -> Result<Session, RosterError> {
        let unknown = || RosterError::UnknownSession(name.to_owned());
        let name = SessionName::new(name).ok_or_else(unknown)?;
        let conductor = *self.sessions.get(&name).ok_or_else(unknown)?;
        Ok(self.seen(name, conductor))
    }

    /// All sessions, by name.
    #[must_use]
    pub fn sessions(&self) -> Vec<Session> {
        self.sessions.iter().map(|(name, conductor)| self.seen(name.clone(), *conductor)).collect()
    }

    /// What whoever adds to a session should know.
    #[must_use]
    pub fn crowd(&self, session: &str) -> Option<String> {
        let count = self.members.values().filter(|member| member.session == session).count();
        (count >= CROWD)
            .then(|| format!("this session has {count} terminals; delete those whose work is done"))
    }

    fn seen(&self, name: SessionName, conductor: Option<TerminalId>) -> Session {
        let members =
            self.members.values().filter(|member| member.session == name.as_str()).cloned().collect();
        Session { name, conductor, members }
    }

    fn check(&self) {
        debug_assert!(
            self.sessions.iter().all(|(name, conductor)| conductor.is_none_or(|id| self
                .members
                .get(&id)
                .is_some_and(|member| member.session == name.as_str()))),
            "invariant 1"
        );
        debug_assert!(
            self.members.values().all(|member| SessionName::new(member.session.clone())
                .is_some_and(|name| self.sessions.contains_key(&name))),
            "invariant 2"
        );
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const A: TerminalId = TerminalId::from_bits(1);
    const B: TerminalId = TerminalId::from_bits(2);
    const C: TerminalId = TerminalId::from_bits(3);

    fn member(id: TerminalId, session: &str, creator: Option<TerminalId>) -> Member {
        let (session, provider) = (session.to_owned(), "generic".to_owned());
        Member {
            id,
            session,
            creator,
            profile: None,
            provider,
            depth: 0,
            tools: None,
            labels: Labels::default(),
        }
    }

    fn team() -> Roster {
        let mut roster = Roster::default();
        roster.join(member(A, "team", None));
        roster.join(member(B, "team", Some(A)));
        roster
    }

    #[test]
    fn the_first_one_leads_and_the_last_one_closes() {
        let mut roster = team();
        assert_eq!(roster.session("team").unwrap().conductor, Some(A));
        assert_eq!(roster.leave(A).unwrap().1, None);
        let session = roster.session("team").unwrap();
        assert_eq!((session.conductor, session.members.len()), (None, 1));
        assert_eq!(roster.leave(B).unwrap().1.unwrap().as_str(), "team");
        assert_eq!(roster.session("team"), Err(RosterError::UnknownSession("team".to_owned())));
        assert_eq!(roster.leave(B), None);
    }

    #[test]
    fn a_message_goes_to_who_was_named_else_to_the_creator() {
        let roster = team();
        assert_eq!(roster.receiver(B, None), Ok(A));
        assert_eq!(roster.receiver(B, Some(C)), Ok(C));
        assert_eq!(roster.receiver(A, None), Err(RosterError::NoReceiver(A)));
    }

    #[test]
    fn case_sec06_nobody_sends_to_itself() {
        let mut roster = team();
        assert_eq!(roster.receiver(A, Some(A)), Err(RosterError::SelfSend(A)));
        // Not even when its own id came to stand as its creator's.
        roster.join(member(C, "team", Some(C)));
        assert_eq!(roster.receiver(C, None), Err(RosterError::SelfSend(C)));
    }

    #[test]
    fn case_sec06_work_is_not_handed_down_without_end() {
        let mut roster = Roster::default();
        roster.join(member(TerminalId::from_bits(0), "deep", None));
        for n in 1..=u128::from(DEEPEST) {
            let creator = TerminalId::from_bits(n - 1);
            let (session, depth) = roster.place(Some(creator), None).unwrap();
            assert_eq!((session.unwrap().as_str(), u128::from(depth)), ("deep", n));
            let member = Member { depth, ..member(TerminalId::from_bits(n), "deep", Some(creator)) };
            roster.join(member);
        }
        let last = TerminalId::from_bits(DEEPEST.into());
        assert_eq!(roster.place(Some(last), None), Err(RosterError::TooDeep));
        assert_eq!(roster.place(None, None), Ok((None, 0)), "a person begins anew");
    }

    #[test]
    fn a_crowd_is_told() {
        let mut roster = Roster::default();
        for n in 0..CROWD as u128 {
            assert_eq!(roster.crowd("team"), None);
            roster.join(member(TerminalId::from_bits(n), "team", None));
        }
        assert!(roster.crowd("team").unwrap().contains("10 terminals"));
    }

    #[test]
    fn what_an_earlier_server_knew_is_taken_as_far_as_it_holds() {
        let name = |name: &str| SessionName::new(name).unwrap();
        let sessions = vec![(name("team"), Some(A)), (name("gone"), Some(C)), (name("other"), Some(B))];
        let roster = Roster::restored(sessions, vec![member(A, "team", None), member(B, "team", Some(A))]);
        assert_eq!(roster.session("team").unwrap().conductor, Some(A));
        assert_eq!(roster.session("gone").unwrap().conductor, None);
        assert_eq!(roster.session("other").unwrap().conductor, None, "it works elsewhere now");
    }

    proptest! {
        #[test]
        fn the_invariants_hold_whatever_comes_and_goes(
            steps in prop::collection::vec((any::<bool>(), 0_u128..6, 0_u8..3, prop::option::of(0_u128..6)), 0..60),
        ) {
            let mut roster = Roster::default();
            for (joins, id, session, creator) in steps {
                let id = TerminalId::from_bits(id);
                if joins && roster.member(id).is_none() {
                    roster.join(member(id, &format!("s{session}"), creator.map(TerminalId::from_bits)));
                } else {
                    roster.leave(id);
                }
                let sessions = roster.sessions();
                let members: usize = sessions.iter().map(|session| session.members.len()).sum();
                prop_assert_eq!(members, roster.members.len());
                prop_assert!(sessions.iter().all(|session| !session.members.is_empty()));
                prop_assert_ne!(roster.receiver(id, creator.map(TerminalId::from_bits)), Ok(id));
            }
        }
    }
}
