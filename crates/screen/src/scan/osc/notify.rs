//! Notifications: urxvt's OSC 777 and kitty's OSC 99.

use base64::Engine;

use super::{split, text};
use crate::scan::signal::Event;

/// `notify ; TITLE ; BODY`.
pub(super) fn urxvt(rest: &[u8]) -> Option<Event> {
    let (command, rest) = split(rest, b';');
    if command != b"notify" {
        return None;
    }
    let (title, body) = split(rest, b';');
    Some(Event::Notification { title: Some(text(title)), body: text(body) })
}

/// `key=value:... ; PAYLOAD`. Parts of one notification are reported one by one.
pub(super) fn kitty(rest: &[u8]) -> Option<Event> {
    let (metadata, payload) = split(rest, b';');
    let mut is_body = false;
    let mut is_encoded = false;
    for pair in metadata.split(|&b| b == b':') {
        match split(pair, b'=') {
            (b"p", b"title") => is_body = false,
            (b"p", b"body") => is_body = true,
            // Queries, icons, buttons and closing.
            (b"p", _) => return None,
            (b"e", b"1") => is_encoded = true,
            _ => {}
        }
    }
    let payload = if is_encoded { text(&decode(payload)?) } else { text(payload) };
    if payload.is_empty() {
        return None;
    }
    Some(if is_body {
        Event::Notification { title: None, body: payload }
    } else {
        Event::Notification { title: Some(payload), body: String::new() }
    })
}

/// Base64, with or without padding.
pub(super) fn decode(encoded: &[u8]) -> Option<Vec<u8>> {
    use base64::alphabet::STANDARD;
    use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
    const LENIENT: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_padding_mode(DecodePaddingMode::Indifferent)
            .with_decode_allow_trailing_bits(true),
    );
    LENIENT.decode(encoded).ok()
}
