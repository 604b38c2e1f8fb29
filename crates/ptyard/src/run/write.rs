//! `ptyard write`.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::ErrorCode;
use ptyard_server::api::{Input, WindowRequest, WriteRequest};

use super::{Place, window};
use crate::args::{TypedArgs, WindowArgs, WriteArgs};
use crate::client::Client;
use crate::failure::{Failure, status};

/// Bytes of a file in one request: what one request may hold.
const PART_BYTES: usize = 1 << 20;
/// A program that takes nothing for this long does not read.
const STALL: Duration = Duration::from_secs(10);

pub(super) async fn write(place: &Place, args: WriteArgs) -> Result<u8, Failure> {
    let id = &args.at.id;
    let mut client;
    let request = match &args.typed.file {
        None => {
            client = place.client().await?;
            WriteRequest {
                input: input(args.typed),
                key: args.key,
                window: args.window.into(),
                ..WriteRequest::default()
            }
        }
        Some(path) => {
            if args.key.is_some() {
                let hint = "write the text with --chars or --paste";
                return Err(Failure::usage("--key covers one request, and a file may need many", hint));
            }
            let source = open(path)?;
            client = place.client().await?;
            type_all(&mut client, id, source).await?;
            client = client.reconnect().await?;
            WriteRequest { window: window_after_file(args.window), ..WriteRequest::default() }
        }
    };
    let reply = client.write(id, &request).await?;
    window::print(&reply, place.format)?;
    Ok(status::DONE)
}

fn input(typed: TypedArgs) -> Input {
    match typed {
        // Typing nothing is a poll, whatever the option was.
        TypedArgs { chars: Some(text), .. } if !text.is_empty() => Input::Chars(text),
        TypedArgs { keys: Some(keys), .. } => Input::Keys(keys),
        TypedArgs { paste: Some(text), .. } => Input::Paste(text),
        _ => Input::None,
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if path.as_os_str() == "-" {
        return Ok(Box::new(io::stdin()));
    }
    let file =
        File::open(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display()), ""))?;
    Ok(Box::new(file))
}

/// The window after the file was typed: as for a write of something, which is not held to the 5 s of a poll. Giving
/// the condition that ends every window anyway lifts that.
fn window_after_file(args: WindowArgs) -> WindowRequest {
    let mut window = WindowRequest::from(args);
    if window.until.is_empty() {
        window.yield_ms = Some(window.yield_ms.unwrap_or(250).clamp(250, 30_000));
        window.until = vec!["exit".to_owned()];
    }
    window
}

/// Types everything that `source` has, part by part: memory holds one part.
///
/// Each part is taken before the next is read. Its window is read with a cursor of our own, so that the window after
/// the file holds all that was printed meanwhile.
async fn type_all(client: &mut Client, id: &str, mut source: Box<dyn Read>) -> Result<u64, Failure> {
    let mut since = client.info(id).await?.log.end;
    let mut part = vec![0; PART_BYTES];
    let mut taken_in_all = 0;
    loop {
        let held = match source.read(&mut part) {
            Ok(0) => return Ok(taken_in_all),
            Ok(held) => held,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(Failure::usage(format!("input cannot be read: {error}"), "")),
        };
        // Whoever types at our stdin takes longer than the server keeps a silent connection.
        *client = client.reconnect().await?;
        let mut rest = &part[..held];
        let mut last_progress = Instant::now();
        while !rest.is_empty() {
            // The window closes as soon as the part was taken, whether the program prints or not.
            let request = WriteRequest {
                input: Input::Base64(STANDARD.encode(rest)),
                key: None,
                since: Some(since),
                take_ms: Some(STALL.as_millis().try_into().unwrap_or(u64::MAX)),
                window: WindowRequest {
                    yield_ms: Some(0),
                    max_tokens: Some(1),
                    until: vec!["exit".to_owned()],
                },
            };
            let reply = client.write(id, &request).await?;
            since = reply.next;
            let taken = reply.written.unwrap_or(0);
            taken_in_all += taken;
            rest = &rest[usize::try_from(taken).unwrap_or(usize::MAX).min(rest.len())..];
            if taken > 0 {
                last_progress = Instant::now();
            } else if reply.exit.is_some() {
                return Err(stopped(ErrorCode::TerminalExited, taken_in_all, "then it ended"));
            } else if last_progress.elapsed() >= STALL {
                return Err(stopped(ErrorCode::InputQueueFull, taken_in_all, "then it read no more"));
            }
        }
    }
}

fn stopped(code: ErrorCode, taken: u64, then: &str) -> Failure {
    Failure::new(code, format!("the program took {taken} bytes, {then}; the rest was not typed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_after_a_file_is_that_of_a_write_and_not_of_a_poll() {
        let default = window_after_file(WindowArgs::default());
        assert_eq!((default.yield_ms, default.until), (Some(250), vec!["exit".to_owned()]));
        let given = WindowArgs { yield_ms: Some(1), until: vec!["prompt".into()], ..WindowArgs::default() };
        assert_eq!(window_after_file(given.clone()), given.into());
    }
}
