//! From the file to a provider, with every name and pattern checked.

use std::ops::Range;
use std::time::Duration;

use ptyard_core::turn::{Rule as RuleName, Status};
use regex::Regex;
use toml::Spanned;

use super::error::ManifestError;
use super::raw::{RawAnchor, RawAnswer, RawComposer, RawManifest, RawSelftest, RawTitle};
use super::{
    AnswerRule, ComposerPlace, ComposerRule, DialogRule, ENGINE, Origin, Provider, RuleStatus, TitleRule,
};
use crate::rules::Rule;
use crate::rules::anchor::{self, Anchor};
use crate::rules::term::{AnchorIndex, MAX_ANCHORS, Term};

/// Largest manifest, in bytes.
const MAX_SOURCE: usize = 256 * 1024;

/// Most rules of one manifest.
const MAX_RULES: usize = 128;

/// How long a title may say that work is over while the screen shows it still, in milliseconds: frames lag by less.
const MAX_OVER_MS: u64 = 2_000;

/// Reads a manifest; the tests it carries come back beside it.
pub(super) fn compile(
    source: &str,
    origin: Origin,
) -> Result<(Provider, Vec<Spanned<RawSelftest>>), ManifestError> {
    if source.len() > MAX_SOURCE {
        return Err(ManifestError::at(source, 0, format!("more than {MAX_SOURCE} bytes")));
    }
    let raw: RawManifest = toml::from_str(source).map_err(|error| {
        ManifestError::at(source, error.span().map_or(0, |span| span.start), error.message())
    })?;
    let scope = Scope { source, anchors: anchors(source, &raw)? };
    scope.check(raw, origin)
}

fn anchors(source: &str, raw: &RawManifest) -> Result<Vec<Anchor>, ManifestError> {
    if raw.anchors.len() > MAX_ANCHORS {
        return Err(ManifestError::at(source, 0, format!("more than {MAX_ANCHORS} anchors")));
    }
    let compile = |patterns: &[String], span: Range<usize>| -> Result<Vec<Regex>, ManifestError> {
        let compiled = patterns.iter().map(|pattern| anchor::compile(pattern));
        compiled.collect::<Result<_, _>>().map_err(|error| ManifestError::at(source, span.start, error))
    };
    let anchor = |(name, anchor): (&Spanned<String>, &Spanned<RawAnchor>)| {
        let span = anchor.span();
        let (any, not, filled) = match anchor.get_ref() {
            RawAnchor::One(pattern) => (std::slice::from_ref(pattern), &[][..], None),
            RawAnchor::Any(patterns) => (&patterns[..], &[][..], None),
            RawAnchor::Full(full) => (&full.any[..], &full.not[..], full.filled),
        };
        let (any, not) = (compile(any, span.clone())?, compile(not, span)?);
        Ok(Anchor { name: name.get_ref().as_str().into(), any, not, filled })
    };
    raw.anchors.iter().map(anchor).collect()
}

/// What is needed to check the rest.
struct Scope<'s> {
    source: &'s str,
    anchors: Vec<Anchor>,
}

