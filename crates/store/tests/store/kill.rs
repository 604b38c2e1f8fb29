//! A real process that writes and is killed, again and again: what it was told is there, and nothing is there by half.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use ptyard_core::{HandoffId, MessageId};
use ptyard_store::inbox::{Claim, MessageState, NewMessage, Page, Purpose, Select};
use ptyard_store::sqlite::SqliteStore;
use ptyard_store::{Handoffs, Inbox, NewHandoff};

use crate::support::{message, next, owner, receipt, terminal, wait};

const CHILD: &str = "PTYARD_TEST_STORE_CHILD";

/// Not a test: what the child does, until it is killed. Eight writers post; one delivers. Each says on stdout what it was
/// told. It does nothing when the variable is not set.
#[test]
fn child_that_writes_until_it_is_killed() {
    let Some(path) = std::env::var_os(CHILD) else { return };
    let store = Arc::new(SqliteStore::open(Path::new(&path)).unwrap());
    // Another life, another owner.
    let me = owner(&std::process::id().to_string());
    let say = |line: String| std::io::stdout().lock().write_all(line.as_bytes()).unwrap();
    // The line that the test program has taken ends here.
    say("\n".to_owned());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    runtime.block_on(async move {
        for left in store.take_over(me.clone()).await.unwrap() {
            store.lose(left.id, "killed".to_owned()).await.unwrap();
        }
        for writer in 0..8_u128 {
            let store = Arc::clone(&store);
            tokio::spawn(async move {
                for n in 0.. {
                    let text = format!("{writer} {n} {}", "x".repeat(n % 3_000));
                    let posted = store.post(message(1, &text)).await.unwrap();
                    say(format!("posted {} {} {}\n", posted.id, posted.seq, text.len()));
                }
            });
        }
        let giving = Arc::clone(&store);
        tokio::spawn(async move {
            for n in 0.. {
                let work = NewMessage { purpose: Purpose::Handoff, ..message(2, &format!("work {n}")) };
                let handoff = NewHandoff { caller: None, worker: terminal(2), message: None, at: work.at };
                let (posted, id) = giving.post_handoff(work, handoff).await.unwrap();
                say(format!("handed {id} {}\n", posted.id));
            }
        });
        loop {
            let Some(attempt) = store.claim(Claim { owner: me.clone(), ..next(1) }).await.unwrap() else {
                tokio::task::yield_now().await;
                continue;
            };
            let id = attempt.messages[0].id;
            say(format!("taken {id}\n"));
            store.confirm(attempt.id, receipt()).await.unwrap();
            say(format!("delivered {id}\n"));
        }
    });
}

fn child(path: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "kill::child_that_writes_until_it_is_killed", "--nocapture", "--test-threads=1"])
        .env(CHILD, path)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
fn law_13_what_was_acknowledged_before_a_kill_is_there_and_nothing_is_half() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ptyard.db");
    let mut posted: BTreeMap<MessageId, (u64, usize)> = BTreeMap::new();
    let (mut taken, mut delivered) = (Vec::new(), Vec::new());
    let mut handed: BTreeMap<HandoffId, MessageId> = BTreeMap::new();
    for lines in [1, 40, 97, 250, 13, 180] {
        let mut child = child(&path);
        let mut told = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut seen = 0;
        // After so many words it is killed; what it still said before it died counts, too.
        while let Some(Ok(line)) = told.next() {
            let words: Vec<_> = line.split(' ').collect();
            match words[..] {
                ["posted", id, seq, len] => {
                    let place = (seq.parse().unwrap(), len.parse().unwrap());
                    assert!(posted.insert(id.parse().unwrap(), place).is_none(), "an id was given twice");
                }
                ["handed", id, message] => {
                    handed.insert(id.parse().unwrap(), message.parse().unwrap());
                }
                ["taken", id] => taken.push(id.parse::<MessageId>().unwrap()),
                ["delivered", id] => delivered.push(id.parse::<MessageId>().unwrap()),
                _ => continue,
            }
            seen += 1;
            if seen == lines {
                child.kill().unwrap();
            }
        }
        child.wait().unwrap();
        assert!(seen >= lines, "the child ended by itself");
    }

    let store = SqliteStore::open(&path).unwrap();
    let left = wait(store.take_over(owner("the last server"))).unwrap();
    assert!(left.len() <= 1, "one receiver, one attempt: {left:?}");
    for attempt in left {
        wait(store.lose(attempt.id, "killed".to_owned())).unwrap();
    }
    let (mut all, mut after) = (BTreeMap::new(), None);
    loop {
        let page = wait(store.messages(Select::default(), Page { after, most: 1_000 })).unwrap();
        let Some(last) = page.last() else { break };
        after = Some(last.id);
        all.extend(page.into_iter().map(|message| (message.id, message)));
    }
    // Work that was handed off has its handoff, and a handoff its work, whenever the kill came.
    let open = wait(store.open_handoffs()).unwrap();
    let work: Vec<MessageId> = all
        .values()
        .filter(|message| message.purpose == Purpose::Handoff)
        .map(|message| message.id)
        .collect();
    let of_handoffs: Vec<MessageId> = open.iter().filter_map(|row| row.handoff.message).collect();
    assert_eq!(of_handoffs, work);
    for (id, message) in &handed {
        let row = open
            .iter()
            .find(|row| row.id == *id)
            .unwrap_or_else(|| panic!("{id} was acknowledged and is gone"));
        assert_eq!(row.handoff.message, Some(*message));
    }
    all.retain(|_, message| message.purpose != Purpose::Handoff);
    for (id, (seq, len)) in &posted {
        let message = all.get(id).unwrap_or_else(|| panic!("{id} was acknowledged and is gone"));
        assert_eq!((message.seq, message.text.len()), (*seq, *len), "{id} is not what was acknowledged");
    }
    let mut seqs: Vec<_> = all.values().map(|message| message.seq).collect();
    seqs.sort_unstable();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "numbers without gaps");
    for id in &delivered {
        assert_eq!(all[id].state, MessageState::Delivered, "{id}");
        let times = taken.iter().filter(|taken| *taken == id).count();
        assert_eq!(times, 1, "{id} was typed {times} times");
    }
    for id in taken.iter().filter(|id| !delivered.contains(id)) {
        let state = all[id].state;
        assert!(
            matches!(state, MessageState::Uncertain | MessageState::Delivered),
            "{id} may have been typed and is {state}"
        );
    }
    assert!(all.values().all(|message| message.state != MessageState::Dispatching));
    // The store is as good as new.
    let new = NewMessage { purpose: Purpose::Notice, ..message(7, "still here") };
    assert_eq!(wait(store.post(new)).unwrap().seq, 1);
    assert!(wait(store.receivers_waiting()).unwrap().contains(&terminal(7)));
}
