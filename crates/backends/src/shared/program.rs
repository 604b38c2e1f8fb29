//! A program that a carrier of ours runs where it is: `program.py`, and behind it what carries its bytes.
//!
//! The shell that was greeted becomes the carrier (`Greeting::handing_over`), which says that it is ready and reads one
//! line more: what it is to run. So nothing of the program stands among arguments.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, StartError, StartSpec, Stdin};
use serde_json::json;

use super::greeting::{BEGIN, END, quoted};
use super::start_error;

/// What runs it.
const PROGRAM: &str = include_str!("program.py");

/// What the shell does: it becomes this carrier, which is given the word and these arguments, words of letters, digits
/// and dashes.
pub(crate) fn script(carrier: &str, word: &str, arguments: &[&str]) -> String {
    let carrier = quoted(&format!("{PROGRAM}{carrier}"));
    let arguments = arguments.join(" ");
    format!(
        "command -v python3 >/dev/null 2>&1 || {{ printf '{BEGIN}{word}:bare{END}'; IFS= read -r s; exit 127; }}\n\
         exec python3 -I -S -c {carrier} {word} {arguments}\n"
    )
}

/// What the carrier is to run, as one line. `alone` is how long it stays when nobody is heard.
pub(crate) fn order(spec: &StartSpec, alone: Duration) -> String {
    let (io, size) = match spec.io {
        Io::Tty(size) => ("tty", size),
        Io::Pipes(Stdin::Null) => ("null", spec.io.size()),
        Io::Pipes(Stdin::Pipe) => ("pipe", spec.io.size()),
    };
    let order = json!({
        "id": spec.id.to_string(),
        "argv": spec.argv,
        "env": spec.env,
        "cwd": spec.cwd.to_string_lossy(),
        "io": io,
        "cols": size.cols(),
        "rows": size.rows(),
        "alone": alone.as_secs_f64(),
    });
    STANDARD.encode(order.to_string()) + "\n"
}

/// Whether it can be run at all.
pub(crate) fn check(spec: &StartSpec) -> Result<(), StartError> {
    let has_nul = |text: &String| text.contains('\0');
    let is_bad_name = |name: &String| name.is_empty() || name.contains(['=', '\0']);
    if spec.argv.is_empty() || spec.argv.iter().any(has_nul) {
        return Err(start_error(
            ErrorCode::InvalidArgument,
            "an argument list is empty or holds a NUL character",
        ));
    }
    match spec.env.iter().find(|(name, value)| is_bad_name(name) || has_nul(value)) {
        Some((name, _)) => {
            let message = format!("{name:?} cannot be a variable");
            Err(start_error(ErrorCode::InvalidArgument, message))
        }
        None => Ok(()),
    }
}
