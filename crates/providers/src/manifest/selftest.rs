//! The tests a manifest carries.

use std::sync::Arc;

use ptyard_core::{Moment, Size};
use ptyard_screen::new_screen;
use toml::Spanned;

use super::raw::RawSelftest;
use super::{ManifestError, Provider};
use crate::judge::{Composer, Judge, Ledger};

/// Runs the tests; the first one that fails is the error.
pub(super) fn run(
    provider: &Arc<Provider>,
    source: &str,
    tests: &[Spanned<RawSelftest>],
) -> Result<(), ManifestError> {
    for test in tests {
        let failed = |message: String| ManifestError::at(source, test.span().start, message);
        run_one(provider, test.get_ref()).map_err(failed)?;
    }
    Ok(())
}

fn run_one(provider: &Arc<Provider>, test: &RawSelftest) -> Result<(), String> {
    let size = Size::new(120, 40).map_err(|error| error.to_string())?;
    let mut screen = new_screen(size, 0);
    let mut bytes = Vec::new();
    for (at, line) in test.screen.lines().enumerate() {
        bytes.extend_from_slice(if at == 0 { b"" } else { b"\r\n" });
        bytes.extend_from_slice(line.as_bytes());
    }
    screen.feed(&bytes, Moment::EPOCH);
    let view = screen.view(0, Moment::EPOCH);
    let mut judge = Judge::new(Arc::clone(provider));
    judge.look(&view, bytes.len() as u64, Moment::EPOCH);
    let now = Moment::from_millis(60_000);
    let evidence = Ledger::after(test.turns)
        .weigh(judge.finding(now).evidence, &Composer::Unseen, provider.ready(), now)
        .0;
    if evidence.status != test.status {
        return Err(format!(
            "a test of its own says {}, the rules say {} ({})",
            test.status, evidence.status, evidence.rule
        ));
    }
    match &test.rule {
        Some(rule) if evidence.rule.as_str() != format!("{}.{rule}", provider.id()) => {
            Err(format!("a test of its own expects rule `{rule}`, and `{}` held", evidence.rule))
        }
        _ => Ok(()),
    }
}
