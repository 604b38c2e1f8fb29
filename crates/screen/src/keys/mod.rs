//! Keys by name, as people and agents write them: `C-c Enter M-x S-Tab F5 Up`.

mod encode;

pub use encode::encode;

use ptyard_core::ErrorCode;

/// A key that has no character, or whose character is a control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Named {
    /// Enter, also Return.
    Enter,
    /// Tab.
    Tab,
    /// Backspace.
    Backspace,
    /// Escape.
    Escape,
    /// Cursor up.
    Up,
    /// Cursor down.
    Down,
    /// Cursor right.
    Right,
    /// Cursor left.
    Left,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Insert.
    Insert,
    /// Delete forward.
    Delete,
    /// A function key, 1..=24.
    Function(u8),
}

/// What a key is, without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyCode {
    /// A key with a name.
    Named(Named),
    /// A key that writes this character.
    Char(char),
}

/// The modifiers held down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Modifiers {
    /// `S-`
    pub shift: bool,
    /// `M-` or `A-`
    pub alt: bool,
    /// `C-`
    pub ctrl: bool,
}

impl Modifiers {
    /// No modifier.
    pub const NONE: Self = Self { shift: false, alt: false, ctrl: false };

    /// The number terminals send: 1, plus 1 for shift, 2 for alt, 4 for control.
    #[must_use]
    pub const fn number(self) -> u8 {
        1 + self.shift as u8 + 2 * self.alt as u8 + 4 * self.ctrl as u8
    }
}

/// One key press.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key.
    pub code: KeyCode,
    /// What was held down with it.
    pub modifiers: Modifiers,
}

/// A key's name is unknown. Nothing was sent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{name:?} is not a key: keys are single characters and names like Enter, Tab, Escape, Up, F5, Space, with C-, M- or S- before them"
)]
pub struct UnknownKey {
    /// What was given.
    pub name: String,
}

impl UnknownKey {
    /// The stable code of this error.
    #[must_use]
    pub const fn code(&self) -> ErrorCode {
        ErrorCode::UnknownKey
    }
}

/// The keys named in `text`, which blanks separate. All of them or an error.
pub fn parse(text: &str) -> Result<Vec<Key>, UnknownKey> {
    text.split_ascii_whitespace().map(str::parse).collect()
}

impl std::str::FromStr for Key {
    type Err = UnknownKey;

    /// A name, whatever its case, or a single character that stands for itself; `C-`, `M-` (or `A-`) and `S-`
    /// before it, in any order. `^x` is `C-x`.
    fn from_str(name: &str) -> Result<Self, UnknownKey> {
        let unknown = || UnknownKey { name: name.to_owned() };
        let mut modifiers = Modifiers::NONE;
        let mut rest = name;
        loop {
            // A lone "-" after a prefix is the minus key: "C--".
            let prefix = match rest.as_bytes() {
                [letter, b'-', _, ..] => letter.to_ascii_lowercase(),
                [b'^', _, ..] => b'^',
                _ => break,
            };
            let flag = match prefix {
                b'c' | b'^' => &mut modifiers.ctrl,
                b'm' | b'a' => &mut modifiers.alt,
                b's' => &mut modifiers.shift,
                _ => break,
            };
            if std::mem::replace(flag, true) {
                return Err(unknown());
            }
            rest = &rest[if prefix == b'^' { 1 } else { 2 }..];
        }
        let code = code(rest).ok_or_else(unknown)?;
        if let (KeyCode::Named(Named::Tab), b"btab" | b"backtab") =
            (code, rest.to_ascii_lowercase().as_bytes())
        {
            modifiers.shift = true;
        }
        Ok(Self { code, modifiers })
    }
}

fn code(name: &str) -> Option<KeyCode> {
    let mut chars = name.chars();
    if let (Some(only), None) = (chars.next(), chars.next()) {
        return (!only.is_control()).then_some(KeyCode::Char(only));
    }
    let lower = name.to_ascii_lowercase();
    if let Some(number) = lower.strip_prefix('f').and_then(|number| number.parse::<u8>().ok()) {
        let is_plain = !lower[1..].starts_with(['0', '+']);
        return (is_plain && number <= 24).then_some(KeyCode::Named(Named::Function(number)));
    }
    Some(KeyCode::Named(match lower.as_str() {
        "enter" | "return" | "cr" => Named::Enter,
        "tab" | "btab" | "backtab" => Named::Tab,
        "backspace" | "bspace" | "bs" => Named::Backspace,
        "escape" | "esc" => Named::Escape,
        "up" => Named::Up,
        "down" => Named::Down,
        "right" => Named::Right,
        "left" => Named::Left,
        "home" => Named::Home,
        "end" => Named::End,
        "pageup" | "pgup" | "ppage" => Named::PageUp,
        "pagedown" | "pgdn" | "npage" => Named::PageDown,
        "insert" | "ins" | "ic" => Named::Insert,
        "delete" | "del" | "dc" => Named::Delete,
        "space" => return Some(KeyCode::Char(' ')),
        "plus" => return Some(KeyCode::Char('+')),
        "minus" => return Some(KeyCode::Char('-')),
        _ => return None,
    }))
}

#[cfg(test)]
mod tests;
