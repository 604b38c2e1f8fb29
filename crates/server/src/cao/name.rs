//! What CAO's clients call terminals and sessions, and which ones of the yard these are. The only place that knows.
//!
//! A terminal is called by eight hexadecimal digits: the last bits of its id, which are drawn at random. They follow from
//! the id alone, so they are the same after a restart and nothing has to be kept. Two terminals with the same digits are
//! not expected in a yard's life (one in 8,000 with 1,000 of them); none of the two is found then.
//!
//! A session is called as it is in the yard, and those are its clients' whose name begins with `cao-`. Others are not
//! shown: `cao shutdown --all` must not end what it did not start.

use std::fmt;
use std::str::FromStr;

use ptyard_core::TerminalId;
use ptyard_yard::Yard;
use ptyard_yard::agents::Known;
use ptyard_yard::agents::roster::{Member, Session};

/// The variables by which CAO's clients find this server, and its directory.
pub(super) const HOST_VARIABLE: &str = "CAO_API_HOST";
pub(super) const PORT_VARIABLE: &str = "CAO_API_PORT";
pub(super) const HOME_VARIABLE: &str = "CAO_HOME_DIR";

/// What the name of each session begins with.
const PREFIX: &str = "cao-";

/// Longest name of a session that a client may give, in bytes: what the yard takes, less the prefix.
const SESSION_BYTES: usize = 60;

/// A terminal, as CAO's clients call it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tid(u32);

impl Tid {
    pub(super) const fn of(id: TerminalId) -> Self {
        Self((id.bits() & 0xffff_ffff) as u32)
    }

    /// The agent, if one is called so.
    pub(super) fn member(self, yard: &Yard) -> Option<Member> {
        let mut found = sessions(yard)
            .into_iter()
            .flat_map(|session| session.members)
            .filter(|member| Self::of(member.id) == self);
        match (found.next(), found.next()) {
            (Some(member), None) => Some(member),
            _ => None,
        }
    }
}

impl fmt::Display for Tid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:08x}", self.0)
    }
}

/// It is not eight lowercase hexadecimal digits.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NoTid;

impl FromStr for Tid {
    type Err = NoTid;

    fn from_str(text: &str) -> Result<Self, NoTid> {
        let is_tid = text.len() == 8 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        let bits = is_tid.then(|| u32::from_str_radix(text, 16).ok()).flatten();
        bits.map(Self).ok_or(NoTid)
    }
}

/// How an agent is known, if its session is one of those that CAO's clients see.
pub(super) fn alias(member: &Member) -> Option<Known> {
    let variables = || {
        vec![
            ("CAO_TERMINAL_ID", Tid::of(member.id).to_string()),
            ("CAO_SESSION_NAME", member.session.clone()),
        ]
    };
    member.session.starts_with(PREFIX).then(|| Known {
        variables: variables(),
        shared: &[HOST_VARIABLE, PORT_VARIABLE, HOME_VARIABLE],
        title: window(member),
    })
}

/// The window a terminal has: its profile and the first digits of what it is called.
pub(super) fn window(member: &Member) -> String {
    let digits = Tid::of(member.id).to_string();
    format!("{}-{}", member.profile.as_deref().unwrap_or(&member.provider), &digits[..4])
}

/// The sessions that CAO's clients see.
pub(super) fn sessions(yard: &Yard) -> Vec<Session> {
    yard.sessions().into_iter().filter(|session| session.name.as_str().starts_with(PREFIX)).collect()
}

/// A name that a client gives a session, in full; `None` when it is none.
pub(super) fn session(given: &str) -> Option<String> {
    let bare = given.strip_prefix(PREFIX).unwrap_or(given);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let is_name = (1..=SESSION_BYTES).contains(&bare.len()) && bare.bytes().all(plain);
    (is_name && !bare.starts_with('-')).then(|| format!("{PREFIX}{bare}"))
}

/// A name for a session that was given none.
pub(super) fn new_session(random: u32) -> String {
    format!("{PREFIX}{random:08x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_is_called_by_the_last_bits_of_its_id() {
        let tid = Tid::of(TerminalId::from_bits(0x0192_f0aa_bbcc_7ddd_8eee_ffff_0a00_1111));
        assert_eq!(tid.to_string(), "0a001111");
        assert_eq!("0a001111".parse(), Ok(tid));
        for bad in ["", "0a00111", "0a0011111", "0A001111", "+a001111", "0a00111g", "t0a00111"] {
            assert_eq!(bad.parse::<Tid>(), Err(NoTid), "{bad}");
        }
    }

    #[test]
    fn names_of_sessions_get_the_prefix_once() {
        for (given, full) in [("a", "cao-a"), ("cao-a_b-C", "cao-a_b-C"), ("_x", "cao-_x")] {
            assert_eq!(session(given).as_deref(), Some(full));
        }
        for bad in ["", "cao-", "-a", "a b", "a:b", "a.b", "ä", &"x".repeat(61)] {
            assert_eq!(session(bad), None, "{bad}");
        }
        assert!(session(&new_session(7)).is_some_and(|name| name == "cao-00000007"));
    }
}
