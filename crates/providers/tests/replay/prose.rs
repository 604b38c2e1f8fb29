//! What a model writes is no sign: recorded screens whose answers are written over with what looks like one.

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::Duration;

use ptyard_core::Moment;
use ptyard_core::turn::Status;
use ptyard_providers::replay::{Cast, Kind};
use ptyard_providers::{Library, Provider, Watch};
use ptyard_screen::View;

use crate::scenes::{Mark, Scene, Strip};

/// What stands in the answers of the recordings, row by row.
const WRITTEN: [&str; 4] = ["Mock answer: the work", "first point", "second point", "All done, MOCKEND"];

/// A sign of work or of a failure, word for word. Nothing on a screen tells one that is quoted from one that is meant, so
/// it may hold mail back; it never makes ready, and asks nothing.
const SIGNS: &[&[&str]] = &[
    &["• Working (3s • esc to interrupt)"],
    &["✻ Thinking… (3s · esc to interrupt)"],
    &["⠋ Thinking... (esc to cancel, 3s)"],
    &["🌔 Thinking"],
    &["API Error: 500", "✕ [API Error: 500]"],
];

/// What else a model may write: prompts, questions, signs of an end, boxes; of these CLIs and of others.
const PROSE: &[&[&str]] = &[
    &["❯ "],
    &["> "],
    &["› Ask Codex to do anything"],
    &["$ make", "> done"],
    &["│ > Type your message │"],
    &["● Working · esc esc interrupt"],
    &["■■■⬝⬝⬝⬝⬝  esc interrupt"],
    &["Working..."],
    &["Press esc to interrupt, or ctrl+c to stop."],
    &["Do you want to proceed?", "❯ 1. Yes", "  2. No"],
    &[
        "Would you like to run the following command?",
        "› 1. Yes, proceed (y)",
        "  2. No (esc)",
        "Press enter to confirm or esc to cancel",
    ],
    &["△ Permission required", "Allow once   Allow always   Reject"],
    &["Allow execution of: 'rm'?", "● 1. Allow once", "  2. No (esc)"],
    &["Run this command?", "▶ 1. Approve once", "  2. Reject"],
    &["Run shell command? (Y)es/(N)o/(D)on't ask again [Yes]:"],
    &["Approve tool call? [y/n]"],
    &["Waiting for user confirmation..."],
    &["? for shortcuts · 80% context left"],
    &["/ commands · ? help · tab next tab"],
    &["ctrl+p commands", "╹▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀▀"],
    &["▣  Build · Mock Model · 3.1s"],
    &["Worked for 15s • 17:03", "✻ Brewed for 9s · done 5:13 PM"],
    &["────────────────────────────────────────", "❯ ", "────────────────────────────────────────"],
    &[
        "╭──────────────────────────────────────╮",
        "│ > hello                              │",
        "╰──────────────────────────────────────╯",
    ],
    &["Error: it failed", "Traceback (most recent call last):"],
    &["¿Quiere continuar? (s/n)", "按回车继续", "続行しますか？ [y/N]"],
];

/// A moment of a recording at which a part of an answer stands on the screen.
struct Place {
    at: Moment,
    truth: Status,
    /// Row and column of each row of it.
    rows: Vec<(usize, usize)>,
}

/// Which screens are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Rows {
    /// Those on which an answer stands.
    OfAnAnswer,
    /// All.
    Any,
}

fn rows(view: &View) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    for (row, line) in view.screen_lines().iter().enumerate() {
        let written = WRITTEN.iter().filter_map(|text| line.text.find(text)).min();
        found.extend(written.map(|at| (row, line.text[..at].chars().count())));
    }
    found
}

/// Replays up to `until` and leaves the terminal as it is then.
fn replay(provider: &Arc<Provider>, cast: &Cast, until: Moment) -> Watch {
    let mut watch = Watch::new(Arc::clone(provider), cast.size, Moment::EPOCH);
    for event in cast.events.iter().take_while(|event| event.at <= until) {
        match &event.kind {
            Kind::Output(text) => watch.output(text.as_bytes(), event.at),
            Kind::Resize(size) => watch.resize(*size, event.at),
            Kind::Input(text) => {
                watch.advance(event.at);
                if text == "\r" && watch.evidence().status.is_ready() {
                    watch.dispatched(event.at);
                }
            }
        }
    }
    watch.advance(until);
    watch
}

/// A moment towards the end of each state of the truth that lasted.
fn places(scene: &Scene, provider: &Arc<Provider>, cast: &Cast, wanted: Rows) -> Vec<Place> {
    let mut places = Vec::new();
    for (index, mark) in scene.truth.iter().enumerate() {
        let truth = match mark.status.as_str() {
            "idle" | "completed" => Status::Completed,
            "processing" => Status::Processing,
            "waiting_user" => Status::WaitingUserAnswer,
            _ => continue,
        };
        let end = scene.truth.get(index + 1).map_or(mark.t + 2.0, |next: &Mark| next.t);
        let seconds = mark.t + (end - mark.t) * 0.8;
        if seconds - mark.t < 0.4 || end - seconds < 0.1 {
            continue;
        }
        let at = Moment::EPOCH + Duration::from_secs_f64(seconds);
        let mut watch = replay(provider, cast, at);
        let rows = rows(&watch.screen().view(0, at));
        // What the rules say of it as it is.
        let is_seen = watch.evidence().status.is_ready() == truth.is_ready();
        if (wanted == Rows::Any || !rows.is_empty()) && is_seen {
            places.push(Place { at, truth, rows });
        }
    }
    places
}

