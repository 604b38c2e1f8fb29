//! What a key press sends, under the modes in force.
//!
//! The order: kitty's protocol when the program switched it on, then xterm's `modifyOtherKeys`, then what
//! terminals have always sent.

use super::{Key, KeyCode, Modifiers, Named};
use crate::modes::Modes;

/// Kitty's flag "disambiguate escape codes".
const DISAMBIGUATE: u8 = 1;
/// Kitty's flag "report all keys as escape codes".
const ALL_AS_ESCAPES: u8 = 8;
/// Kitty's flag "report associated text".
const ASSOCIATED_TEXT: u8 = 16;

/// The bytes `key` sends to a program that has set `modes`.
///
/// Only the press is sent, also to programs that asked for releases: to them it is a key still held, which no
/// program minds, and a press that was released is two reports where one was meant.
#[must_use]
pub fn encode(key: &Key, modes: &Modes) -> Vec<u8> {
    let flags = modes.kitty_flags();
    if flags & (DISAMBIGUATE | ALL_AS_ESCAPES) != 0 {
        return kitty(key, flags, modes);
    }
    legacy(key, modes)
}

/// The keys that CSI letters and numbers name, in every protocol.
fn functional(named: Named) -> Option<Functional> {
    Some(match named {
        Named::Up => Functional::Letter(b'A'),
        Named::Down => Functional::Letter(b'B'),
        Named::Right => Functional::Letter(b'C'),
        Named::Left => Functional::Letter(b'D'),
        Named::Home => Functional::Letter(b'H'),
        Named::End => Functional::Letter(b'F'),
        Named::Function(n @ 1..=4) => Functional::Letter(b'P' + n - 1),
        Named::Insert => Functional::Number(2),
        Named::Delete => Functional::Number(3),
        Named::PageUp => Functional::Number(5),
        Named::PageDown => Functional::Number(6),
        Named::Function(n) => Functional::Number(match n {
            5 => 15,
            6..=10 => 11 + n,
            11..=14 => 12 + n,
            15..=16 => 13 + n,
            17..=20 => 14 + n,
            // What xterm's terminfo has for F21 to F24 with a VT220's keyboard.
            _ => 21 + n,
        }),
        Named::Enter | Named::Tab | Named::Backspace | Named::Escape => return None,
    })
}

enum Functional {
    /// `CSI 1 ; modifiers LETTER`, or `SS3 LETTER`.
    Letter(u8),
    /// `CSI number ; modifiers ~`.
    Number(u8),
}

fn functional_bytes(functional: &Functional, named: Named, modifiers: Modifiers, modes: &Modes) -> Vec<u8> {
    let number = modifiers.number();
    match *functional {
        Functional::Letter(letter) if number > 1 => format!("\x1b[1;{number}{}", letter as char).into_bytes(),
        Functional::Letter(letter) => {
            let is_cursor = !matches!(named, Named::Function(_));
            let introducer = if is_cursor && !modes.application_cursor { b'[' } else { b'O' };
            vec![0x1b, introducer, letter]
        }
        Functional::Number(key) if number > 1 => format!("\x1b[{key};{number}~").into_bytes(),
        Functional::Number(key) => format!("\x1b[{key}~").into_bytes(),
    }
}

fn legacy(key: &Key, modes: &Modes) -> Vec<u8> {
    let modifiers = key.modifiers;
    let named = match key.code {
        KeyCode::Char(c) => return legacy_char(c, modifiers, modes),
        KeyCode::Named(named) => named,
    };
    if let Some(functional) = functional(named) {
        return functional_bytes(&functional, named, modifiers, modes);
    }
    let byte: &[u8] = match (named, modifiers.shift, modifiers.ctrl) {
        (Named::Tab, true, _) => b"\x1b[Z",
        (Named::Enter | Named::Tab | Named::Escape, _, _) if modifies_others(modes, modifiers) => {
            return other_key(plain_code(named), modifiers);
        }
        (Named::Enter, ..) => b"\r",
        (Named::Tab, ..) => b"\t",
        (Named::Backspace, _, true) => b"\x08",
        (Named::Backspace, ..) => b"\x7f",
        _ => b"\x1b",
    };
    with_alt(modifiers, byte)
}

fn legacy_char(c: char, modifiers: Modifiers, modes: &Modes) -> Vec<u8> {
    let c = if modifiers.shift { shifted(c) } else { c };
    let control = if modifiers.ctrl { control_of(c) } else { None };
    // Level 1 leaves alone what has a byte of its own; level 2 does not.
    let is_well_known = !modifiers.ctrl || control.is_some();
    let reports = match modes.modify_other_keys {
        0 => false,
        1 => !is_well_known,
        _ => modifiers.ctrl || modifiers.alt,
    };
    if reports {
        return other_key(c as u32, modifiers);
    }
    match control {
        Some(byte) => with_alt(modifiers, &[byte]),
        None => with_alt(modifiers, c.encode_utf8(&mut [0; 4]).as_bytes()),
    }
}

