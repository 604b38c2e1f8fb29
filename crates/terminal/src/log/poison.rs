//! Telling bytes that were read from bytes that were not, after a death inside `read(2)`.
//!
//! Before an area of the ring is handed to `read(2)`, it is filled with poison: bytes that occur in no UTF-8 text, drawn
//! at random per log and repeated every 256 offsets. Whatever follows the published end up to the last byte that
//! differs from its poison was therefore read.
//!
//! The limit: if the output is not UTF-8 and its very last bytes at the moment of death are, one by one, the poison of
//! their offsets, those bytes are taken for unread. For a last byte that is itself one of the thirteen this has a chance
//! of 1 in 13, for two of them 1 in 169, and so on; for text it cannot happen.

use rustix::io::Errno;

/// The bytes that UTF-8 never uses: overlong two-byte leads, and leads beyond U+10FFFF.
const NEVER_TEXT: [u8; 13] = [0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF];

/// One log's pattern.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Poison([u8; Self::PERIOD]);

impl Poison {
    pub(crate) const PERIOD: usize = 256;

    /// A new pattern from the system's random numbers.
    pub(crate) fn random() -> Result<Self, Errno> {
        let mut bytes = [0; Self::PERIOD];
        getrandom::fill(&mut bytes)
            .map_err(|e| e.raw_os_error().map_or(Errno::IO, Errno::from_raw_os_error))?;
        Ok(Self(bytes.map(|byte| NEVER_TEXT[usize::from(byte) % NEVER_TEXT.len()])))
    }

    /// The pattern a header holds; `None` when it is not one.
    pub(crate) fn from_header(bytes: &[u8]) -> Option<Self> {
        let bytes: [u8; Self::PERIOD] = bytes.try_into().ok()?;
        bytes.iter().all(|byte| NEVER_TEXT.contains(byte)).then_some(Self(bytes))
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Fills `area`, which begins at the absolute offset `at`.
    pub(crate) fn paint(&self, at: u64, area: &mut [u8]) {
        let skip = (at % Self::PERIOD as u64) as usize;
        let (head, rest) = area.split_at_mut(area.len().min(Self::PERIOD - skip));
        head.copy_from_slice(&self.0[skip..skip + head.len()]);
        for chunk in rest.chunks_mut(Self::PERIOD) {
            chunk.copy_from_slice(&self.0[..chunk.len()]);
        }
    }

    /// How many bytes at the front of `area`, which begins at `at`, were read over the poison.
    pub(crate) fn overwritten(&self, at: u64, area: &[u8]) -> usize {
        let poison = |i: usize| self.0[((at + i as u64) % Self::PERIOD as u64) as usize];
        (0..area.len()).rev().find(|&i| area[i] != poison(i)).map_or(0, |last| last + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn painted_areas_hold_nothing_and_text_over_them_is_found_to_the_byte() {
        let poison = Poison::random().unwrap();
        for at in [0, 1, 255, 256, 4095, 70_001] {
            for len in [0, 1, 255, 256, 257, 1000] {
                let mut area = vec![0; len];
                poison.paint(at, &mut area);
                assert_eq!(poison.overwritten(at, &area), 0);
                for text in 0..len.min(300) {
                    area[..text].fill(0xBF);
                    assert_eq!(poison.overwritten(at, &area), text);
                }
            }
        }
    }

    #[test]
    fn poison_occurs_in_no_character() {
        for byte in NEVER_TEXT {
            for c in '\0'..=char::MAX {
                let mut utf8 = [0; 4];
                assert!(!c.encode_utf8(&mut utf8).as_bytes().contains(&byte));
            }
        }
    }

    #[test]
    fn a_pattern_survives_the_header_and_anything_else_is_refused() {
        let poison = Poison::random().unwrap();
        assert!(Poison::from_header(poison.as_bytes()).is_some_and(|back| back == poison));
        assert!(Poison::from_header(&[0; Poison::PERIOD]).is_none());
    }
}
