//! Feeding a screen that lags behind a flood of output.
//!
//! A program can print faster than any emulator draws. Most of what it prints has scrolled away before anybody
//! looks, so a lagging screen need not draw it, provided that the result is *exactly* the same.
//!
//! The rule: let the screen be at offset `s`, with [`Screen::can_skip`](crate::Screen::can_skip), and the scanner
//! say that everything since an offset `<= s` is a plain run. Then a jump to [`skip_point`] of the last bytes of
//! the run shows what feeding every byte would have shown.

use memchr::{memchr_iter, memrchr, memrchr_iter};

/// What is known about the pen (colours and attributes) between the screen and the tail.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pen {
    /// It may have changed: the jump has to go to a place where the pen is reset.
    Unknown,
    /// No SGR sequence ended since the screen's position, see
    /// [`Scanner::pen_since`](crate::Scanner::pen_since): the pen is the screen's own.
    Unchanged,
}

/// Bytes of tail that are enough for [`skip_point`] with ordinary lines of `cols` columns.
#[must_use]
pub fn tail_len(cols: u16, rows: u16, scrollback: usize) -> usize {
    lines_needed(rows, scrollback).saturating_mul(usize::from(cols) * 2).max(64 * 1024)
}

/// The latest index in `tail` from which feeding shows exactly the same as feeding the whole run does, whatever
/// the screen showed before; `None` when there is none.
///
/// `tail` is the end of a plain run. The index is at a carriage return, which makes the column known; with
/// [`Pen::Unknown`] it is at an SGR reset that a carriage return follows. Behind it come enough line feeds to
/// take the cursor to the bottom row from wherever it was, and then to scroll out everything that was on the
/// screen and in the scrollback.
#[must_use]
pub fn skip_point(tail: &[u8], rows: u16, scrollback: usize, pen: Pen) -> Option<usize> {
    let line_feed = nth_last(b'\n', tail, lines_needed(rows, scrollback))?;
    let carriage_return = memrchr(b'\r', &tail[..line_feed])?;
    match pen {
        Pen::Unchanged => Some(carriage_return),
        Pen::Unknown => {
            let before = &tail[..carriage_return];
            memrchr_iter(0x1b, before)
                .find(|&at| before[at..].starts_with(b"\x1b[m") || before[at..].starts_with(b"\x1b[0m"))
        }
    }
}

/// To the bottom row from the top one, then the screen and the scrollback once through, and the line that was
/// begun before.
fn lines_needed(rows: u16, scrollback: usize) -> usize {
    2 * usize::from(rows) + scrollback + 2
}

/// The index of the `n`-th last `byte`, counted from 1.
fn nth_last(byte: u8, bytes: &[u8], n: usize) -> Option<usize> {
    // Counting is several times as fast as stepping backwards; most tails have far more lines than needed, so
    // only blocks from the end are counted.
    const BLOCK: usize = 4096;
    let mut end = bytes.len();
    let mut missing = n;
    while end > 0 {
        let start = end.saturating_sub(BLOCK);
        let block = &bytes[start..end];
        let count = memchr_iter(byte, block).count();
        if count >= missing {
            return memrchr_iter(byte, block).nth(missing - 1).map(|at| start + at);
        }
        missing -= count;
        end = start;
    }
    None
}
