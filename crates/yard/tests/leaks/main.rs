//! What is left of programs that ended: nothing. In a process of its own, because it counts what the process has.

#![expect(clippy::unwrap_used, reason = "a test stops at what it did not expect")]

#[path = "../yard/stage.rs"]
#[expect(dead_code, reason = "shared with the other suite, which uses all of it")]
mod stage;

use ptyard_terminal::backend::Io;
use ptyard_yard::Yard;
use tokio::task::JoinSet;

use crate::stage::{PIPES, Stage, run, sh, tty, until};

async fn whole(yard: &Yard, text: &str, io: Io) -> Option<i32> {
    run(yard, sh(text, io, until("exit"))).await.exit.and_then(|exit| exit.code)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_programs_that_ended() {
    let stage = Stage::real();
    whole(&stage.yard, "true", tty()).await;
    whole(&stage.yard, "true", PIPES).await;
    let (descriptors, tasks) = (descriptors(), alive_tasks(&stage.yard));
    let mut running = JoinSet::new();
    for n in 0..200 {
        let yard = stage.yard.clone();
        running.spawn(async move { whole(&yard, "echo hi", if n % 2 == 0 { tty() } else { PIPES }).await });
    }
    while let Some(done) = running.join_next().await {
        assert_eq!(done.unwrap(), Some(0));
    }
    let settled = async {
        while descriptors < self::descriptors() || tasks < alive_tasks(&stage.yard) {
            tokio::task::yield_now().await;
        }
    };
    ptyard_testkit::soon("descriptors and tasks are back where they were", settled).await;
    assert_eq!(zombies(), 0);
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn alive_tasks(yard: &Yard) -> usize {
    tokio::runtime::Handle::current().metrics().num_alive_tasks() + yard.tasks()
}

fn zombies() -> usize {
    let me = std::process::id().to_string();
    let stats = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| std::fs::read_to_string(entry.ok()?.path().join("stat")).ok());
    stats
        .filter(|stat| {
            let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
            fields.first() == Some(&"Z") && fields.get(1) == Some(&me.as_str())
        })
        .count()
}
