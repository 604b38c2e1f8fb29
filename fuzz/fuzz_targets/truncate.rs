//! Truncating piece by piece gives what truncating the whole gives, and never more than the cap.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptyard_core::truncate::{Truncator, truncate_text};

fuzz_target!(|input: (Vec<String>, i8)| {
    let (pieces, cap) = input;
    let cap = Some(i64::from(cap));
    let mut truncator = Truncator::new(cap);
    for piece in &pieces {
        truncator.push(piece);
    }
    let streamed = truncator.finish();
    let whole = truncate_text(&pieces.concat(), cap);
    assert_eq!((&streamed.text, streamed.original_token_count), (&whole.text, whole.original_token_count));
});
