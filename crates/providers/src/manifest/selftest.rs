//! The tests a manifest carries.

use std::sync::Arc;

use ptyard_core::{Moment, Size};
use ptyard_screen::new_screen;
use toml::Spanned;

use super::raw::RawSelftest;
use super::{ManifestError, Provider};
use crate::answer::Reader;
use crate::judge::{Ledger, Reading};

/// When a test looks: everything has settled.
const LATER: Moment = Moment::from_millis(60_000);

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
    let mut bytes = Vec::new();
    for (at, line) in test.screen.trim_end().lines().enumerate() {
        bytes.extend_from_slice(if at == 0 { b"" } else { b"\r\n" });
        bytes.extend_from_slice(line.as_bytes());
    }
    if test.cursor_hidden {
        bytes.extend_from_slice(b"\x1b[?25l");
    }
    let mut screen = new_screen(size, 0);
    screen.feed(&bytes, Moment::EPOCH);
    let mut reading = Reading::new(Arc::clone(provider));
    reading.look(&screen.view(0, Moment::EPOCH), bytes.len() as u64, Moment::EPOCH);
    let finding = reading.finding(LATER);
    let mut ledger = Ledger::after(test.turns);
    let (evidence, _) = ledger.weigh(finding.evidence, &finding.composer, provider.ready(), LATER);
    if evidence.status != test.status {
        let (expected, found, rule) = (test.status, evidence.status, evidence.rule);
        return Err(format!("a test of its own says {expected}, the rules say {found} ({rule})"));
    }
    if let Some(rule) = &test.rule
        && evidence.rule.as_str() != format!("{}.{rule}", provider.id())
    {
        return Err(format!("a test of its own expects rule `{rule}`, and `{}` held", evidence.rule));
    }
    let Some(expected) = &test.answer else { return Ok(()) };
    let mut reader = Reader::new(Arc::clone(provider), size);
    reader.feed(&bytes, Moment::EPOCH);
    let answer = reader.answer(LATER).map(|answer| answer.text).unwrap_or_default();
    if answer != expected.trim_end() {
        return Err(format!("a test of its own expects another answer than {answer:?}"));
    }
    Ok(())
}