fn modifies_others(modes: &Modes, modifiers: Modifiers) -> bool {
    let held = modifiers != Modifiers::NONE;
    match modes.modify_other_keys {
        0 => false,
        1 => modifiers.ctrl || modifiers.shift,
        _ => held,
    }
}

/// xterm's report of a modified key.
fn other_key(code: u32, modifiers: Modifiers) -> Vec<u8> {
    format!("\x1b[27;{};{code}~", modifiers.number()).into_bytes()
}

fn with_alt(modifiers: Modifiers, bytes: &[u8]) -> Vec<u8> {
    let escape: &[u8] = if modifiers.alt { b"\x1b" } else { b"" };
    [escape, bytes].concat()
}

/// The byte control makes of a character on a US keyboard, as xterm has it.
fn control_of(c: char) -> Option<u8> {
    Some(match c {
        '@' | ' ' | '2' | '`' => 0,
        'a'..='z' => c as u8 - b'a' + 1,
        'A'..='Z' => c as u8 - b'A' + 1,
        '[' | '3' | '{' => 0x1b,
        '\\' | '4' | '|' => 0x1c,
        ']' | '5' | '}' => 0x1d,
        '^' | '6' | '~' => 0x1e,
        '_' | '7' | '/' => 0x1f,
        '?' | '8' => 0x7f,
        _ => return None,
    })
}

/// A letter in upper case. Other characters are written as they are to appear: `!`, not `S-1`.
fn shifted(c: char) -> char {
    let mut upper = c.to_uppercase();
    match (upper.next(), upper.next()) {
        (Some(upper), None) => upper,
        _ => c,
    }
}

fn plain_code(named: Named) -> u32 {
    match named {
        Named::Enter => 13,
        Named::Tab => 9,
        Named::Backspace => 127,
        _ => 27,
    }
}

fn kitty(key: &Key, flags: u8, modes: &Modes) -> Vec<u8> {
    let mut modifiers = key.modifiers;
    let all = flags & ALL_AS_ESCAPES != 0;
    let c = match key.code {
        KeyCode::Named(named) => return kitty_named(named, modifiers, all, modes),
        KeyCode::Char(c) => c,
    };
    // The code is that of the key without shift, so an upper case letter is its key with shift.
    let base = lower(c);
    if base != c {
        modifiers.shift = true;
    }
    let written = if modifiers.shift { shifted(base) } else { base };
    let has_text = !modifiers.ctrl && !modifiers.alt;
    if has_text && !all {
        return written.to_string().into_bytes();
    }
    let code = base as u32;
    let number = modifiers.number();
    if has_text && flags & ASSOCIATED_TEXT != 0 {
        let number = if number > 1 { number.to_string() } else { String::new() };
        return format!("\x1b[{code};{number};{}u", written as u32).into_bytes();
    }
    csi_u(code, number)
}

fn kitty_named(named: Named, modifiers: Modifiers, all: bool, modes: &Modes) -> Vec<u8> {
    if let Some(functional) = functional(named) {
        return match named {
            // `CSI R` is a cursor report, so F3 is numbered.
            Named::Function(3) => functional_bytes(&Functional::Number(13), named, modifiers, modes),
            Named::Function(n @ 13..) => csi_u(57376 + u32::from(n) - 13, modifiers.number()),
            _ => functional_bytes(&functional, named, modifiers, modes),
        };
    }
    // Enter, Tab and Backspace alone stay what they are, so that a shell can be typed at after a crash.
    let stays = modifiers == Modifiers::NONE && named != Named::Escape && !all;
    match (stays, named) {
        (true, Named::Enter) => b"\r".to_vec(),
        (true, Named::Tab) => b"\t".to_vec(),
        (true, Named::Backspace) => b"\x7f".to_vec(),
        _ => csi_u(plain_code(named), modifiers.number()),
    }
}

fn csi_u(code: u32, modifiers: u8) -> Vec<u8> {
    match modifiers {
        1 => format!("\x1b[{code}u").into_bytes(),
        _ => format!("\x1b[{code};{modifiers}u").into_bytes(),
    }
}

fn lower(c: char) -> char {
    let mut lower = c.to_lowercase();
    match (lower.next(), lower.next()) {
        (Some(lower), None) => lower,
        _ => c,
    }
}
