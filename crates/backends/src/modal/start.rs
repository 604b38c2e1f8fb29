//! The way of a start.

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Questions, Sink, StartError, StartSpec, Started, Stdin};

use super::Where;
use super::api::{Api, SandboxId, name_of};
use super::exec::{self, START_LIMIT};
use super::follow::follow;
use super::place::{Joined, Place};
use super::typist::Typist;
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::input::Input;
use crate::remote::ledger::Ledger;
use crate::remote::listed::{Entry, Listed};
use crate::remote::lodging::{Guarded, Lodger, Lodging, Whose};
use crate::remote::output::Output;
use crate::shared::start_error;

pub(super) async fn start(
    api: &Api,
    ledger: &Ledger,
    place: &Where,
    spec: StartSpec,
) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are the vendor's own".to_owned()))?;
    if spec.argv.first().is_none_or(String::is_empty) {
        return Err(start_error(ErrorCode::InvalidArgument, "the argument list is empty"));
    }
    if spec.argv.iter().any(|argument| argument.contains('\0')) {
        return Err(start_error(ErrorCode::InvalidArgument, "an argument holds a NUL character"));
    }
    let entry = match place {
        Where::Image(_) => Entry { sandbox: name_of(spec.id), whose: Whose::Ours, id: spec.id },
        Where::Sandbox(id) => Entry { sandbox: id.clone(), whose: Whose::Theirs, id: spec.id },
        Where::Nowhere => {
            return Err(start_error(ErrorCode::InvalidArgument, "modal needs an image or a sandbox"));
        }
    };
    ledger.enter(&entry).await.map_err(|error| error.of_start("the sandbox"))?;
    let joined = match join(api, place, &spec).await {
        Ok(joined) => joined,
        Err(error) => {
            // One that was made although no answer came stays on the list.
            if !matches!(error, CallError::Broken(_) | CallError::Garbled(_)) {
                ledger.leave_out(&entry).await;
            }
            return Err(error.of_start(place.word()));
        }
    };
    let place = Place::there(joined, entry.whose, place.word());
    let there = Listed::new(place.clone(), ledger, &entry);
    let guarded = Guarded::new(there.clone(), spec.id);
    place.look(&spec).await?;
    let of_program = |error: CallError| error.of_start("the program");
    let joined = place.joined().await.map_err(of_program)?;
    let order = exec::start(joined.router.task(), &spec);
    // Made again it is the same start, by its id.
    joined.router.ask(&order, START_LIMIT).await.map_err(of_program)?;
    let followed = follow(&place, spec.id, 0);
    let sink: Option<Box<dyn Sink>> = match spec.io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(Typist::new(place.clone(), spec.id), io, followed.fate.exit()))),
    };
    guarded.keep();
    Ok(Started {
        source: Box::new(Output::new(followed.output)),
        sink,
        control: Box::new(SandboxControl::new(there, Lodger::unknown(spec.id), spec.io, followed.fate)),
        questions: Questions::Ours,
        pid: None,
        unheld,
    })
}

/// Makes or finds the sandbox, and its machine.
async fn join(api: &Api, place: &Where, spec: &StartSpec) -> Result<Joined, CallError> {
    let Where::Image(image) = place else {
        return Joined::of(api, SandboxId(place.word().to_owned())).await;
    };
    let sandbox = api.make(image, spec.id).await?;
    let joined = Joined::of(api, sandbox.clone()).await;
    if joined.is_err()
        && let Err(error) = api.remove(&sandbox).await
    {
        tracing::warn!(sandbox = sandbox.0, %error, "a sandbox may be left");
    }
    joined
}
