//! The recordings: those of the repository, and a larger set where one is given.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use regex::Regex;
use serde::Deserialize;

/// What is taken out of a recording before it is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Strip {
    /// Nothing.
    Nothing,
    /// The program's own reports (OSC 7501).
    Reports,
    /// These, and its titles: only the screen is left.
    Signals,
}

/// What was true from a moment on.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Mark {
    pub(crate) t: f64,
    pub(crate) status: String,
}

/// A line of the model's log.
#[derive(Debug, Deserialize)]
struct ModelEvent {
    t: f64,
    ev: String,
    mode: Option<String>,
}

/// One recording with its truth.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) cli: String,
    pub(crate) name: String,
    pub(crate) truth: Vec<Mark>,
    path: PathBuf,
}

/// A larger set of recordings, laid out as those of the repository, uncompressed.
const MORE: &str = "PTYARD_RECORDINGS";

/// Every scene there is.
pub(crate) fn all() -> Vec<Scene> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/recordings");
    let mut scenes = of(&own);
    match std::env::var_os(MORE) {
        Some(more) => scenes.extend(of(Path::new(&more))),
        None => println!("{MORE} is not set: only the recordings of the repository are replayed"),
    }
    let only = std::env::var("SCENES").unwrap_or_default();
    scenes.retain(|scene| format!("{}/{}", scene.cli, scene.name).contains(&only));
    scenes
}

fn of(root: &Path) -> Vec<Scene> {
    let mut scenes = Vec::new();
    for cli in entries(root).into_iter().filter(|path| path.is_dir()) {
        for path in entries(&cli) {
            let file = path.file_name().unwrap().to_string_lossy().into_owned();
            let Some(name) = file.strip_suffix(".cast").or_else(|| file.strip_suffix(".cast.gz")) else {
                continue;
            };
            let truth = std::fs::read_to_string(path.with_file_name(format!("{name}.json"))).unwrap();
            scenes.push(Scene {
                cli: cli.file_name().unwrap().to_string_lossy().into_owned(),
                name: name.to_owned(),
                truth: serde_json::from_str(&truth).unwrap(),
                path,
            });
        }
    }
    scenes
}

fn entries(directory: &Path) -> Vec<PathBuf> {
    let Ok(found) = std::fs::read_dir(directory) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = found.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

impl Scene {
    /// The provider of this CLI.
    pub(crate) fn provider(&self) -> &str {
        match self.cli.as_str() {
            "claude" => "claude_code",
            "opencode" => "opencode_cli",
            "gemini" => "gemini_cli",
            "qwen" => "qwen_code",
            "copilot" => "copilot_cli",
            "kimi" => "kimi_cli",
            other => other,
        }
    }

    /// From when to when the answer of the model to each completed turn could be read, in seconds.
    pub(crate) fn answered_turns(&self) -> Vec<(f64, f64)> {
        let log = std::fs::read_to_string(self.path.with_file_name(format!("{}.mock.jsonl", self.name)));
        let events: Vec<ModelEvent> =
            log.unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let turns = self.truth.iter().enumerate().filter(|(_, mark)| mark.status == "completed");
        turns
            .filter(|(_, mark)| {
                let mut before =
                    events.iter().rev().filter(|event| event.ev == "done" && event.t <= mark.t + 0.1);
                before
                    .find(|event| event.mode.as_deref() != Some("side"))
                    .is_some_and(|event| event.mode.as_deref() == Some("text") && event.t > mark.t - 1.0)
            })
            .map(|(at, mark)| (mark.t, self.truth.get(at + 2).map_or(f64::MAX, |next| next.t)))
            .collect()
    }

    /// The recording's text.
    pub(crate) fn cast(&self, strip: Strip) -> String {
        let bytes = std::fs::read(&self.path).unwrap();
        let text = if self.path.extension().is_some_and(|extension| extension == "gz") {
            let mut text = String::new();
            flate2::read::GzDecoder::new(&bytes[..]).read_to_string(&mut text).unwrap();
            text
        } else {
            String::from_utf8(bytes).unwrap()
        };
        match strip {
            Strip::Nothing => text,
            Strip::Reports => {
                // As it stands in JSON.
                let report = Regex::new(r"\\u001b\]7501;state.*?(?:\\u0007|\\u001b\\\\)").unwrap();
                report.replace_all(&text, "").into_owned()
            }
            Strip::Signals => {
                let signal = Regex::new(r"\\u001b\](?:7501;state|[012];).*?(?:\\u0007|\\u001b\\\\)").unwrap();
                signal.replace_all(&text, "").into_owned()
            }
        }
    }
}