impl Scope<'_> {
    fn check(
        self,
        raw: RawManifest,
        origin: Origin,
    ) -> Result<(Provider, Vec<Spanned<RawSelftest>>), ManifestError> {
        self.identity(&raw)?;
        let rules = self.rules(&raw)?;
        let dialogs = self.dialogs(&raw, &rules, origin)?;
        let titles = raw.title.iter().map(|title| self.title(raw.id.get_ref(), title));
        let titles = titles.collect::<Result<_, _>>()?;
        let composer = raw.composer.as_ref().map(|raw| self.composer(raw)).transpose()?;
        let answer = raw.answer.as_ref().map(|raw| self.answer(raw)).transpose()?;
        let provider = Provider {
            id: raw.id.into_inner().into(),
            name: raw.name.into(),
            version: raw.version.into_inner().into(),
            tested: raw.tested,
            origin,
            launch: raw.launch,
            input: raw.input,
            native: raw.native,
            ready: raw.ready,
            titles,
            anchors: self.anchors,
            rules,
            composer,
            dialogs,
            answer,
        };
        Ok((provider, raw.selftest))
    }

    fn error(&self, span: Range<usize>, message: impl Into<String>) -> ManifestError {
        ManifestError::at(self.source, span.start, message)
    }

    fn identity(&self, raw: &RawManifest) -> Result<(), ManifestError> {
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
        let id = raw.id.get_ref();
        if id.is_empty() || id.len() > 64 || !id.chars().all(is_word) {
            return Err(self.error(raw.id.span(), "an id has 1 to 64 of a-z, 0-9 and _"));
        }
        let parts: Vec<&str> = raw.version.get_ref().split('.').collect();
        if parts.len() != 3 || parts.iter().any(|part| part.parse::<u32>().is_err()) {
            return Err(self.error(raw.version.span(), "a version is three numbers with dots"));
        }
        if *raw.engine.get_ref() > ENGINE {
            let message = format!("made for engine {}; this one is {ENGINE}", raw.engine.get_ref());
            return Err(self.error(raw.engine.span(), message));
        }
        Ok(())
    }

    fn title(&self, id: &str, raw: &Spanned<RawTitle>) -> Result<TitleRule, ManifestError> {
        let (span, title) = (raw.span(), raw.get_ref());
        let status = *title.status.get_ref();
        match status {
            Status::Processing | Status::WaitingUserAnswer => {}
            Status::Completed if title.fresh_ms.is_some_and(|ms| ms <= MAX_OVER_MS) => {}
            Status::Completed => {
                let why = format!("a title that says `completed` needs a `fresh_ms`, at most {MAX_OVER_MS}");
                return Err(self.error(span, why));
            }
            _ => {
                let why = "a title alone never makes ready: it may be static, or stand behind a dialog; it says \
                           `processing`, `waiting_user_answer`, or `completed` of the work that it told of";
                return Err(self.error(span, why));
            }
        }
        let name = RuleName::from(format!("{id}.{}", title.id));
        Ok(TitleRule { name, re: self.pattern(&title.re)?, status, fresh_ms: title.fresh_ms })
    }

    fn named(&self, name: &Spanned<String>) -> Result<AnchorIndex, ManifestError> {
        self.index(name.get_ref())
            .ok_or_else(|| self.error(name.span(), format!("no anchor is called `{}`", name.get_ref())))
    }

    fn index(&self, name: &str) -> Option<AnchorIndex> {
        self.anchors.iter().position(|anchor| &*anchor.name == name).map(|at| at as AnchorIndex)
    }

    fn set(&self, names: &[Spanned<String>]) -> Result<u64, ManifestError> {
        names.iter().try_fold(0, |set, name| Ok(set | 1 << self.named(name)?))
    }

    fn pattern(&self, pattern: &Spanned<String>) -> Result<Regex, ManifestError> {
        anchor::compile(pattern.get_ref()).map_err(|error| self.error(pattern.span(), error))
    }

    fn rules(&self, raw: &RawManifest) -> Result<Vec<Rule>, ManifestError> {
        if raw.rules.len() > MAX_RULES {
            return Err(self.error(0..0, format!("more than {MAX_RULES} rules")));
        }
        let mut rules: Vec<Rule> = Vec::with_capacity(raw.rules.len());
        for rule in &raw.rules {
            let (span, rule) = (rule.span(), rule.get_ref());
            let name = RuleName::from(format!("{}.{}", raw.id.get_ref(), rule.id));
            if rules.iter().any(|other| other.name == name) {
                return Err(self.error(span, format!("two rules are called `{}`", rule.id)));
            }
            if rule.kind.is_some() && *rule.status.get_ref() != RuleStatus::Waiting {
                return Err(self.error(span, "only a rule for `waiting` has a `kind`"));
            }
            let term = |term: &Spanned<String>| {
                Term::parse(term.get_ref(), |name| self.index(name))
                    .map_err(|error| self.error(term.span(), error))
            };
            let when = rule.when.iter().map(term).collect::<Result<Vec<_>, _>>()?;
            if when.iter().all(|term| matches!(term, Term::Under { .. })) {
                let why =
                    "a rule needs a term that is not `no ...` or `under ...`: an empty screen says nothing";
                return Err(self.error(span, why));
            }
            if rule.asks.is_some() && *rule.status.get_ref() != RuleStatus::Waiting {
                return Err(self.error(span, "only a rule for `waiting` has an `asks`"));
            }
            let asks = rule.asks.as_ref().map(|asks| self.named(asks)).transpose()?;
            rules.push(Rule { name, status: *rule.status.get_ref(), kind: rule.kind, asks, when });
        }
        Ok(rules)
    }

    fn dialogs(
        &self,
        raw: &RawManifest,
        rules: &[Rule],
        origin: Origin,
    ) -> Result<Vec<DialogRule>, ManifestError> {
        let dialog = |dialog: &Spanned<super::raw::RawDialog>| {
            let (span, dialog) = (dialog.span(), dialog.get_ref());
            let rule = RuleName::from(format!("{}.{}", raw.id.get_ref(), dialog.rule.get_ref()));
            let known = rules.iter().any(|other| other.name == rule && other.status == RuleStatus::Waiting);
            if !known {
                return Err(self.error(dialog.rule.span(), "no rule for `waiting` has this id"));
            }
            if !dialog.keys.is_empty() && origin == Origin::Remote {
                return Err(self.error(span, "a manifest from elsewhere presses no key on a dialog"));
            }
            Ok(DialogRule { rule, about: dialog.about, keys: dialog.keys.clone() })
        };
        raw.dialogs.iter().map(dialog).collect()
    }

    fn composer(&self, raw: &Spanned<RawComposer>) -> Result<ComposerRule, ManifestError> {
        let (span, raw) = (raw.span(), raw.get_ref());
        let end = raw.end.as_ref().map(|end| self.named(end)).transpose()?;
        let place = match (&raw.row, &raw.top, &raw.block, end) {
            (Some(row), None, None, end) => ComposerPlace::From { row: self.named(row)?, end },
            (None, Some(top), None, Some(end)) => ComposerPlace::Between { top: self.named(top)?, end },
            (None, None, Some(row), Some(end)) => ComposerPlace::Block { row: self.named(row)?, end },
            _ => {
                let why = "a composer has a `row`, or a `top` and an `end`, or a `block` and an `end`";
                return Err(self.error(span, why));
            }
        };
        Ok(ComposerRule {
            place,
            drop: self.set(&raw.drop)?,
            sign: raw.sign.as_ref().map(|re| self.pattern(re)).transpose()?,
            placeholder: raw.placeholder.iter().map(|re| self.pattern(re)).collect::<Result<_, _>>()?,
            dim_is_placeholder: raw.dim_is_placeholder,
            has_cursor: raw.has_cursor,
            folded: raw.folded.as_ref().map(|re| self.pattern(re)).transpose()?,
        })
    }

    fn answer(&self, raw: &Spanned<RawAnswer>) -> Result<AnswerRule, ManifestError> {
        let raw = raw.get_ref();
        Ok(AnswerRule {
            user: self.named(&raw.user)?,
            start: raw.start.as_ref().map(|start| self.named(start)).transpose()?,
            end: self.set(&raw.end)?,
            drop: self.set(&raw.drop)?,
            marker: raw.marker.as_ref().map(|re| self.pattern(re)).transpose()?,
            cut: raw.cut.as_ref().map(|re| self.pattern(re)).transpose()?,
            rest: Duration::from_millis(raw.rest_ms),
        })
    }
}