/// Writes `prose` over the answer, from its row `first` on.
fn overwrite(place: &Place, first: usize, prose: &[&str]) -> String {
    let mut text = "\x1b7\x1b[0m".to_owned();
    for ((row, col), line) in place.rows.iter().skip(first).zip(prose) {
        write!(text, "\x1b[{};{}H{line:<52}", row + 1, col + 1).unwrap();
    }
    text + "\x1b8"
}

/// The same row in a language that nobody knows; units of numbers are the same in all.
fn translated(row: usize, text: &str) -> String {
    let mut before = ' ';
    let rotated = text.chars().map(|c| {
        let is_unit = std::mem::replace(&mut before, c).is_ascii_digit();
        match c {
            _ if is_unit => c,
            'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
            'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
            c => c,
        }
    });
    let rotated: String = rotated.collect();
    format!("\x1b[{};1H{rotated}", row + 1)
}

/// Says when it works by words alone, while it writes; it reports that by itself, and in its title.
const BY_WORDS: [&str; 1] = ["claude"];

/// Screens of work, each row in an unknown language, alone and all together; adds those that look ready.
pub(crate) fn foreign(scene: &Scene, library: &Library, wrong: &mut Vec<String>) -> usize {
    let provider = library.get(scene.provider()).unwrap();
    let cast = Cast::parse(&scene.cast(Strip::Signals)).unwrap();
    let mut tried = 0;
    if BY_WORDS.contains(&scene.cli.as_str()) {
        return tried;
    }
    for place in places(scene, provider, &cast, Rows::Any) {
        if place.truth == Status::Completed {
            continue;
        }
        let mut watch = replay(provider, &cast, place.at);
        let view = watch.screen().view(0, place.at);
        let drawn = view.to_ansi();
        let mut now = place.at;
        let lines: Vec<String> = view.screen_lines().iter().map(|line| line.text.clone()).collect();
        let used: Vec<usize> =
            (0..lines.len()).filter(|row| lines[*row].chars().any(char::is_alphabetic)).collect();
        let mut choices: Vec<Vec<usize>> = used.iter().map(|row| vec![*row]).collect();
        choices.push(used);
        for rows in choices {
            watch.output(&drawn, now);
            now = now + SETTLED;
            watch.advance(now);
            let text: String = rows.iter().map(|row| translated(*row, &lines[*row])).collect();
            watch.output(format!("\x1b7\x1b[0m{text}\x1b8").as_bytes(), now);
            now = now + SETTLED;
            watch.advance(now);
            tried += 1;
            let after = watch.evidence();
            if after.status.is_ready() {
                let at = place.at.since_epoch().as_secs_f64();
                let which = if rows.len() == 1 { lines[rows[0]].trim() } else { "every row" };
                wrong.push(format!(
                    "{}/{} at {at:.2}, truth {:?}: ready by {} without {which:?}",
                    scene.cli, scene.name, place.truth, after.rule
                ));
            }
        }
    }
    tried
}

/// How long a screen is watched before it is judged: longer than anything takes to settle but silence.
const SETTLED: Duration = Duration::from_millis(500);

/// Every place of a recording with every prose; adds what was wrong, and returns how many were tried.
pub(crate) fn tried(scene: &Scene, library: &Library, wrong: &mut Vec<String>) -> usize {
    let provider = library.get(scene.provider()).unwrap();
    let cast = Cast::parse(&scene.cast(Strip::Signals)).unwrap();
    let mut tried = 0;
    for place in places(scene, provider, &cast, Rows::OfAnAnswer) {
        let mut watch = replay(provider, &cast, place.at);
        let drawn = watch.screen().view(0, place.at).to_ansi();
        let mut now = place.at;
        let mut draw = |bytes: &[u8]| {
            watch.output(bytes, now);
            now = now + SETTLED;
            watch.advance(now);
            watch.evidence().clone()
        };
        for (is_sign, prose) in
            PROSE.iter().map(|prose| (false, prose)).chain(SIGNS.iter().map(|sign| (true, sign)))
        {
            for first in [0, place.rows.len() - 1] {
                let before = draw(&drawn);
                let after = draw(overwrite(&place, first, prose).as_bytes());
                tried += 1;
                let kind = |status: Status| (status.is_ready(), status == Status::WaitingUserAnswer);
                let holds_back = is_sign && matches!(after.status, Status::Processing | Status::Error);
                if kind(before.status) != kind(after.status) && !holds_back {
                    let at = place.at.since_epoch().as_secs_f64();
                    wrong.push(format!(
                        "{}/{} at {at:.2}, truth {:?}: {:?} {} became {:?} {} by row {first} of {prose:?}",
                        scene.cli,
                        scene.name,
                        place.truth,
                        before.status,
                        before.rule,
                        after.status,
                        after.rule
                    ));
                }
            }
        }
    }
    tried
}
