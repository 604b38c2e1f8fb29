//! What an agent does, as a small TOML file.

use serde::Deserialize;

/// Everything about an agent. The default starts at once, answers each message after 50 ms and has no bad habits.
#[derive(Debug, Clone, PartialEq, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AgentConfig {
    /// Input that comes in this time after the start is thrown away.
    pub boot_ms: u64,
    /// Reports `working` for this long before it is ready, although nobody asked for anything.
    pub false_start_ms: u64,
    /// Stands in the composer from the start, as if a person had begun to type.
    pub draft: String,
    /// The composer.
    pub composer: ComposerConfig,
    /// How it tells its status.
    pub status: StatusConfig,
    /// What it draws.
    pub screen: ScreenConfig,
    /// Opened one after the other before the first turn.
    pub dialogs: Vec<DialogConfig>,
    /// Every turn that `turns` does not name.
    pub turn: TurnConfig,
    /// The first turns, in order.
    pub turns: Vec<TurnConfig>,
}

impl AgentConfig {
    /// Reads a configuration.
    ///
    /// # Errors
    /// What is wrong with the text, and on which line.
    pub fn parse(text: &str) -> Result<Self, toml::de::Error> {
        toml::from_str(text)
    }

    /// The plan of the turn with this number, counted from 0.
    #[must_use]
    pub fn turn(&self, number: usize) -> &TurnConfig {
        self.turns.get(number).unwrap_or(&self.turn)
    }
}

/// The composer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ComposerConfig {
    /// Whether it asks for bracketed pastes.
    pub bracketed_paste: bool,
    /// When an Enter after typed text is a line break.
    pub burst: Burst,
    /// When an Enter after a bracketed paste is a line break.
    pub after_paste: Burst,
    /// Pastes of more lines than this are shown as `[Pasted text #1 +N lines]`; 0 folds none.
    pub fold_lines: usize,
    /// What an Enter does in the middle of a turn.
    pub while_busy: WhileBusy,
    /// Whether an interrupted message comes back into the composer.
    pub restore: bool,
}

impl Default for ComposerConfig {
    fn default() -> Self {
        Self {
            bracketed_paste: true,
            burst: Burst::Never,
            after_paste: Burst::Never,
            fold_lines: 0,
            while_busy: WhileBusy::Queue,
            restore: false,
        }
    }
}

/// When an Enter is taken for a line break of what was pasted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Burst {
    /// It always submits.
    #[default]
    Never,
    /// When one read brought both.
    SameRead,
    /// When one read brought both, or it came within this many milliseconds.
    WithinMs(u64),
}

/// What becomes of an Enter in the middle of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WhileBusy {
    /// The message waits for its turn.
    #[default]
    Queue,
    /// Nothing: the text stays in the composer.
    Keep,
    /// The text is thrown away.
    Discard,
}

/// How the status is told.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StatusConfig {
    /// Reports on the terminal itself.
    pub osc7501: Osc7501,
    /// An icon in the title; a static title once an OSC 7501 question was answered.
    pub title: bool,
    /// A line on the screen while it works.
    pub screen: bool,
}

impl Default for StatusConfig {
    fn default() -> Self {
        Self { osc7501: Osc7501::Off, title: false, screen: true }
    }
}

/// Whether it reports with OSC 7501.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Osc7501 {
    /// Never.
    #[default]
    Off,
    /// Without asking.
    Always,
    /// It asks, and reports when the terminal answers.
    Asks,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ScreenConfig {
    /// Draws on the alternate screen.
    pub alternate: bool,
    /// Shows the messages and the answers.
    pub transcript: bool,
    /// Draws the same screen again this often, whether anything changed or not; 0 never.
    pub noise_ms: u64,
}

impl Default for ScreenConfig {
    fn default() -> Self {
        Self { alternate: false, transcript: true, noise_ms: 0 }
    }
}

/// A question with choices. Text typed into it is thrown away; Enter takes the choice that is marked, a digit takes that one.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DialogConfig {
    /// How long the composer under it is shown first.
    pub after_ms: u64,
    /// The question.
    pub text: String,
    /// The choices.
    pub choices: Vec<Choice>,
    /// The choice that is marked at first, counted from 0.
    pub marked: usize,
}

impl Default for DialogConfig {
    fn default() -> Self {
        Self {
            after_ms: 0,
            text: "Run command: rm -r build ?".to_owned(),
            choices: vec![
                Choice { label: "Yes".to_owned(), does: Outcome::Proceed },
                Choice { label: "No".to_owned(), does: Outcome::Reject },
            ],
            marked: 0,
        }
    }
}

/// One choice of a dialog.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Choice {
    /// Its text.
    pub label: String,
    /// What it does.
    #[serde(default)]
    pub does: Outcome,
}

/// What a choice does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It goes on.
    #[default]
    Proceed,
    /// The turn ends; before the first turn, nothing.
    Reject,
    /// The agent exits.
    Exit,
}

/// One turn.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TurnConfig {
    /// How long it takes; 0 is over in the moment it begins.
    pub busy_ms: u64,
    /// What is drawn meanwhile.
    pub show: Show,
    /// Looks ready for 30 ms at this point of the turn; 0 never.
    pub flash_at_ms: u64,
    /// Reports that it is done so long before it draws its answer, for which it goes on working on the screen.
    pub done_early_ms: u64,
    /// Asks for permission at this point of the turn.
    pub ask: Option<DialogConfig>,
    /// How it ends.
    pub end: Ending,
    /// The answer; `{text}` is the message.
    pub answer: String,
    /// A program with its arguments that does the work instead: the message is its input, what it prints the answer. The
    /// turn ends with it, or without it after `busy_ms`.
    pub run: Vec<String>,
}

impl Default for TurnConfig {
    fn default() -> Self {
        Self {
            busy_ms: 50,
            show: Show::Spinner,
            flash_at_ms: 0,
            done_early_ms: 0,
            ask: None,
            end: Ending::Answer,
            answer: "You said: {text}".to_owned(),
            run: Vec::new(),
        }
    }
}

/// What a turn shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Show {
    /// Something that moves.
    #[default]
    Spinner,
    /// The same all the time.
    Still,
    /// Nothing: not one byte is printed between the Enter and the end.
    Nothing,
}

/// How a turn ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ending {
    /// With an answer.
    #[default]
    Answer,
    /// With an error of the model; the composer is ready again.
    Error,
    /// The program is killed by a signal and cleans nothing up.
    Crash,
    /// The program exits with this code.
    Exit(u8),
    /// A shell takes the terminal, as when an agent was started by one.
    Shell,
}
