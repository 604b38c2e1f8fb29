//! The way of a start.

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, Questions, Sink, StartError, StartSpec, Started, Stdin};

use super::Where;
use super::api::{Api, SandboxId};
use super::exec::{self, START_LIMIT};
use super::follow::follow;
use super::input::Input;
use super::place::{Joined, Place};
use crate::remote::control::SandboxControl;
use crate::remote::http::CallError;
use crate::remote::lodging::{Guarded, Lodger, Lodging, Whose};
use crate::remote::output::Output;
use crate::shared::start_error;

pub(super) async fn start(api: &Api, place: &Where, spec: StartSpec) -> Result<Started, StartError> {
    let (_none, unheld) =
        spec.ceilings.split(|_| Some("a sandbox's limits are the vendor's own".to_owned()))?;
    if spec.argv.first().is_none_or(String::is_empty) {
        return Err(start_error(ErrorCode::InvalidArgument, "the argument list is empty"));
    }
    if spec.argv.iter().any(|argument| argument.contains('\0')) {
        return Err(start_error(ErrorCode::InvalidArgument, "an argument holds a NUL character"));
    }
    let place = join(api, place, &spec).await?;
    let guarded = Guarded::new(place.clone(), spec.id);
    place.look(&spec).await?;
    let of_program = |error: CallError| error.of_start("the program");
    let joined = place.joined().await.map_err(of_program)?;
    let order = exec::start(joined.router.task(), &spec);
    // Made again it is the same start, by its id.
    joined.router.ask(&order, START_LIMIT).await.map_err(of_program)?;
    let followed = follow(&place, spec.id, 0);
    let sink: Option<Box<dyn Sink>> = match spec.io {
        Io::Pipes(Stdin::Null) => None,
        io => Some(Box::new(Input::new(place.clone(), spec.id, io, followed.fate.exit()))),
    };
    guarded.keep();
    Ok(Started {
        source: Box::new(Output::new(followed.output)),
        sink,
        control: Box::new(SandboxControl::new(place, Lodger::unknown(spec.id), spec.io, followed.fate)),
        questions: Questions::Ours,
        pid: None,
        unheld,
    })
}

/// Makes or finds the sandbox.
async fn join(api: &Api, place: &Where, spec: &StartSpec) -> Result<Place, StartError> {
    let (joined, whose, name) = match place {
        Where::Image(image) => {
            let sandbox = api.make(image, spec.id).await.map_err(|error| error.of_start(image))?;
            let joined = Joined::of(api, sandbox.clone()).await;
            if joined.is_err()
                && let Err(error) = api.remove(&sandbox).await
            {
                tracing::warn!(sandbox = sandbox.0, %error, "a sandbox may be left");
            }
            (joined, Whose::Ours, image)
        }
        Where::Sandbox(id) => (Joined::of(api, SandboxId(id.clone())).await, Whose::Theirs, id),
        Where::Nowhere => {
            return Err(start_error(ErrorCode::InvalidArgument, "modal needs an image or a sandbox"));
        }
    };
    let joined = joined.map_err(|error| error.of_start(name))?;
    Ok(Place::there(joined, whose, name))
}
