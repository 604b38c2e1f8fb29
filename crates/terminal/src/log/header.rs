//! The header of a ring file: what it says, and reading it back.
//!
//! Numbers stand in the machine's own byte order: the file never leaves it, and the magic would not match.
//!
//! | bytes | what |
//! |---|---|
//! | 0..8 | magic, stored last: a ring without it was never used |
//! | 64..96 | the ends and the seal's mark, see [`Word`] |
//! | 96..100 | format version |
//! | 104..112, 112..120 | bytes of the header, of the ring |
//! | 120..128 | bytes per segment file |
//! | 128..136, 136..140 | the seal's offset, the length of its note |
//! | 256..512 | the poison |
//! | 1024..4096 | the seal's note |

use super::poison::Poison;
use super::seal::Seal;
use crate::sys::mapping::{Ends, Producer, Shape, Word};

const MAGIC: u64 = u64::from_le_bytes(*b"ptyardLG");
const FORMAT: u32 = 1;

const FORMAT_AT: usize = 96;
const HEADER_BYTES_AT: usize = 104;
const RING_BYTES_AT: usize = 112;
const SEGMENT_BYTES_AT: usize = 120;
const SEALED_AT_AT: usize = 128;
const NOTE_LEN_AT: usize = 136;
const POISON_AT: usize = 256;
const NOTE_AT: usize = 1024;

/// The smallest header: one page of the smallest size there is.
const MIN_BYTES: usize = 4096;
const _: () = assert!(NOTE_AT + Seal::NOTE_BYTES <= MIN_BYTES);

/// What a header says, once it is complete.
pub(crate) struct Header {
    pub(crate) shape: Shape,
    pub(crate) segment_bytes: u64,
    pub(crate) ends: Ends,
    /// End of the area that was prepared for reading into.
    pub(crate) armed: u64,
    pub(crate) poison: Poison,
    pub(crate) seal: Option<Seal>,
}

/// Completes the header of a new ring: everything else first, then the magic.
pub(crate) fn write(ring: &mut Producer, shape: Shape, segment_bytes: u64, poison: &Poison) {
    ring.write_header(FORMAT_AT, &FORMAT.to_ne_bytes());
    ring.write_header(HEADER_BYTES_AT, &(shape.header as u64).to_ne_bytes());
    ring.write_header(RING_BYTES_AT, &(shape.ring as u64).to_ne_bytes());
    ring.write_header(SEGMENT_BYTES_AT, &segment_bytes.to_ne_bytes());
    ring.write_header(POISON_AT, poison.as_bytes());
    ring.write_word(Word::Magic, MAGIC);
}

/// Writes the seal: everything else first, then its mark.
pub(crate) fn write_seal(ring: &mut Producer, seal: &Seal) {
    ring.write_header(SEALED_AT_AT, &seal.at.to_ne_bytes());
    ring.write_header(NOTE_LEN_AT, &(seal.note.len() as u32).to_ne_bytes());
    ring.write_header(NOTE_AT, seal.note.as_bytes());
    ring.write_word(Word::Sealed, 1);
}

/// Reads the header at the front of `file`; `None` when the ring was never used.
///
/// # Errors
/// What contradicts itself.
pub(crate) fn read(file: &[u8]) -> Result<Option<Header>, &'static str> {
    if file.len() < MIN_BYTES || u64_at(file, Word::Magic as usize) == 0 {
        return Ok(None);
    }
    if u64_at(file, Word::Magic as usize) != MAGIC || u32_at(file, FORMAT_AT) != FORMAT {
        return Err("the ring has another format");
    }
    let size = |at| usize::try_from(u64_at(file, at)).unwrap_or(usize::MAX);
    let shape = Shape { header: size(HEADER_BYTES_AT), ring: size(RING_BYTES_AT) };
    if shape.header < MIN_BYTES || shape.ring == 0 || file.len() < shape.header {
        return Err("the ring has the wrong length");
    }
    let ends = Ends {
        published: u64_at(file, Word::Published as usize),
        flushed: u64_at(file, Word::Flushed as usize),
    };
    let segment_bytes = u64_at(file, SEGMENT_BYTES_AT);
    let armed = u64_at(file, Word::Armed as usize);
    let ordered = ends.flushed <= ends.published && ends.published <= armed;
    if !ordered || armed - ends.flushed > shape.ring as u64 || segment_bytes == 0 {
        return Err("the ring's ends contradict each other");
    }
    let poison = Poison::from_header(&file[POISON_AT..POISON_AT + Poison::PERIOD]);
    let poison = poison.ok_or("the ring's poison is none")?;
    let seal = if u64_at(file, Word::Sealed as usize) == 1 { Some(seal(file)?) } else { None };
    Ok(Some(Header { shape, segment_bytes, ends, armed, poison, seal }))
}

fn seal(file: &[u8]) -> Result<Seal, &'static str> {
    let len = u32_at(file, NOTE_LEN_AT) as usize;
    let note = file[NOTE_AT..].get(..len).filter(|note| note.len() <= Seal::NOTE_BYTES);
    let note = note.and_then(|note| str::from_utf8(note).ok()).ok_or("the ring's seal cannot be read")?;
    Ok(Seal { at: u64_at(file, SEALED_AT_AT), note: note.to_owned() })
}

fn u64_at(file: &[u8], at: usize) -> u64 {
    u64::from_ne_bytes(file[at..at + 8].try_into().expect("invariant: eight bytes"))
}

fn u32_at(file: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes(file[at..at + 4].try_into().expect("invariant: four bytes"))
}
