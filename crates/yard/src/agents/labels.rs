//! What is written on an agent for others to find it by, and to know it from.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::roster::Member;
use super::team;
use crate::error::YardError;
use crate::spec::TerminalRef;
use crate::state::unwritable;
use crate::yard::Yard;

/// What is written on an agent. The yard keeps it, and reads nothing into it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Labels {
    /// Where it belongs, from the widest circle to the closest.
    pub group: Option<Vec<String>>,
    /// Anything else.
    pub metadata: Option<Map<String, Value>>,
}

impl Labels {
    /// Whether it shares the first `depth` circles of `mine`, or all of them.
    #[must_use]
    pub fn is_near(&self, mine: &[String], depth: Option<usize>) -> bool {
        let shared = &mine[..depth.unwrap_or(mine.len()).min(mine.len())];
        !shared.is_empty() && self.group.as_deref().is_some_and(|group| group.starts_with(shared))
    }
}

impl Yard {
    /// Writes something else on an agent; it is on the disk when this returns.
    ///
    /// # Errors
    /// When no agent runs in the terminal, or the state cannot be written.
    pub fn relabel(&self, at: &TerminalRef, change: impl FnOnce(&mut Labels)) -> Result<Member, YardError> {
        let id = self.find(at)?.id();
        // Held meanwhile, so that of two changes the disk has the later one.
        let mut roster = self.inner.team.roster();
        let mut member = roster.member(id).cloned().ok_or_else(|| YardError::NoAgent(at.clone()))?;
        change(&mut member.labels);
        let directory = self.inner.state.terminal(id);
        team::keep(&member, &directory).map_err(|error| unwritable(&directory, &error))?;
        roster.relabel(id, member.labels.clone());
        Ok(member)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(circles: &[&str]) -> Vec<String> {
        circles.iter().map(|&circle| circle.to_owned()).collect()
    }

    #[test]
    fn near_is_who_shares_the_first_circles() {
        let other = Labels { group: Some(group(&["shop", "api", "tests"])), metadata: None };
        let mine = group(&["shop", "api", "docs"]);
        assert!(other.is_near(&mine, Some(1)) && other.is_near(&mine, Some(2)));
        assert!(!other.is_near(&mine, Some(3)) && !other.is_near(&mine, None));
        assert!(!other.is_near(&mine, Some(9)), "deeper than mine is all of mine");
        assert!(other.is_near(&mine[..2], Some(9)));
        assert!(!other.is_near(&[], None) && !other.is_near(&mine, Some(0)), "nobody has no group");
        assert!(!Labels::default().is_near(&mine, Some(1)));
    }
}
