//! The rules of the inbox against a plain model in memory: whatever is done in whatever order, both say the same.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use ptyard_core::{AttemptId, ErrorCode, MessageId};
use ptyard_store::inbox::{
    Batch, Claim, Due, MessageState, NewMessage, Origin, Page, Purpose, Select, Turn, Urgency,
};
use ptyard_store::{Inbox, StoreError, Terminals};

use crate::support::{Place, at, message, owner, receipt, terminal, wait};

#[derive(Debug, Clone)]
enum Op {
    Post {
        to: u8,
        from: u8,
        purpose: Purpose,
        urgency: Urgency,
        key: Option<u8>,
        len: u8,
    },
    Claim {
        to: u8,
        owner: u8,
        batch: Batch,
        due: Due,
    },
    /// About the attempt that many before the newest.
    Say {
        back: u8,
        what: Say,
    },
    Cancel {
        back: u8,
    },
    Retry {
        back: u8,
    },
    TakeOver {
        owner: u8,
    },
    Forget {
        keep: u8,
    },
    RemoveReceiver {
        to: u8,
    },
    GiveUp {
        to: u8,
    },
    Reopen,
}

#[derive(Debug, Clone, Copy)]
enum Say {
    Confirm,
    Abort,
    Fail,
    Lose,
    Complete,
}

fn op() -> impl Strategy<Value = Op> {
    use Purpose::{Assign, Handoff, Message, Notice};
    let purpose = prop_oneof![6 => Just(Message), 1 => Just(Handoff), 1 => Just(Assign), 1 => Just(Notice)];
    let urgency = prop_oneof![4 => Just(Urgency::Ready), 1 => Just(Urgency::Now)];
    let key = prop_oneof![3 => Just(None), 1 => (0..3_u8).prop_map(Some)];
    let batch = prop_oneof![
        Just(Batch::One),
        (0..5_u32, 0..40_u64).prop_map(|(most, bytes)| Batch::Run { most, bytes }),
        Just(Batch::Run { most: 100, bytes: 1_000 }),
    ];
    let due = prop_oneof![3 => Just(Due::All), 1 => Just(Due::Urgent)];
    let say = prop_oneof![
        3 => Just(Say::Confirm),
        1 => Just(Say::Abort),
        1 => Just(Say::Fail),
        1 => Just(Say::Lose),
        1 => Just(Say::Complete),
    ];
    prop_oneof![
        8 => (0..2_u8, 0..5_u8, purpose, urgency, key, 0..20_u8)
            .prop_map(|(to, from, purpose, urgency, key, len)| Op::Post { to, from, purpose, urgency, key, len }),
        5 => (0..2_u8, 0..2_u8, batch, due).prop_map(|(to, owner, batch, due)| Op::Claim { to, owner, batch, due }),
        8 => (0..4_u8, say).prop_map(|(back, what)| Op::Say { back, what }),
        2 => (0..8_u8).prop_map(|back| Op::Cancel { back }),
        2 => (0..8_u8).prop_map(|back| Op::Retry { back }),
        1 => (0..3_u8).prop_map(|owner| Op::TakeOver { owner }),
        1 => (0..6_u8).prop_map(|keep| Op::Forget { keep }),
        1 => (0..2_u8).prop_map(|to| Op::RemoveReceiver { to }),
        1 => (0..2_u8).prop_map(|to| Op::GiveUp { to }),
        1 => Just(Op::Reopen),
    ]
}

#[derive(Debug, Clone, PartialEq)]
struct Letter {
    seq: u64,
    posted: NewMessage,
    state: MessageState,
    attempts: u32,
    attempt: Option<AttemptId>,
    reason: Option<String>,
    turn: Option<Turn>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Over {
    No,
    Uncertain,
    Yes,
}

#[derive(Debug, Clone)]
struct Try {
    to: u8,
    owner: u8,
    over: Over,
}

/// The inbox as one would write it without a database.
#[derive(Debug, Default)]
struct Model {
    letters: BTreeMap<MessageId, Letter>,
    tries: Vec<(AttemptId, Try)>,
    last_seq: BTreeMap<u8, u64>,
    last_id: u64,
}

impl Model {
    fn post(&mut self, to: u8, new: &NewMessage) -> Result<(MessageId, u64, bool), ErrorCode> {
        let same_key = |letter: &&Letter| letter.posted.to == new.to && letter.posted.key == new.key;
        if new.key.is_some()
            && let Some((id, letter)) = self.letters.iter().find(|(_, letter)| same_key(letter))
        {
            let content = |m: &NewMessage| (m.text.clone(), m.purpose, m.from, m.origin.clone());
            let same = content(&letter.posted) == content(new);
            return if same { Ok((*id, letter.seq, true)) } else { Err(ErrorCode::KeyConflict) };
        }
        self.last_id += 1;
        let id = MessageId::new(self.last_id);
        let seq = self.last_seq.entry(to).or_default();
        *seq += 1;
        let letter = Letter {
            seq: *seq,
            posted: new.clone(),
            state: MessageState::Pending,
            attempts: 0,
            attempt: None,
            reason: None,
            turn: None,
        };
        self.letters.insert(id, letter);
        Ok((id, *seq, false))
    }

