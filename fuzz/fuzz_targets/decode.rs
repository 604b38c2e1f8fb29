//! However the bytes are cut, decoding them gives what one lossy decode of the whole gives.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptyard_core::utf8::Decoder;

fuzz_target!(|input: (Vec<u8>, Vec<u8>)| {
    let (bytes, cuts) = input;
    let (mut decoder, mut text, mut rest) = (Decoder::new(), String::new(), bytes.as_slice());
    for cut in cuts {
        let (chunk, after) = rest.split_at(usize::from(cut).min(rest.len()));
        decoder.feed(chunk, &mut text);
        rest = after;
    }
    decoder.feed(rest, &mut text);
    decoder.finish(&mut text);
    assert_eq!(text, String::from_utf8_lossy(&bytes));
});
