//! `ptyard wait`.

use std::time::Duration;

use ptyard_server::api::{WaitReply, WaitRequest};

use super::{Place, window};
use crate::args::WaitArgs;
use crate::failure::{Failure, status};

pub(super) async fn wait(place: &Place, args: &WaitArgs) -> Result<u8, Failure> {
    let timeout_ms = args.timeout.map(milliseconds).transpose()?;
    let request = WaitRequest { until: args.until.clone(), timeout_ms, since: None };
    let mut client = place.client().await?;
    let reply = client.wait(&args.at.id, &request).await?;
    place.show(&reply, text)?;
    Ok(if holds(&reply, &request.until) { status::DONE } else { status::FAILED })
}

pub(super) fn milliseconds(seconds: f64) -> Result<u64, Failure> {
    Duration::try_from_secs_f64(seconds)
        .ok()
        .and_then(|timeout| u64::try_from(timeout.as_millis()).ok())
        .ok_or_else(|| {
            Failure::usage(format!("--timeout {seconds} is not a time"), "give seconds, for example 2.5")
        })
}

/// Whether what ended the wait is one of the conditions asked for.
fn holds(reply: &WaitReply, until: &[String]) -> bool {
    until.iter().any(|condition| condition.split(':').next() == Some(reply.ended_by.as_str()))
}

fn text(reply: &WaitReply) -> String {
    let mut text = format!("{} at offset {}", reply.ended_by, reply.offset);
    if let Some(matched) = &reply.matched {
        text.push_str(&format!(": {}", crate::print::printable(matched)));
    }
    if let Some(exit) = &reply.exit {
        text.push_str(&format!("; {}", window::ended(exit)));
    }
    text + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_holds_only_when_a_condition_asked_for_ended_it() {
        let reply = |by: &str| WaitReply {
            id: "t".into(),
            ended_by: by.into(),
            matched: None,
            offset: 0,
            exit: None,
        };
        let until = ["regex:exit:".to_owned(), "quiet:5".to_owned()];
        assert!(holds(&reply("regex"), &until) && holds(&reply("quiet"), &until));
        assert!(!holds(&reply("exit"), &until) && !holds(&reply("deadline"), &until));
    }

    #[test]
    fn a_timeout_is_a_time() {
        assert_eq!(milliseconds(2.5).unwrap(), 2500);
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            assert_eq!(milliseconds(bad).unwrap_err().status(), status::USAGE);
        }
    }
}