    fn claim(&self, to: u8, batch: Batch, due: Due) -> Vec<MessageId> {
        if self.tries.iter().any(|(_, one)| one.to == to && one.over == Over::No) {
            return Vec::new();
        }
        let is_due = |letter: &&Letter| {
            letter.posted.to == terminal(to.into())
                && letter.state == MessageState::Pending
                && (due == Due::All || letter.posted.urgency == Urgency::Now)
        };
        let mut waiting: Vec<_> = self.letters.iter().filter(|(_, letter)| is_due(letter)).collect();
        waiting.sort_by_key(|(_, letter)| (letter.posted.urgency != Urgency::Now, letter.seq));
        let Some((first_id, first)) = waiting.first().copied() else { return Vec::new() };
        let mut taken = vec![*first_id];
        let Batch::Run { most, bytes } = batch else { return taken };
        let mut sum = first.posted.text.len() as u64;
        for (id, letter) in waiting.into_iter().skip(1) {
            sum += letter.posted.text.len() as u64;
            let goes_with = letter.posted.from == first.posted.from
                && letter.posted.origin == first.posted.origin
                && letter.posted.purpose == first.posted.purpose
                && letter.posted.urgency == first.posted.urgency
                && matches!(first.posted.purpose, Purpose::Message | Purpose::Notice);
            if !goes_with || taken.len() >= most as usize || sum > bytes {
                break;
            }
            taken.push(*id);
        }
        taken
    }

    fn take(&mut self, attempt: AttemptId, to: u8, owner: u8, ids: &[MessageId]) {
        self.tries.push((attempt, Try { to, owner, over: Over::No }));
        for id in ids {
            let letter = self.letters.get_mut(id).unwrap();
            letter.state = MessageState::Dispatching;
            letter.attempts += 1;
            letter.attempt = Some(attempt);
            letter.reason = None;
        }
    }

    /// Whether it may be said; and if so it is done.
    fn say(&mut self, attempt: AttemptId, what: Say, why: &str) -> bool {
        let one = &mut self.tries.iter_mut().find(|(id, _)| *id == attempt).unwrap().1;
        let open = one.over == Over::No;
        let (may, over, state) = match what {
            Say::Complete => {
                for letter in self.letters.values_mut() {
                    if letter.attempt == Some(attempt) && letter.state == MessageState::Delivered {
                        letter.turn = Some(Turn::Completed);
                    }
                }
                return true;
            }
            Say::Confirm => (one.over != Over::Yes, Over::Yes, MessageState::Delivered),
            Say::Fail => (one.over != Over::Yes, Over::Yes, MessageState::Failed),
            Say::Lose => (open, Over::Uncertain, MessageState::Uncertain),
            Say::Abort => (open, Over::Yes, MessageState::Pending),
        };
        if !may {
            return false;
        }
        one.over = over;
        for letter in self.letters.values_mut().filter(|letter| letter.attempt == Some(attempt)) {
            if matches!(letter.state, MessageState::Dispatching | MessageState::Uncertain) {
                letter.state = state;
                letter.reason = (state != MessageState::Delivered).then(|| why.to_owned());
                letter.turn = (state == MessageState::Delivered).then_some(Turn::Open);
            }
        }
        true
    }

    fn give_up(&mut self, to: u8, why: &str) -> Vec<MessageId> {
        let mut given_up = Vec::new();
        for (id, letter) in &mut self.letters {
            if letter.posted.to == terminal(to.into()) && letter.state == MessageState::Pending {
                (letter.state, letter.reason) = (MessageState::Failed, Some(why.to_owned()));
                given_up.push(*id);
            }
        }
        given_up
    }

