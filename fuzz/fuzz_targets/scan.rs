//! What the scanner sees does not depend on how the bytes were cut.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptyard_screen::Scanner;

fuzz_target!(|input: (Vec<u8>, u8)| {
    let (bytes, cut) = input;
    let mut whole = Vec::new();
    let mut scanner = Scanner::new();
    scanner.scan(0, &bytes, &mut |signal| whole.push(signal));
    let mut pieces = Vec::new();
    let mut other = Scanner::new();
    let mut at = 0;
    for chunk in bytes.chunks(usize::from(cut).max(1)) {
        other.scan(at, chunk, &mut |signal| pieces.push(signal));
        at += chunk.len() as u64;
    }
    assert_eq!(whole, pieces);
    assert_eq!(scanner.modes(), other.modes());
});
