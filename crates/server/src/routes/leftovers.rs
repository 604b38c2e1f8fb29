//! Ending what servers that died left behind.

use axum::Json;
use axum::extract::State;
use ptyard_yard::leftovers::{Outcome, Sweep, Swept};

use crate::api::ErrorReply;
use crate::api::leftovers::{Leftover, SweepReply, SweepRequest, Unreachable};
use crate::error::ApiError;
use crate::extract::OptionalPayload;
use crate::routes::Shared;

/// Finds what servers of this state left at the places of backends, and ends it.
#[utoipa::path(post, path = "/v1/gc", operation_id = "gc", request_body = SweepRequest,
    responses((status = 200, body = SweepReply), (status = "default", body = ErrorReply)))]
pub(crate) async fn sweep(
    State(shared): State<Shared>,
    OptionalPayload(request): OptionalPayload<SweepRequest>,
) -> Result<Json<SweepReply>, ApiError> {
    let how = if request.dry_run { Sweep::Look } else { Sweep::End };
    let swept = shared.yard.sweep(request.backend.as_deref(), how).await?;
    Ok(Json(reply(&request, swept)))
}

fn reply(request: &SweepRequest, swept: Swept) -> SweepReply {
    let all_ended = !swept.leftovers.iter().any(|leftover| matches!(leftover.outcome, Outcome::Stays(_)));
    let leftover = |leftover: ptyard_yard::leftovers::Leftover| {
        let (outcome, message) = match leftover.outcome {
            Outcome::Found => ("found", None),
            Outcome::Ended => ("ended", None),
            Outcome::Stays(why) => ("stays", Some(why)),
        };
        Leftover {
            backend: leftover.backend.to_owned(),
            what: leftover.what,
            terminal: leftover.terminal.map(|id| id.to_string()),
            outcome: outcome.to_owned(),
            message,
        }
    };
    SweepReply {
        // Without a name, one that cannot be asked is most likely one that nobody uses here.
        ok: all_ended && (request.backend.is_none() || swept.unreachable.is_empty()),
        dry_run: request.dry_run,
        leftovers: swept.leftovers.into_iter().map(leftover).collect(),
        unreachable: swept
            .unreachable
            .into_iter()
            .map(|(backend, message)| Unreachable { backend: backend.to_owned(), message })
            .collect(),
    }
}
