//! Pipes over a tty, for places that have nothing else.
//!
//! The tty stays transparent. Output is what `cat` reads from the program's pipe, so the program sees a pipe, in a
//! session of its own and without a terminal. That the program ended is said past `cat`, because whoever it left behind
//! may hold the pipe for years; that the pipe was drained is said when `cat` is done.
//!
//! Input comes in lines, each a piece of it as `printf %b` takes it, and is read by a loop that passes it on. An empty
//! line ends it: that is how a pipe is closed over a tty that carries on. What the program does not take keeps the loop
//! from reading, and the tty then keeps whoever writes to it.

use ptyard_terminal::backend::Stdin;
use ptyard_terminal::local::env::TERMINAL_VARIABLE;

use super::{BEGIN, DRAINED, END};

/// Most bytes of input in one line. The buffer of a tty holds 4,096 bytes, and a byte becomes up to five.
pub(crate) const PIECE: usize = 512;

/// Input as one line. Bytes that shells and ttys treat alike stand for themselves.
pub(crate) fn line(piece: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(piece.len() * 2 + 1);
    for &byte in piece {
        match byte {
            b'\\' => line.extend_from_slice(br"\0134"),
            b' '..=b'~' => line.push(byte),
            _ => line.extend_from_slice(format!("\\0{byte:03o}").as_bytes()),
        }
    }
    line.push(b'\n');
    line
}

/// Ends the input; and lets the shell say again how the program ended, when it has.
pub(crate) const CLOSE: &[u8] = b"\n";

/// Runs the program that `argv` quotes. 3 is the tty, 4 is where its code goes.
pub(super) fn script(word: &str, argv: &str, stdin: Stdin) -> String {
    let (input, reader) = match stdin {
        Stdin::Null => ("</dev/null ", ""),
        // What the program does not read any more is taken all the same.
        Stdin::Pipe => (
            "",
            "{ trap '' PIPE; while IFS= read -r l && [ -n \"$l\" ]; do printf %b \"$l\"; done; } 2>/dev/null | ",
        ),
    };
    format!(
        "trap : HUP INT QUIT TERM TSTP; unset s t; exec 3>&1\n\
         code=$({{ {reader}{{ \
         (exec sh -c 'printf \"{BEGIN}{word}:pid:%s{END}{BEGIN}{word}:go{END}\" $$ >&3; exec 3>&-; \
         command -v setsid >/dev/null && exec setsid \"$@\"; exec \"$@\"' sh {argv} {input}2>&1 4>&-)\n\
         c=$?; printf '{BEGIN}{word}:end:%s{END}' $c >&3; echo $c >&4; }} 2>/dev/null | \
         {{ unset {TERMINAL_VARIABLE}; exec cat >&3 4>&-; }}; }} 4>&1)\n\
         while printf '{BEGIN}{word}:{DRAINED}{END}{BEGIN}{word}:end:%s{END}' $code; \
         IFS= read -r s; do :; done; exit $code\n"
    )
}
