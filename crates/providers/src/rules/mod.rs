//! Rules: what a screen says about the program that drew it.
//!
//! Every row is of some classes ([`anchor`]); a rule is a list of [`term`]s about classes and places, and the
//! first rule whose terms all hold wins. No rule, no verdict: what is not known is never taken for ready.

pub(crate) mod anchor;
pub(crate) mod rows;
pub(crate) mod term;

use ptyard_core::turn::{Question, Rule as RuleName};

use crate::manifest::RuleStatus;
use rows::Rows;
use term::{AnchorIndex, Term};

/// One rule.
#[derive(Debug, Clone)]
pub(crate) struct Rule {
    pub(crate) name: RuleName,
    pub(crate) status: RuleStatus,
    pub(crate) kind: Option<Question>,
    /// The last row of this class says what is asked.
    pub(crate) asks: Option<AnchorIndex>,
    pub(crate) when: Vec<Term>,
}

/// The first rule that holds.
pub(crate) fn first<'r>(rules: &'r [Rule], rows: &Rows) -> Option<&'r Rule> {
    rules.iter().find(|rule| rule.when.iter().all(|term| rows.holds(term)))
}
