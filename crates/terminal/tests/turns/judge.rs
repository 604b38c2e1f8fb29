//! A judge of the scripted agent, and of whatever a test draws like it.

use ptyard_core::Moment;
use ptyard_core::turn::{BlockedOn, Evidence, Position, Question, Rule, Source, Status};
use ptyard_screen::scan::{Event, ProgramState};
use ptyard_screen::{Signal, View};
use ptyard_terminal::agent::{Composer, Judge, Verdict};

/// Reads the rows of the scripted agent and its reports. What a frame with `(not believed)` shows is not said yet: what was
/// said of the frame before stands, as with judges that wait until something has held for a while.
#[derive(Default)]
pub(crate) struct Sketch {
    report: Option<Evidence>,
    screen: Option<Evidence>,
    composer: Composer,
    /// It was seen at work once: ready is completed from then on.
    worked: bool,
}

impl Judge for Sketch {
    fn signal(&mut self, signal: &Signal, _: Moment) {
        if let Event::ProgramStatus(status) = &signal.event {
            let (state, rule) = match status.state {
                ProgramState::Idle => (Status::Idle, "osc7501.idle"),
                ProgramState::Working => (Status::Processing, "osc7501.working"),
                ProgramState::Blocked => (Status::WaitingUserAnswer, "osc7501.blocked"),
                ProgramState::Done => (Status::Completed, "osc7501.done"),
                ProgramState::Error => (Status::Error, "osc7501.error"),
                ProgramState::Clear => (Status::Unknown, "osc7501.clear"),
            };
            let at = Position::Offset(signal.at);
            self.report = Some(Evidence::new(Source::Native, at, state, Rule::named(rule)));
        }
    }

    fn look(&mut self, view: &View, offset: u64, _: Moment) {
        let rows: Vec<&str> = view.screen_lines().iter().map(|line| line.text.as_str()).collect();
        let footer = rows.iter().rposition(|row| row.contains("? for help"));
        let prompt =
            footer.and_then(|end| rows[..end].iter().rposition(|row| *row == ">" || row.starts_with("> ")));
        let (status, rule) = if rows.iter().any(|row| row.contains("Enter to choose")) {
            (Status::WaitingUserAnswer, "sketch.dialog")
        } else if rows.iter().any(|row| row.contains("starting...")) {
            (Status::Starting, "sketch.boot")
        } else if let Some(prompt) = prompt {
            if prompt > 0 && !rows[prompt - 1].trim().is_empty() && !rows[prompt - 1].starts_with('>') {
                self.worked = true;
                (Status::Processing, "sketch.working")
            } else if self.worked {
                (Status::Completed, "sketch.composer")
            } else {
                (Status::Idle, "sketch.composer")
            }
        } else {
            (Status::Unknown, "sketch.nothing")
        };
        self.composer = match (prompt, footer) {
            (Some(prompt), Some(footer)) if status != Status::WaitingUserAnswer => {
                let text: Vec<&str> =
                    rows[prompt..footer].iter().map(|row| row.trim_start_matches(['>', ' '])).collect();
                match text.join("\n").trim() {
                    "" => Composer::Empty,
                    text if text.starts_with("[Pasted text") => Composer::Folded,
                    text => Composer::Text(text.to_owned()),
                }
            }
            _ => Composer::Unseen,
        };
        if rows.iter().any(|row| row.contains("(not believed)")) {
            return;
        }
        let mut evidence = Evidence::new(Source::Screen, Position::Offset(offset), status, Rule::named(rule));
        if status == Status::WaitingUserAnswer {
            evidence.blocked_on = Some(BlockedOn { kind: Question::Dialog, message: None });
        }
        self.screen = Some(evidence);
    }

    fn verdict(&mut self, _: Moment) -> Verdict {
        let evidence = self.report.iter().chain(&self.screen).cloned().collect();
        Verdict { evidence, composer: self.composer.clone(), until: None }
    }
}
