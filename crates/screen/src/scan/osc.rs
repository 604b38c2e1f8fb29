//! The meaning of operating system commands.

mod notify;
mod status;

use super::signal::{Clipboard, ColourSlot, Event, Progress, PromptMark, Query};
use crate::parse::ControlString;

/// What an OSC does to a screen that is behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing: it may be skipped.
    None,
    /// Something, or it is unknown.
    Some,
}

/// Reads an OSC, reports what it says and tells what it does to the screen.
pub(super) fn read(osc: &ControlString<'_>, on: &mut impl FnMut(Event)) -> Effect {
    let (code, rest) = split(osc.body, b';');
    let code = std::str::from_utf8(code).ok().and_then(|code| code.parse::<u16>().ok());
    if code == Some(52) {
        on(Event::Clipboard(clipboard(osc, rest)));
        return Effect::Some;
    }
    if !osc.is_whole() {
        return Effect::Some;
    }
    match code {
        Some(0) => {
            on(Event::Icon(text(rest)));
            on(Event::Title(text(rest)));
        }
        Some(1) => on(Event::Icon(text(rest))),
        Some(2) => on(Event::Title(text(rest))),
        Some(4) => palette(osc, rest, on),
        Some(first @ 10..=12) => dynamic_colours(osc, first, rest, on),
        Some(7) => {
            if let Some((host, path)) = cwd(rest) {
                on(Event::Cwd { host, path });
            }
        }
        Some(9) => {
            if let Some(event) = nine(rest) {
                on(event);
            }
        }
        Some(99) => {
            if let Some(event) = notify::kitty(rest) {
                on(event);
            }
        }
        Some(777) => {
            if let Some(event) = notify::urxvt(rest) {
                on(event);
            }
        }
        Some(133) => {
            if let Some(mark) = prompt(rest) {
                on(Event::Prompt(mark));
            }
        }
        Some(7501) if rest == b"?" => on(Event::Query(Query::ProgramStatus { end: osc.end })),
        Some(7501) => {
            if let Some(report) = status::read(rest) {
                on(Event::ProgramStatus(report));
            }
        }
        _ => {}
    }
    match code {
        Some(7 | 8 | 9 | 99 | 133 | 777 | 7501) if !osc.has_controls => Effect::None,
        _ => Effect::Some,
    }
}

/// `bytes` before and after the first `separator`; all and nothing when there is none.
fn split(bytes: &[u8], separator: u8) -> (&[u8], &[u8]) {
    match memchr::memchr(separator, bytes) {
        Some(at) => (&bytes[..at], &bytes[at + 1..]),
        None => (bytes, &[]),
    }
}

/// The text of `bytes` without control characters.
pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).chars().filter(|c| !c.is_control()).collect()
}

fn number<T: std::str::FromStr>(bytes: &[u8]) -> Option<T> {
    std::str::from_utf8(bytes).ok()?.parse().ok()
}

fn percent(bytes: &[u8]) -> Option<u8> {
    number::<u8>(bytes).map(|percent| percent.min(100))
}

fn clipboard(osc: &ControlString<'_>, rest: &[u8]) -> Clipboard {
    let (_, content) = split(rest, b';');
    if osc.is_whole() && content == b"?" {
        return Clipboard::Read;
    }
    // What was cut off is content.
    let cut = osc.len - osc.body.len() as u64;
    Clipboard::Write { encoded_len: content.len() as u64 + cut }
}

fn palette(osc: &ControlString<'_>, rest: &[u8], on: &mut impl FnMut(Event)) {
    let mut parts = rest.split(|&b| b == b';');
    while let (Some(index), Some(value)) = (parts.next(), parts.next()) {
        if let (Some(index), b"?") = (number(index), value) {
            on(Event::Query(Query::Colour { slot: ColourSlot::Palette(index), end: osc.end }));
        }
    }
}

/// `OSC 10 ; a ; b` speaks of 10 and 11.
fn dynamic_colours(osc: &ControlString<'_>, first: u16, rest: &[u8], on: &mut impl FnMut(Event)) {
    for (code, value) in (first..=12).zip(rest.split(|&b| b == b';')) {
        if value == b"?" {
            let slot = match code {
                10 => ColourSlot::Foreground,
                11 => ColourSlot::Background,
                _ => ColourSlot::Cursor,
            };
            on(Event::Query(Query::Colour { slot, end: osc.end }));
        }
    }
}

/// OSC 9: progress, ConEmu's other commands, or a notification.
fn nine(rest: &[u8]) -> Option<Event> {
    let (command, arguments) = split(rest, b';');
    match number::<u8>(command) {
        Some(4) => {
            let (state, value) = split(arguments, b';');
            let value = percent(value);
            Some(Event::Progress(match state {
                b"0" => Progress::Clear,
                b"1" => Progress::Percent(value?),
                b"2" => Progress::Error(value),
                b"3" => Progress::Indeterminate,
                b"4" => Progress::Paused(value),
                _ => return None,
            }))
        }
        Some(1..=12) if command.len() < rest.len() => None,
        _ if rest.is_empty() => None,
        _ => Some(Event::Notification { title: None, body: text(rest) }),
    }
}

fn prompt(rest: &[u8]) -> Option<PromptMark> {
    let (mark, options) = split(rest, b';');
    Some(match mark {
        b"A" => PromptMark::PromptStart,
        b"B" => PromptMark::CommandStart,
        b"C" => PromptMark::OutputStart,
        b"D" => PromptMark::CommandEnd { exit: number(split(options, b';').0) },
        _ => return None,
    })
}

fn cwd(rest: &[u8]) -> Option<(String, String)> {
    let rest = rest.strip_prefix(b"file://")?;
    let at = memchr::memchr(b'/', rest)?;
    let mut path = Vec::with_capacity(rest.len() - at);
    let mut bytes = rest[at..].iter();
    while let Some(&byte) = bytes.next() {
        let decoded = (byte == b'%')
            .then(|| {
                let pair = [*bytes.as_slice().first()?, *bytes.as_slice().get(1)?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()
            })
            .flatten();
        if decoded.is_some() {
            bytes.nth(1);
        }
        path.push(decoded.unwrap_or(byte));
    }
    Some((text(&rest[..at]), text(&path)))
}
