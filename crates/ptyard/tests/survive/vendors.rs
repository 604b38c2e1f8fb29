//! Many programs at all vendors at once, in one server.

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
    assert_eq!(vendors.living(), others);
    println!("all were ended in {took:?}");
}
