//! What backends that follow a program from afar have in common.

#[cfg(any(feature = "docker", feature = "ssh"))]
pub(crate) mod carried;
pub(crate) mod clients;
pub(crate) mod fate;
pub(crate) mod greeting;
#[cfg(any(feature = "docker", feature = "herdr", feature = "ssh"))]
pub(crate) mod here;
pub(crate) mod look_after;
#[cfg(any(feature = "blaxel", feature = "ssh"))]
pub(crate) mod program;
#[cfg(any(feature = "docker", feature = "remote", feature = "ssh"))]
pub(crate) mod signals;
#[cfg(any(feature = "blaxel", feature = "ssh"))]
pub(crate) mod typed;

use std::future::Future;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::StartError;

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
