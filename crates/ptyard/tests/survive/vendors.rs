//! Programs at all vendors at once, in one server, and in the one behind it.

use std::time::{Duration, Instant};

use ptyard_testkit::vendors::blaxel::BlaxelServer;
use ptyard_testkit::vendors::cloudflare::CloudflareServer;
use ptyard_testkit::vendors::daytona::DaytonaServer;
use ptyard_testkit::vendors::e2b::E2bServer;
use ptyard_testkit::vendors::modal::ModalServer;

use crate::stage::{Stage, text};

/// Programs at each vendor.
const EACH: usize = 10;

/// How long all of them may take to be ended. One after the other they would take 50 times the 2 seconds that each is
/// given to leave by itself, which none of them does.
const DEADLINE: Duration = Duration::from_secs(60);

/// The vendors, for as long as a test runs.
struct Vendors {
    runtime: tokio::runtime::Runtime,
    e2b: E2bServer,
    daytona: DaytonaServer,
    blaxel: BlaxelServer,
    cloudflare: CloudflareServer,
    modal: ModalServer,
}

impl Vendors {
    fn start() -> Self {
        let runtime = tokio::runtime::Runtime::new().unwrap();
        let _inside = runtime.enter();
        Self {
            e2b: runtime.block_on(E2bServer::start()),
            daytona: runtime.block_on(DaytonaServer::start()),
            blaxel: runtime.block_on(BlaxelServer::start()),
            cloudflare: runtime.block_on(CloudflareServer::start()),
            modal: runtime.block_on(ModalServer::start()),
            runtime,
        }
    }

    fn stage(&self) -> Stage {
        let all = [
            self.e2b.variables(),
            self.daytona.variables(),
            self.blaxel.variables(),
            self.cloudflare.variables(),
            self.modal.variables(),
        ];
        Stage::with_variables(all.concat().into_iter().map(|(name, value)| (name, value.into())).collect())
    }

    /// For each vendor a sandbox of the program's own, and one that is there.
    fn places(&self) -> [[String; 2]; 5] {
        let _inside = self.runtime.enter();
        let own = ["e2b:base", "daytona", "blaxel", "cloudflare", "modal:debian:12"].map(str::to_owned);
        let there = [
            format!("e2b:sandbox={}", self.e2b.sandbox()),
            format!("daytona:sandbox={}", self.daytona.sandbox()),
            format!("blaxel:sandbox={}", self.blaxel.sandbox()),
            "cloudflare:sandbox=somebodyelses".to_owned(),
            format!("modal:sandbox={}", self.modal.sandbox()),
        ];
        let [a, b, c, d, e] = own;
        let [f, g, h, i, j] = there;
        [[a, f], [b, g], [c, h], [d, i], [e, j]]
    }

    /// How many sandboxes there are at each.
    fn sandboxes(&self) -> [usize; 5] {
        let _inside = self.runtime.enter();
        [
            self.e2b.sandboxes().len(),
            self.daytona.sandboxes().len(),
            self.blaxel.sandboxes().len(),
            self.cloudflare.sandboxes().len(),
            self.modal.sandboxes().len(),
        ]
    }

    /// How many programs live at those who count them.
    fn living(&self) -> [usize; 4] {
        let _inside = self.runtime.enter();
        [self.daytona.living(), self.blaxel.living(), self.cloudflare.processes(), self.modal.living()]
    }
}

#[test]
fn fifty_programs_at_five_vendors_run_side_by_side_and_are_ended_at_once() {
    let vendors = Vendors::start();
    let stage = vendors.stage();
    stage.server();
    let places = vendors.places();
    let others = vendors.living();
    std::thread::scope(|scope| {
        for places in &places {
            let stage = &stage;
            scope.spawn(move || {
                for number in 0..EACH {
                    let script = format!("trap '' HUP TERM; echo here-{number}; while :; do sleep 600; done");
                    let place = places[number % 2].as_str();
                    let until = format!("regex:here-{number}");
                    let reply = stage.json(&[
                        "exec",
                        "--tty",
                        "--backend",
                        place,
                        "--until",
                        &until,
                        "--",
                        "sh",
                        "-c",
                        &script,
                    ]);
                    assert!(text(&reply["output"]).contains(&format!("here-{number}")), "{place}: {reply}");
                }
            });
        }
    });
    let list = stage.json(&["list"]);
    let running = list.as_array().unwrap().iter().filter(|terminal| terminal["state"] == "running");
    assert_eq!(running.count(), 5 * EACH, "{list}");
    assert_eq!(vendors.sandboxes(), [1 + EACH / 2; 5]);
    let began = Instant::now();
    let stopped = stage.run(&["stop"]);
    let took = began.elapsed();
    assert!(stopped.status.success(), "{stopped:?}");
    assert!(took < DEADLINE, "it took {took:?}");
    assert_eq!(vendors.sandboxes(), [1; 5], "those of somebody else stay");
    // A carrier that was told to leave may be about to.
    crate::stage::until("nothing of it is left", || vendors.living() == others);
    println!("all were ended in {took:?}");
}

/// Each program echoes what is typed, line by line, until it is told to end.
const ECHO: &str =
    "stty raw -echo; echo begun; while read line; do [ \"$line\" = end ] && exit 7; echo \"<$line>\"; done";

#[test]
fn programs_at_five_vendors_go_on_with_the_next_server_and_end_with_their_codes() {
    let vendors = Vendors::start();
    let stage = vendors.stage();
    let places = vendors.places().concat();
    let others = vendors.living();
    let ids: Vec<String> = places
        .iter()
        .map(|place| {
            let exec =
                ["exec", "--tty", "--backend", place, "--until", "regex:begun", "--", "sh", "-c", ECHO];
            text(&stage.json(&exec)["id"]).to_owned()
        })
        .collect();
    for round in 0..2 {
        stage.kill_server();
        for (place, id) in places.iter().zip(&ids) {
            let (line, until) = (format!("{round}\n"), format!("regex:<{round}>"));
            let write = ["write", id, "--chars", &line, "--until", &until, "--yield-ms", "20000"];
            let reply = stage.json(&write);
            assert!(text(&reply["output"]).contains(&format!("<{round}>")), "{place}: {reply}");
        }
    }
    assert_eq!(stage.json(&["gc"])["leftovers"], serde_json::json!([]), "what lives is no leftover");
    for (place, id) in places.iter().zip(&ids) {
        stage.json(&["write", id, "--chars", "end\n", "--until", "exit", "--yield-ms", "20000"]);
        assert_eq!(stage.end(id)["code"], 7, "{place}");
        let log = String::from_utf8_lossy(&stage.log(id)).into_owned();
        let gaps = log.matches("[ptyard: nobody listened").count();
        let forgets = place.starts_with("e2b") || place.starts_with("daytona");
        assert_eq!(gaps, if forgets { 2 } else { 0 }, "{place}: {log:?}");
        for line in ["begun", "<0>", "<1>"] {
            assert_eq!(log.matches(line).count(), 1, "{place}: {log:?}");
        }
    }
    assert!(stage.run(&["stop"]).status.success());
    assert_eq!((vendors.sandboxes(), vendors.living()), ([1; 5], others), "nothing of it is left");
}
