//! What is drained: log lines as servers colour them, the same in every run.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The last line. A terminal that has shown it has shown everything.
const LAST_LINE: &str = "that was all\n";

const LEVELS: [(&str, &str); 4] =
    [("32", "INFO "), ("33", "WARN "), ("31;1", "ERROR"), ("38;5;244", "DEBUG")];
const WORDS: [&str; 16] = [
    "request",
    "served",
    "cache",
    "naïve",
    "résumé",
    "queue",
    "日本語",
    "完了",
    "worker",
    "déjà",
    "retry",
    "🚀",
    "latency",
    "größer",
    "✓",
    "timeout",
];

/// A corpus in a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Corpus {
    /// Bytes of the file.
    pub(crate) bytes: u64,
    /// Bytes a tty makes of it: each line feed gets a carriage return.
    pub(crate) on_a_tty: u64,
}

impl Corpus {
    /// Writes about `bytes` to `path`.
    pub(crate) fn write(path: &Path, bytes: usize) -> io::Result<Self> {
        let mut file = BufWriter::new(File::create(path)?);
        let mut dice = Dice(0x5EED);
        let (mut written, mut lines) = (LAST_LINE.len() as u64, 1);
        let mut line = Vec::new();
        while written < bytes as u64 {
            line.clear();
            write_line(&mut line, lines, &mut dice)?;
            file.write_all(&line)?;
            written += line.len() as u64;
            lines += 1;
        }
        file.write_all(LAST_LINE.as_bytes())?;
        file.flush()?;
        Ok(Self { bytes: written, on_a_tty: written + lines })
    }
}

fn write_line(out: &mut Vec<u8>, number: u64, dice: &mut Dice) -> io::Result<()> {
    let (colour, level) = LEVELS[dice.below(LEVELS.len())];
    write!(out, "\x1b[2m{:02}:{:02}.{number:06}\x1b[0m ", number / 60 % 60, number % 60)?;
    write!(out, "\x1b[{colour}m{level}\x1b[0m ")?;
    for _ in 0..2 + dice.below(5) {
        write!(out, "{} ", WORDS[dice.below(WORDS.len())])?;
    }
    writeln!(out, "\x1b[36mms\x1b[0m={}", dice.below(1000))
}

/// A xorshift generator: the corpus must never change with a library.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % n as u64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corpus_is_the_same_every_time_and_looks_like_a_log() {
        let dir = tempfile::tempdir().unwrap();
        let write = |name: &str| {
            let path = dir.path().join(name);
            (Corpus::write(&path, 200_000).unwrap(), std::fs::read_to_string(path).unwrap())
        };
        let ((corpus, text), again) = (write("a"), write("b"));
        assert_eq!((corpus, &text), (again.0, &again.1));
        assert_eq!(corpus.bytes, text.len() as u64);
        let lines = text.lines().count() as u64;
        assert_eq!(corpus.on_a_tty, corpus.bytes + lines);
        let per_line = corpus.bytes / lines;
        assert!((80..=100).contains(&per_line), "{per_line} bytes a line");
        assert!(text.ends_with(LAST_LINE));
    }
}
