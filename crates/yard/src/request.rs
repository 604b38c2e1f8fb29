//! From what was asked to what can be done: validation in one place, before anything happens.

use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::window::{Call, Condition, Ends, WindowLimits};

use crate::error::YardError;
use crate::spec::WindowSpec;

/// A window that can be taken.
#[derive(Debug, Clone)]
pub(crate) struct WindowPlan {
    pub(crate) conditions: Vec<Condition>,
    pub(crate) cap_tokens: i64,
    pub(crate) yields: Duration,
}

impl WindowPlan {
    pub(crate) fn of(spec: &WindowSpec, call: Call) -> Result<Self, YardError> {
        let conditions = parse_conditions(&spec.until)?;
        let ends = if conditions.is_empty() { Ends::AtDeadline } else { Ends::OnConditions };
        let yields = WindowLimits::yield_time(call, ends, spec.yield_ms.map(i128::from));
        Ok(Self { conditions, cap_tokens: WindowLimits::max_tokens(spec.max_tokens)?, yields })
    }

    pub(crate) fn deadline(&self, started: Moment) -> Moment {
        started + self.yields
    }
}

pub(crate) fn parse_conditions(texts: &[String]) -> Result<Vec<Condition>, YardError> {
    Ok(Condition::parse_all(texts)?)
}
