//! `ptyard detect`.

use std::io::Read as _;
use std::path::Path;

use ptyard_core::{ErrorCode, Moment, Size};
use ptyard_providers::Change;
use ptyard_providers::replay::{Cast, Detected, detect_capture, detect_cast};
use serde::Serialize;

use super::Place;
use super::provider::library;
use crate::args::DetectArgs;
use crate::failure::{Failure, status};

/// What is printed for a capture.
#[derive(Debug, Serialize)]
struct CaptureReply {
    status: &'static str,
    source: &'static str,
    rule: String,
    last_answer: Option<String>,
}

/// What is printed for a recording.
#[derive(Debug, Serialize)]
struct CastReply {
    timeline: Vec<Step>,
    last_answer: Option<String>,
}

/// A status from one moment on.
#[derive(Debug, Serialize)]
struct Step {
    /// Seconds from the start of the recording.
    t: f64,
    status: &'static str,
    source: &'static str,
    rule: String,
}

pub(super) fn detect(place: &Place, args: &DetectArgs) -> Result<u8, Failure> {
    let library = library(place);
    let provider = library.get(&args.provider).ok_or_else(|| super::provider::unknown(&args.provider))?;
    let size: Option<Size> = match &args.size {
        Some(size) => Some(
            size.parse()
                .map_err(|error| Failure::new(ErrorCode::InvalidSize, format!("--size {size}: {error}")))?,
        ),
        None => None,
    };
    let bytes = read(&args.file)?;
    let text = std::str::from_utf8(&bytes).ok().filter(|text| Cast::is_cast(text));
    let Some(text) = text else {
        return capture(place, &detect_capture(provider, size, &bytes));
    };
    let cast = Cast::parse(text).map_err(|error| {
        Failure::new(ErrorCode::InvalidArgument, format!("{}: {error}", args.file.display()))
    })?;
    let found = detect_cast(provider, &cast);
    let reply =
        CastReply { timeline: found.timeline.iter().map(step).collect(), last_answer: answer(&found) };
    place.show(&reply, |reply| {
        let mut text = String::new();
        for step in &reply.timeline {
            text.push_str(&format!("{:9.3}  {:20} {:8} {}\n", step.t, step.status, step.source, step.rule));
        }
        append_answer(&mut text, reply.last_answer.as_deref());
        text
    })?;
    Ok(status::DONE)
}

fn capture(place: &Place, found: &Detected) -> Result<u8, Failure> {
    let Some(change) = found.timeline.last() else {
        return Err(Failure::new(ErrorCode::Internal, "a capture has a status"));
    };
    let step = step(change);
    let reply = CaptureReply {
        status: step.status,
        source: step.source,
        rule: step.rule,
        last_answer: answer(found),
    };
    place.show(&reply, |reply| {
        let mut text = format!("{} ({}, {})\n", reply.status, reply.source, reply.rule);
        append_answer(&mut text, reply.last_answer.as_deref());
        text
    })?;
    Ok(status::DONE)
}

fn step(change: &Change) -> Step {
    let seconds = change.at.since(Moment::EPOCH).as_millis() as f64 / 1000.0;
    let evidence = &change.evidence;
    let (status, source) = (evidence.status.as_str(), evidence.source.as_str());
    Step { t: seconds, status, source, rule: evidence.rule.as_str().to_owned() }
}

fn answer(found: &Detected) -> Option<String> {
    found.last_answer().map(|answer| answer.text.clone())
}

fn append_answer(text: &mut String, answer: Option<&str>) {
    if let Some(answer) = answer {
        text.push_str(&format!("\n{answer}\n"));
    }
}

fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    let outcome = if file.as_os_str() == "-" {
        std::io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        std::fs::read(file).map(|read| bytes = read)
    };
    outcome.map_err(|error| {
        Failure::new(ErrorCode::InvalidArgument, format!("{} cannot be read: {error}", file.display()))
    })?;
    Ok(bytes)
}
