//! A control sequence: `CSI marker? parameters intermediate? final`.

/// Most parameters that count, as in the engine; the rest of a longer sequence makes it unknown.
const MAX_PARAMS: usize = 32;

/// A control sequence, as parsed so far or complete.
///
/// # Invariants
///
/// 1. `len < MAX_PARAMS`: `params[len]` is the parameter being read, `params[..=len]` all of them at the end.
/// 2. Bit `i` of `joined` says that parameter `i` was written after a colon; bit 0 is never set.
#[derive(Debug, Clone, Default)]
pub(crate) struct Csi {
    params: [u16; MAX_PARAMS],
    len: usize,
    joined: u32,
    /// The private marker `<`, `=`, `>` or `?`; 0 when there is none.
    marker: u8,
    /// The intermediate; 0 when there is none.
    intermediate: u8,
    /// Nothing came after the introducer yet.
    is_first: bool,
    /// There is a parameter or a separator.
    has_params: bool,
    is_malformed: bool,
    action: u8,
}

impl Csi {
    #[inline]
    pub(super) fn begin(&mut self) {
        self.params[0] = 0;
        self.len = 0;
        self.joined = 0;
        self.marker = 0;
        self.intermediate = 0;
        self.is_first = true;
        self.has_params = false;
        self.is_malformed = false;
    }

    /// Takes a byte of `0x20..=0x3f`.
    #[inline]
    pub(super) fn push(&mut self, byte: u8) {
        let is_first = std::mem::replace(&mut self.is_first, false);
        self.has_params |= (b'0'..=b';').contains(&byte);
        match byte {
            b'0'..=b'9' if self.intermediate == 0 => {
                let value = &mut self.params[self.len];
                *value = value.saturating_mul(10).saturating_add(u16::from(byte - b'0'));
            }
            b';' | b':' if self.intermediate == 0 => {
                if self.len + 1 == MAX_PARAMS {
                    self.is_malformed = true;
                    return;
                }
                self.len += 1;
                self.params[self.len] = 0;
                if byte == b':' {
                    self.joined |= 1 << self.len;
                }
            }
            b'<'..=b'?' if is_first => self.marker = byte,
            b' '..=b'/' if self.intermediate == 0 => self.intermediate = byte,
            _ => self.is_malformed = true,
        }
    }

    #[inline]
    pub(super) fn end(&mut self, action: u8) {
        self.action = action;
    }

    /// Marker, intermediate and final byte: what the sequence is. Malformed sequences are nothing.
    #[inline]
    pub(crate) fn id(&self) -> (u8, u8, u8) {
        if self.is_malformed { (0, 0, 0) } else { (self.marker, self.intermediate, self.action) }
    }

    /// Whether this selects graphic rendition: it changes the pen and nothing else.
    #[inline]
    pub(crate) fn is_sgr(&self) -> bool {
        self.id() == (0, 0, b'm')
    }

    /// Whether there are no parameters at all, not even 0.
    pub(crate) fn is_bare(&self) -> bool {
        !self.has_params
    }

    /// The parameters as written, subparameters among them.
    #[inline]
    pub(crate) fn params(&self) -> &[u16] {
        &self.params[..=self.len]
    }

    /// Parameter `index`, or `default` when it is missing or 0.
    #[inline]
    pub(crate) fn param(&self, index: usize, default: u16) -> u16 {
        match self.params().get(index) {
            Some(&value) if value != 0 => value,
            _ => default,
        }
    }

    /// The parameters, each with its subparameters.
    pub(crate) fn groups(&self) -> impl Iterator<Item = &[u16]> {
        let params = self.params();
        let mut start = 0;
        std::iter::from_fn(move || {
            if start >= params.len() {
                return None;
            }
            let mut end = start + 1;
            while end < params.len() && self.joined & (1 << end) != 0 {
                end += 1;
            }
            let group = &params[start..end];
            start = end;
            Some(group)
        })
    }
}
