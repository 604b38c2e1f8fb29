//! `ptyard debug`.

use std::io::{self, Read};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ptyard_core::ErrorCode;
use ptyard_core::truncate::Truncator;
use ptyard_core::utf8::{Decoder, Sink};
use serde::Serialize;

use crate::failure::{Failure, status};
use crate::print;

/// What `debug truncate` prints.
#[derive(Debug, Serialize)]
struct TruncateReply {
    output_base64: String,
    original_token_count: Option<u64>,
}

/// Text on its way into the truncator.
struct Into(Truncator);

impl Sink for Into {
    fn text(&mut self, text: &str) {
        self.0.push(text);
    }
}

pub(super) fn truncate(max_tokens: i64) -> Result<u8, Failure> {
    let reply = truncated(max_tokens, io::stdin().lock()).map_err(|error| {
        Failure::new(ErrorCode::Internal, format!("stdin cannot be read: {error}")).with_hint("")
    })?;
    print::json(&reply)?;
    Ok(status::DONE)
}

fn truncated(max_tokens: i64, mut input: impl Read) -> io::Result<TruncateReply> {
    let mut decoder = Decoder::new();
    let mut text = Into(Truncator::new(Some(max_tokens)));
    let mut part = vec![0; 64 << 10];
    loop {
        match input.read(&mut part) {
            Ok(0) => break,
            Ok(n) => decoder.feed(&part[..n], &mut text),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    decoder.finish(&mut text);
    let truncated = text.0.finish();
    Ok(TruncateReply {
        output_base64: STANDARD.encode(truncated.text),
        original_token_count: truncated.original_token_count,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn law_05_head_and_tail_are_kept_and_the_tokens_counted() {
        let reply = truncated(10, &[b'A'; 41][..]).unwrap();
        assert_eq!(reply.output_base64, STANDARD.encode("AAAAAAA…7 tokens truncated…AAAAAAAA"));
        assert_eq!(reply.original_token_count, Some(11));
        assert_eq!(truncated(10, &[b'A'; 40][..]).unwrap().original_token_count, None);
    }
}
