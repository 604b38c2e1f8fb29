//! `ptyard detect` and `ptyard provider`: no server, no state.

use serde_json::Value;

use crate::fake::{err, out, ptyard};

/// A session of ten seconds: a program that reports its state, and a message that was typed.
const CAST: &str = concat!(
    "{\"version\": 2, \"width\": 80, \"height\": 24}\n",
    "[0.1, \"o\", \"\\u001b]7501;state=idle:app=it\\u001b\\\\> \"]\n",
    "[2.0, \"i\", \"do it\"]\n",
    "[2.2, \"i\", \"\\r\"]\n",
    "[2.3, \"o\", \"\\u001b]7501;state=working:app=it\\u001b\\\\\"]\n",
    "[9.0, \"o\", \"\\u001b]7501;state=done:app=it\\u001b\\\\\"]\n",
    "[9.1, \"m\", \"a mark\"]\n",
);

#[test]
fn a_recording_becomes_a_timeline_on_its_own_clock() {
    let directory = tempfile::tempdir().unwrap();
    let state = directory.path().join("state");
    let file = directory.path().join("a.cast");
    std::fs::write(&file, CAST).unwrap();
    let output = ptyard(&state, &["detect", "--json", "--provider", "generic", file.to_str().unwrap()])
        .output()
        .unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    let statuses: Vec<&str> =
        reply["timeline"].as_array().unwrap().iter().map(|step| step["status"].as_str().unwrap()).collect();
    assert_eq!(statuses, ["starting", "idle", "processing", "completed"], "{reply}");
    let last = reply["timeline"].as_array().unwrap().last().unwrap();
    assert_eq!((last["source"].as_str(), last["rule"].as_str()), (Some("native"), Some("osc7501.done")));
    assert!((last["t"].as_f64().unwrap() - 9.0).abs() < 0.01, "{last}");
    assert_eq!(reply["last_answer"], Value::Null);
    assert!(!state.exists(), "a state directory was made for nothing");
}

#[test]
fn a_capture_has_one_status() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("screen.txt");
    std::fs::write(&file, "› do it\n• I did it.\n\n❯ \n").unwrap();
    let args = ["detect", "--json", "--provider", "codex", "--size", "100x30", file.to_str().unwrap()];
    let output = ptyard(directory.path(), &args).output().unwrap();
    let reply: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reply["status"], "completed");
    assert_eq!(reply["source"], "screen");
    assert_eq!(reply["rule"], "codex.bare_answered");
    assert_eq!(reply["last_answer"], "I did it.");
}

#[test]
fn what_cannot_be_judged_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |args: &[&str]| err(&ptyard(directory.path(), args).output().unwrap());
    assert!(
        refused(&["detect", "--provider", "nobody", "x"]).starts_with("error: no provider is called nobody")
    );
    assert!(refused(&["detect", "--provider", "codex", "no such file"]).contains("cannot be read"));
    assert!(refused(&["detect", "--provider", "codex", "--size", "9", "x"]).contains("--size 9"));
    let broken = directory.path().join("broken.cast");
    std::fs::write(&broken, "{\"version\": 2, \"width\": 80, \"height\": 24}\n[1, 2]\n").unwrap();
    let told = refused(&["detect", "--provider", "codex", broken.to_str().unwrap()]);
    assert!(told.contains("line 2: not [time, code, data]"), "{told}");
}

#[test]
fn providers_are_listed_shown_and_checked() {
    let directory = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| ptyard(directory.path(), args).output().unwrap();
    let list: Value = serde_json::from_slice(&run(&["provider", "list", "--json"]).stdout).unwrap();
    let ids: Vec<&str> = list.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert!(
        ["claude_code", "codex", "opencode_cli", "shell", "generic"].iter().all(|id| ids.contains(id)),
        "{ids:?}"
    );
    assert!(out(&run(&["provider", "show", "codex"])).starts_with("Codex (codex)"));

    let manifest = directory.path().join("mine.toml");
    let source = "id = \"mine\"\nname = \"Mine\"\nversion = \"1.0.0\"\nengine = 1\n";
    std::fs::write(&manifest, source).unwrap();
    let file = manifest.to_str().unwrap();
    assert_eq!(out(&run(&["provider", "check", file])), "mine 1.0.0 is well formed and passes its tests\n");
    std::fs::write(&manifest, source.replace("1.0.0", "one")).unwrap();
    let refused = run(&["provider", "check", file]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(err(&refused).contains("line 3: a version is three numbers with dots"), "{}", err(&refused));
}

#[test]
fn a_manifest_of_the_state_directory_stands_over_the_bundled_one() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::create_dir(directory.path().join("providers")).unwrap();
    let manifest = "id = \"pi\"\nname = \"My pi\"\nversion = \"9.0.0\"\nengine = 1\n";
    std::fs::write(directory.path().join("providers/pi.toml"), manifest).unwrap();
    let shown = out(&ptyard(directory.path(), &["provider", "show", "pi"]).output().unwrap());
    assert!(shown.starts_with("My pi (pi) 9.0.0, local"), "{shown}");
}
