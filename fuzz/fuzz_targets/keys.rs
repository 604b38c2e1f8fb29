//! Key names are parsed or refused, and every key has bytes; no text leaves a paste.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptyard_screen::paste::{Brackets, PASTE_END, PASTE_START, encode};
use ptyard_screen::{Modes, keys};

fuzz_target!(|text: String| {
    if let Ok(keys) = keys::parse(&text) {
        for key in &keys {
            let _bytes = keys::encode(key, &Modes::default());
        }
    }
    let pasted = encode(&text, Brackets::On).bytes;
    let inside = &pasted[PASTE_START.len()..pasted.len() - PASTE_END.len()];
    assert!(inside.iter().all(|byte| *byte >= b' ' && *byte != 0x7f || matches!(byte, b'\t' | b'\n' | 0x80..)));
});
