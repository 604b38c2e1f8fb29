//! What backends that follow a program from afar have in common.

pub(crate) mod clients;
pub(crate) mod greeting;
pub(crate) mod look_after;

use std::future::Future;
use std::task::{Context, Poll};

use ptyard_core::{ErrorCode, Exit};
use ptyard_terminal::backend::{BoxFuture, StartError};
use tokio::sync::watch;

/// The end of a program as it becomes known, for whoever asks.
pub(crate) type ExitWatch = watch::Receiver<Option<Exit>>;

/// The end of a program, as the one who polls for it sees it.
pub(crate) enum End {
    Awaited(BoxFuture<'static, Exit>),
    Known(Exit),
}

impl End {
    /// An end that somebody publishes; `lost` when whoever would have is gone.
    pub(crate) fn awaited(mut exit: ExitWatch) -> Self {
        Self::Awaited(Box::pin(async move {
            match exit.wait_for(Option::is_some).await {
                Ok(exit) => exit.clone().unwrap_or_else(Exit::lost),
                Err(_) => Exit::lost(),
            }
        }))
    }

    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Exit> {
        let exit = match self {
            Self::Known(exit) => return Poll::Ready(exit.clone()),
            Self::Awaited(end) => std::task::ready!(end.as_mut().poll(cx)),
        };
        *self = Self::Known(exit.clone());
        Poll::Ready(exit)
    }
}

/// A start that failed.
pub(crate) fn start_error(code: ErrorCode, message: impl Into<String>) -> StartError {
    StartError { code, message: message.into() }
}

/// Runs a start to its end whatever becomes of the caller: when nobody takes the result it is dropped, and that ends
/// the program.
pub(crate) async fn undisturbed<T: Send + 'static>(
    start: impl Future<Output = Result<T, StartError>> + Send + 'static,
) -> Result<T, StartError> {
    match tokio::spawn(start).await {
        Ok(result) => result,
        Err(error) => Err(start_error(ErrorCode::Internal, format!("the start broke off: {error}"))),
    }
}
