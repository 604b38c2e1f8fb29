//! Recorded sessions of real programs, judged against the truth.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

mod scenes;
mod score;

use std::path::Path;
use std::sync::Arc;

use ptyard_providers::Library;
use ptyard_providers::replay::{Cast, detect_capture, detect_cast};
use scenes::{Scene, Strip};
use score::Score;

fn table(scenes: &[Scene], strip: Strip, floor: f64) -> Vec<String> {
    let library = Library::bundled().unwrap();
    let mut missed = Vec::new();
    println!("{strip:?}: agreement, moments of false ready, delay until ready is seen");
    for scene in scenes {
        let Some(provider) = library.get(scene.provider()) else {
            println!("{:10} {:24} no provider", scene.cli, scene.name);
            continue;
        };
        let cast = Cast::parse(&scene.cast(strip)).unwrap();
        let found = detect_cast(&Arc::clone(provider), &cast);
        let score = Score::of(&found.timeline, &scene.truth);
        let verdict = if score.holds(floor) { "" } else { "MISS" };
        println!(
            "{:10} {:24} {:.4} false_ready={} ready_late={:.2}s {verdict}",
            scene.cli, scene.name, score.agreement, score.false_ready, score.ready_late
        );
        if std::env::var_os("TIMELINE").is_some() {
            for change in &found.timeline {
                let evidence = &change.evidence;
                let at = change.at.since_epoch().as_secs_f64();
                println!("      {at:8.3} {:20} {} {}", evidence.status, evidence.source, evidence.rule);
            }
            for mark in &scene.truth {
                println!("      truth {:8.3} {}", mark.t, mark.status);
            }
        }
        if !score.holds(floor) {
            missed.push(format!("{}/{}", scene.cli, scene.name));
        }
    }
    println!("{} of {} scenes hold", scenes.len() - missed.len(), scenes.len());
    missed
}

#[test]
fn every_scene_is_followed_with_all_signals() {
    let missed = table(&scenes::all(), Strip::Nothing, 0.99);
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn every_scene_is_followed_by_screen_and_title_alone() {
    let missed = table(&scenes::all(), Strip::Reports, 0.97);
    assert!(missed.is_empty(), "{missed:?}");
}

#[test]
fn captured_screens_show_their_status() {
    let library = Library::bundled().unwrap();
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    let index = std::fs::read_to_string(directory.join("index.tsv")).unwrap();
    let mut wrong = Vec::new();
    for row in index.lines().skip(1) {
        let [file, provider, _, expected, ..] = row.split('\t').collect::<Vec<_>>()[..] else {
            panic!("{row}");
        };
        let capture = std::fs::read(directory.join(file)).unwrap();
        let found = detect_capture(library.get(provider).unwrap(), None, &capture);
        let evidence = &found.timeline.last().unwrap().evidence;
        let status = evidence.status.as_str();
        let is_right = match expected.strip_prefix('!') {
            Some(not) => status != not,
            None => status == expected,
        };
        println!("{file:50} {status:20} {} {}", evidence.rule, if is_right { "" } else { "WRONG" });
        if !is_right {
            wrong.push(format!("{file}: {status}, not {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
