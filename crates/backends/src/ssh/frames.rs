//! Frames between the carrier of a program's streams here and the one that runs the program there, over a channel that
//! carries bytes as they are, until it breaks.
//!
//! A frame is a letter, a number of eight bytes and a length of four, both big-endian, and so many bytes of data. Offsets
//! are in bytes.
//!
//! | from there | number | data | means |
//! |---|---|---|---|
//! | `o` | offset | output | output from this offset on |
//! | `s` | offset | | so much of the input was taken by the program |
//! | `x` | offset | `c CODE`, `k SIGNAL` | the program ended, behind so much output |
//! | `f` | offset | | the output is closed, behind so much of it |
//!
//! | to there | number | data | means |
//! |---|---|---|---|
//! | `r` | offset | | a connection begins, to which output came up to here |
//! | `a` | offset | | output has arrived up to here, and is needed no more |
//! | `i` | offset | input | input from this offset on |
//! | `e` | offset | | the input ends here |
//! | `w` | columns << 16 + rows | | the size of the tty |
//! | `z` | 0 | | leave |

use std::io;

use ptyard_core::Size;

/// Bytes before the data.
const HEAD: usize = 13;

/// Most data of one frame, in bytes.
const MOST: usize = 1 << 20;

/// What comes from there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Frame {
    Output {
        at: u64,
        bytes: Vec<u8>,
    },
    Taken(u64),
    /// It ended with this code, as a shell shows it.
    Ended(u8),
    Closed,
}

/// Takes the next whole frame out of what came.
pub(super) fn next(come: &mut Vec<u8>) -> io::Result<Option<Frame>> {
    let Some((head, data)) = come.split_at_checked(HEAD) else { return Ok(None) };
    let strange = || io::Error::new(io::ErrorKind::InvalidData, "a frame that nobody knows");
    let number = u64::from_be_bytes(head[1..9].try_into().map_err(|_| strange())?);
    let length = u32::from_be_bytes(head[9..].try_into().map_err(|_| strange())?) as usize;
    if length > MOST {
        return Err(strange());
    }
    let Some(data) = data.get(..length) else { return Ok(None) };
    let frame = match head[0] {
        b'o' => Frame::Output { at: number, bytes: data.to_vec() },
        b's' => Frame::Taken(number),
        b'x' => Frame::Ended(code(data).ok_or_else(strange)?),
        b'f' => Frame::Closed,
        _ => return Err(strange()),
    };
    come.drain(..HEAD + length);
    Ok(Some(frame))
}

fn code(data: &[u8]) -> Option<u8> {
    let (how, number) = std::str::from_utf8(data).ok()?.split_once(' ')?;
    let number: u8 = number.parse().ok()?;
    match how {
        "c" => Some(number),
        "k" => number.checked_add(128),
        _ => None,
    }
}

fn frame(out: &mut Vec<u8>, kind: u8, number: u64, data: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&number.to_be_bytes());
    // What is typed comes in pieces far below this.
    out.extend_from_slice(&u32::try_from(data.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(data);
}

pub(super) fn begin(out: &mut Vec<u8>, have: u64) {
    frame(out, b'r', have, b"");
}

pub(super) fn arrived(out: &mut Vec<u8>, have: u64) {
    frame(out, b'a', have, b"");
}

/// Nothing, where nothing is typed.
pub(super) fn input(out: &mut Vec<u8>, at: u64, bytes: &[u8]) {
    if !bytes.is_empty() {
        frame(out, b'i', at, bytes);
    }
}

pub(super) fn end(out: &mut Vec<u8>, at: u64) {
    frame(out, b'e', at, b"");
}

pub(super) fn size(out: &mut Vec<u8>, size: Size) {
    frame(out, b'w', u64::from(size.cols()) << 16 | u64::from(size.rows()), b"");
}

pub(super) fn leave(out: &mut Vec<u8>) {
    frame(out, b'z', 0, b"");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(kind: u8, number: u64, data: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        frame(&mut out, kind, number, data);
        out
    }

    #[test]
    fn frames_are_the_same_however_they_were_cut() {
        let all = [
            of(b'o', 7, b"a\0\xff"),
            of(b's', 1 << 40, b""),
            of(b'x', 10, b"c 3"),
            of(b'x', 10, b"k 9"),
            of(b'f', 10, b""),
        ];
        let want = [
            Frame::Output { at: 7, bytes: b"a\0\xff".to_vec() },
            Frame::Taken(1 << 40),
            Frame::Ended(3),
            Frame::Ended(137),
            Frame::Closed,
        ];
        let wire = all.concat();
        for piece in 1..wire.len() {
            let (mut come, mut got) = (Vec::new(), Vec::new());
            for piece in wire.chunks(piece) {
                come.extend_from_slice(piece);
                while let Some(frame) = next(&mut come).unwrap() {
                    got.push(frame);
                }
            }
            assert_eq!((got.as_slice(), come.len()), (&want[..], 0), "{piece}");
        }
    }

    #[test]
    fn what_is_no_frame_is_told() {
        for mut wire in
            [of(b'?', 0, b""), of(b'x', 0, b"c"), of(b'x', 0, b"k 200"), [&b"o"[..], &[255; 12]].concat()]
        {
            assert!(next(&mut wire).is_err(), "{wire:?}");
        }
    }
}
