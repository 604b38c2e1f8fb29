//! `ptyard gc`.

use ptyard_server::api::leftovers::{SweepReply, SweepRequest};

use super::Place;
use crate::failure::{Failure, status};
use crate::print::printable;

pub(super) async fn gc(place: &Place, backend: Option<String>, dry_run: bool) -> Result<u8, Failure> {
    let request = SweepRequest { backend, dry_run };
    let reply = place.client().await?.sweep(&request).await?;
    place.show(&reply, text)?;
    Ok(if reply.ok { status::DONE } else { status::FAILED })
}

fn text(reply: &SweepReply) -> String {
    let mut text: String = reply
        .leftovers
        .iter()
        .map(|leftover| {
            let terminal = leftover.terminal.as_deref().unwrap_or("nobody knows");
            let why =
                leftover.message.as_ref().map_or_else(String::new, |why| format!(": {}", printable(why)));
            let (outcome, backend) = (&leftover.outcome, &leftover.backend);
            format!("{outcome:<5}  {backend}: {}, made for {terminal}{why}\n", printable(&leftover.what))
        })
        .collect();
    if text.is_empty() {
        text.push_str("nothing is left over\n");
    }
    for unreachable in &reply.unreachable {
        text += &format!("note   {}: {}\n", unreachable.backend, printable(&unreachable.message));
    }
    text
}