    fn forget(&mut self, keep: usize) -> u64 {
        let settled = |letter: &Letter| {
            matches!(letter.state, MessageState::Delivered | MessageState::Failed | MessageState::Cancelled)
        };
        let old: Vec<_> = self.letters.iter().filter(|(_, l)| settled(l)).map(|(id, _)| *id).collect();
        let gone = &old[..old.len().saturating_sub(keep)];
        for id in gone {
            self.letters.remove(id);
        }
        if !gone.is_empty() {
            let used: BTreeSet<_> = self.letters.values().filter_map(|letter| letter.attempt).collect();
            self.tries.retain(|(id, one)| one.over == Over::No || used.contains(id));
        }
        gone.len() as u64
    }
}

fn attempt_of(model: &Model, back: u8) -> Option<AttemptId> {
    let index = model.tries.len().checked_sub(1 + usize::from(back))?;
    Some(model.tries[index].0)
}

fn step(place: &Place, model: &mut Model, op: &Op) {
    let store = &place.store;
    match op {
        Op::Post { to, from, purpose, urgency, key, len } => {
            let new = NewMessage {
                from: matches!(from, 1 | 2).then(|| terminal(100 + u128::from(*from))),
                origin: match from {
                    3 => Some(Origin::Client("ui".to_owned())),
                    4 => Some(Origin::Flow("ui".to_owned())),
                    _ => None,
                },
                purpose: *purpose,
                urgency: *urgency,
                key: key.map(|key| format!("key {key}")),
                // The clock of the machine goes backwards, and nobody is disturbed.
                at: at(1_000_000 - model.last_id),
                ..message((*to).into(), &"ä".repeat((*len / 2).into()))
            };
            let told = wait(store.post(new.clone())).map(|p| (p.id, p.seq, p.repeated));
            assert_eq!(told.map_err(|error| error.code()), model.post(*to, &new));
        }
        Op::Claim { to, owner: by, batch, due } => {
            let claim = Claim {
                receiver: terminal((*to).into()),
                owner: owner(&by.to_string()),
                batch: *batch,
                due: *due,
            };
            let taken = wait(store.claim(claim)).unwrap();
            let ids: Vec<_> =
                taken.iter().flat_map(|attempt| attempt.messages.iter().map(|message| message.id)).collect();
            assert_eq!(ids, model.claim(*to, *batch, *due));
            if let Some(attempt) = taken {
                model.take(attempt.id, *to, *by, &ids);
            }
        }
        Op::Say { back, what } => {
            let Some(attempt) = attempt_of(model, *back) else { return };
            let why = format!("because of {what:?}");
            let told = match what {
                Say::Confirm => wait(store.confirm(attempt, receipt())),
                Say::Abort => wait(store.abort(attempt, why.clone())),
                Say::Fail => wait(store.fail(attempt, why.clone())),
                Say::Lose => wait(store.lose(attempt, why.clone())),
                Say::Complete => wait(store.complete_turn(attempt)),
            };
            let told = told.map(|messages| {
                assert!(messages.iter().all(|message| message.attempt == Some(attempt)));
            });
            let may = model.say(attempt, *what, &why);
            let expected = if may { Ok(()) } else { Err(StoreError::AttemptOver(attempt)) };
            assert_eq!(told, expected, "{what:?}");
        }
        Op::Cancel { back } | Op::Retry { back } => {
            let id = MessageId::new(model.last_id.saturating_sub((*back).into()));
            let cancel = matches!(op, Op::Cancel { .. });
            let told = if cancel { wait(store.cancel(id)) } else { wait(store.retry(id)) };
            let code = told.map(|message| message.state).map_err(|error| error.code());
            let Some(letter) = model.letters.get_mut(&id) else {
                assert_eq!(code, Err(ErrorCode::UnknownMessage));
                return;
            };
            use MessageState::{Cancelled, Delivered, Dispatching, Pending};
            match letter.state {
                Dispatching | Delivered => assert_eq!(code, Err(ErrorCode::MessageSettled)),
                Cancelled if cancel => assert_eq!(code, Ok(Cancelled)),
                Pending if !cancel => assert_eq!(code, Ok(Pending)),
                _ if cancel => {
                    letter.state = Cancelled;
                    assert_eq!(code, Ok(Cancelled));
                }
                _ => {
                    (letter.state, letter.attempt, letter.reason) = (Pending, None, None);
                    assert_eq!(code, Ok(Pending));
                }
            }
        }
        Op::TakeOver { owner: by } => {
            let found = wait(store.take_over(owner(&by.to_string()))).unwrap();
            let mut found = found.into_iter();
            for (id, one) in model.tries.iter_mut().filter(|(_, one)| one.over == Over::No) {
                if one.owner == *by {
                    continue;
                }
                one.owner = *by;
                let attempt = found.next().unwrap();
                assert_eq!((attempt.id, attempt.receiver), (*id, terminal(one.to.into())));
                let of_it = model.letters.iter().filter(|(_, letter)| letter.attempt == Some(*id));
                let ids: Vec<_> = attempt.messages.iter().map(|message| message.id).collect();
                assert_eq!(ids, of_it.map(|(id, _)| *id).collect::<Vec<_>>());
            }
            assert_eq!(found.next(), None);
        }
        Op::Forget { keep } => {
            assert_eq!(wait(store.forget_settled((*keep).into())).unwrap(), model.forget((*keep).into()));
        }
        Op::RemoveReceiver { to } => {
            wait(store.remove_terminal(terminal((*to).into()))).unwrap();
            let open = model.tries.iter().find(|(_, one)| one.to == *to && one.over == Over::No).cloned();
            if let Some((id, _)) = open {
                assert!(model.say(id, Say::Lose, "receiver_removed"));
            }
            model.give_up(*to, "receiver_removed");
        }
        Op::GiveUp { to } => {
            let told = wait(store.give_up(terminal((*to).into()), "receiver_exited".to_owned())).unwrap();
            let ids: Vec<_> = told.iter().map(|message| message.id).collect();
            assert_eq!(ids, model.give_up(*to, "receiver_exited"));
            assert!(told.iter().all(|message| message.state == MessageState::Failed));
        }
        Op::Reopen => {}
    }
}

fn compare(place: &Place, model: &Model) {
    let all = wait(place.store.messages(Select::default(), Page { after: None, most: 1_000 })).unwrap();
    let told: BTreeMap<_, _> = all
        .into_iter()
        .map(|m| {
            let posted = NewMessage {
                to: m.to,
                from: m.from,
                origin: m.origin,
                purpose: m.purpose,
                text: m.text,
                key: m.key,
                urgency: m.urgency,
                at: m.created_at,
            };
            let letter = Letter {
                seq: m.seq,
                posted,
                state: m.state,
                attempts: m.attempts,
                attempt: m.attempt,
                reason: m.reason,
                turn: m.turn,
            };
            (m.id, letter)
        })
        .collect();
    assert_eq!(told, model.letters);
    for to in 0..2_u8 {
        let count = |state| {
            let of = |letter: &&Letter| letter.posted.to == terminal(to.into()) && letter.state == state;
            model.letters.values().filter(of).count() as u64
        };
        let mailbox = wait(place.store.mailbox(terminal(to.into()))).unwrap();
        assert_eq!(mailbox.pending, count(MessageState::Pending));
        let urgent = |letter: &&Letter| {
            let Letter { posted, state, .. } = letter;
            posted.to == terminal(to.into())
                && *state == MessageState::Pending
                && posted.urgency == Urgency::Now
        };
        let urgent = model.letters.values().filter(urgent).count() as u64;
        assert_eq!(mailbox.urgent, urgent);
        assert_eq!(wait(place.store.has_urgent(terminal(to.into()))).unwrap(), urgent > 0);
        assert_eq!(mailbox.uncertain, count(MessageState::Uncertain));
        let waiting = wait(place.store.receivers_waiting()).unwrap();
        assert_eq!(waiting.contains(&terminal(to.into())), mailbox.pending > 0);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn law_10_law_12_law_13_the_inbox_does_what_its_model_does(ops in prop::collection::vec(op(), 1..60)) {
        let mut place = Place::fast();
        let mut model = Model::default();
        for op in &ops {
            step(&place, &mut model, op);
            if matches!(op, Op::Reopen) {
                place = place.reopened();
            }
            compare(&place, &model);
        }
    }
}
