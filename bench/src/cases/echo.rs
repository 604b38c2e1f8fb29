//! How long it takes from typing until the program's answer is in the caller's hands.
//!
//! The program is `cat` on a tty in raw mode without echo, so that what comes back is the program's and comes once.

use std::time::Duration;

use ptyard_server::api::{Input, WriteRequest};
use ptyard_yard::{FollowItem, TerminalRef};

use crate::Outcome;
use crate::bed::Bed;
use crate::placement::Placement;
use crate::report::{Goal, Report, Row};
use crate::rounds::Samples;
use crate::server::{self, Server};
use crate::tty::Tty;
use crate::yard::{self, InProcess};

const CASE: &str = "echo";

/// Answers of each contender, over all rounds.
const ANSWERS: u32 = 2_000;

const LONGEST: Duration = Duration::from_secs(10);

/// `ready` is printed when the tty is as it is to be.
const CAT: [&str; 3] = ["sh", "-c", "stty raw -echo; printf ready; exec cat"];

/// Different every time, so that no answer is taken for another.
fn question(number: u32) -> String {
    format!("<{number}>")
}

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    for placement in [Placement::OneProcessor, Placement::Anywhere] {
        let _pinned = placement.take()?;
        measure(bed, placement, report).await?;
    }
    Ok(())
}

async fn measure(bed: &Bed, placement: Placement, report: &mut Report) -> Outcome<()> {
    let mut plain = Tty::start(&CAT)?;
    plain.read_until(b"ready")?;
    let place = InProcess::open()?;
    let ours = place.exec(&CAT, yard::until("regex:ready", LONGEST)).await?.id;
    let followed = place.exec(&CAT, yard::until("regex:ready", LONGEST)).await?.id;
    let mut server = Server::start(&bed.ptyard).await?;
    let theirs = server::id(
        &server.client.exec(&server::on_a_tty(&CAT, server::until("regex:ready", LONGEST))).await?,
    );

    let [mut limit, mut written, mut streamed, mut socket] = [const { Samples::none() }; 4];
    let per_round = ANSWERS.div_ceil(bed.rounds);
    for round in 0..bed.rounds {
        let numbers = round * per_round..(round + 1) * per_round;
        for number in numbers.clone() {
            let asked = question(number);
            limit
                .time(async || {
                    Ok(plain.write(asked.as_bytes()).and_then(|()| plain.read_until(asked.as_bytes()))?)
                })
                .await?;
        }
        for number in numbers.clone() {
            let asked = question(number);
            let window = yard::until(&format!("regex:{asked}"), LONGEST);
            written
                .time(async || expect(place.write(ours, asked.into_bytes(), window).await?.ended_by))
                .await?;
        }
        let at = TerminalRef::Id(followed);
        let mut follow = place.yard.follow(&at, None)?;
        for number in numbers.clone() {
            let asked = question(number).into_bytes();
            streamed
                .time(async || {
                    place.yard.type_bytes(&at, asked.clone()).await?;
                    let mut seen = Vec::new();
                    while !seen.ends_with(&asked) {
                        let Some(FollowItem::Bytes { data, .. }) = follow.next().await else {
                            return Err("the output ended".into());
                        };
                        seen.extend(data);
                    }
                    Ok(())
                })
                .await?;
        }
        for number in numbers {
            let asked = question(number);
            let window = server::until(&format!("regex:{asked}"), LONGEST);
            let request = WriteRequest { input: Input::Chars(asked), window, ..WriteRequest::default() };
            socket.time(async || expect(&server.client.write(&theirs, &request).await?.ended_by)).await?;
        }
    }
    server.stop().await?;
    place.close().await;

    let on = match placement {
        Placement::OneProcessor => "on one processor",
        Placement::Anywhere => "anywhere",
    };
    let name = format!("plain write and read, {on}");
    report.push(row(&name, &limit));
    for (what, samples) in
        [("in process, write until regex", &written), ("in process, type and follow", &streamed)]
    {
        let ours = row(&format!("{what}, {on}"), samples).against(&name, samples.median() / limit.median());
        // Elsewhere the kernel decides by the minute whether a pair shares a processor, for each pair by itself: an idle
        // processor takes twenty times as long to wake as all the work takes.
        report.push(if placement == Placement::OneProcessor {
            ours.goal(Goal::RatioAtMost(3.0))
        } else {
            ours
        });
    }
    let over = row(&format!("over the socket, write until regex, {on}"), &socket);
    report.push(over.against(&name, socket.median() / limit.median()).goal(Goal::AtMost(0.5)));
    Ok(())
}

fn row(what: &str, samples: &Samples) -> Row {
    let note = format!("p50 of {ANSWERS}; p99 {:.3} ms", samples.quantile(0.99));
    Row::median(CASE, what, samples, "ms").note(note)
}

fn expect(ended_by: &str) -> Outcome<()> {
    if ended_by == "regex" { Ok(()) } else { Err(format!("an answer ended by {ended_by}").into()) }
}
