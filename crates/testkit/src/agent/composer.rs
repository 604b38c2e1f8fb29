//! The text that is being composed.

/// What stands in the composer.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Composer {
    pieces: Vec<Piece>,
    pastes: usize,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// A paste that is shown as one line.
    Folded {
        number: usize,
        text: String,
    },
}

impl Composer {
    pub(super) fn holding(text: &str) -> Self {
        let mut composer = Self::default();
        composer.push_str(text);
        composer
    }

    pub(super) fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    pub(super) fn push_str(&mut self, text: &str) {
        match self.pieces.last_mut() {
            _ if text.is_empty() => {}
            Some(Piece::Text(before)) => before.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// Takes a paste, folded when it has more than `fold_lines` lines; 0 folds none. Says whether it was.
    pub(super) fn paste(&mut self, text: &str, fold_lines: usize) -> bool {
        if fold_lines == 0 || text.lines().count() <= fold_lines {
            self.push_str(text);
            return false;
        }
        self.pastes += 1;
        self.pieces.push(Piece::Folded { number: self.pastes, text: text.to_owned() });
        true
    }

    pub(super) fn backspace(&mut self) {
        if let Some(Piece::Text(text)) = self.pieces.last_mut() {
            text.pop();
            if !text.is_empty() {
                return;
            }
        }
        self.pieces.pop();
    }

    pub(super) fn clear(&mut self) {
        self.pieces.clear();
    }

    /// The message as it is submitted.
    pub(super) fn take(&mut self) -> String {
        let text = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) | Piece::Folded { text, .. } => text.as_str(),
        });
        let text = text.collect();
        self.pieces.clear();
        text
    }

    /// The message as it is shown.
    pub(super) fn shown(&self) -> String {
        let shown = self.pieces.iter().map(|piece| match piece {
            Piece::Text(text) => text.clone(),
            Piece::Folded { number, text } => {
                format!("[Pasted text #{number} +{} lines]", text.lines().count() - 1)
            }
        });
        shown.collect()
    }
}
