//! What a server that was killed left at vendors is found by `ptyard gc` and ended, and nothing else.

use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::e2b::E2bServer;
use serde_json::Value;

use crate::stage::{Stage, text};

/// The vendors, for as long as a test runs.
struct Vendors {
    runtime: tokio::runtime::Runtime,
    e2b: E2bServer,
    cloudflare: CloudflareServer,
}

impl Vendors {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let (e2b, cloudflare) =
            runtime.block_on(async { (E2bServer::start().await, CloudflareServer::start().await) });
        Self { runtime, e2b, cloudflare }
    }

    fn stage(&self) -> Stage {
        let variables = self.e2b.variables().into_iter().chain(self.cloudflare.variables());
        Stage::with_variables(variables.map(|(name, value)| (name, value.into())).collect())
    }

    fn sandboxes(&self) -> (usize, usize) {
        let _runtime = self.runtime.enter();
        (self.e2b.sandboxes().len(), self.cloudflare.sandboxes().len())
    }
}

const PLACES: [&str; 2] = ["e2b:base", "cloudflare"];

/// Starts a program at each of the vendors; the full ids.
fn start(stage: &Stage) -> Vec<String> {
    let start = |place: &&str| {
        let reply = stage.json(&[
            "exec",
            "--tty",
            "--backend",
            place,
            "--until",
            "regex:here",
            "--",
            "sh",
            "-c",
            "echo here; sleep 600",
        ]);
        assert!(text(&reply["output"]).contains("here"), "{reply}");
        text(&reply["id"]).to_owned()
    };
    PLACES.iter().map(start).collect()
}

/// The terminals of what was left over, and what became of it.
fn told(reply: &Value) -> Vec<(String, String)> {
    let told =
        |leftover: &Value| (text(&leftover["terminal"]).to_owned(), text(&leftover["outcome"]).to_owned());
    let mut all: Vec<_> = reply["leftovers"].as_array().unwrap().iter().map(told).collect();
    all.sort();
    all
}

fn each(ids: &[String], outcome: &str) -> Vec<(String, String)> {
    let mut all: Vec<_> = ids.iter().map(|id| (id.clone(), outcome.to_owned())).collect();
    all.sort();
    all
}

/// Programs whose terminals are there go on with the next server. Those whose terminals are not are left over.
#[test]
fn what_a_killed_server_left_at_vendors_is_ended_and_nothing_else() {
    let vendors = Vendors::start();
    let (stage, other) = (vendors.stage(), vendors.stage());
    let left = start(&stage);
    // Of another state directory.
    start(&other);
    assert_eq!(told(&stage.json(&["gc"])), [], "what lives is no leftover");
    stage.kill_server();
    stage.forget_terminals();
    let living = start(&stage);
    assert_eq!(vendors.sandboxes(), (3, 3));
    let looked = stage.json(&["gc", "--dry-run"]);
    assert_eq!((told(&looked), &looked["ok"]), (each(&left, "found"), &true.into()), "{looked}");
    assert_eq!(vendors.sandboxes(), (3, 3), "a look ends nothing");
    let ended = stage.json(&["gc", "--backend", "e2b"]);
    assert_eq!(told(&ended), each(&left[..1], "ended"), "{ended}");
    let ended = stage.json(&["gc"]);
    assert_eq!(told(&ended), each(&left[1..], "ended"), "{ended}");
    assert_eq!(vendors.sandboxes(), (2, 2));
    assert_eq!(told(&stage.json(&["gc"])), []);
    for id in &living {
        assert_eq!(stage.json(&["info", id])["state"], "running");
    }
    // What was killed with a server that is stopped in order leaves nothing to find.
    stage.run(&["stop"]);
    assert_eq!(vendors.sandboxes(), (1, 1), "those of the other one");
    other.run(&["stop"]);
    assert_eq!(vendors.sandboxes(), (0, 0));
}
