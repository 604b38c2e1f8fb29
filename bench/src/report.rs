//! The table and the JSON.

use std::fmt;
use std::fs;
use std::path::Path;

use serde::Serialize;

use crate::Outcome;
use crate::quiet::Noise;
use crate::rounds::Samples;

/// What a row is to reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Goal {
    /// Nothing: it stands there to be compared with.
    Shown,
    /// At most this figure.
    AtMost(f64),
    /// At least this figure.
    AtLeast(f64),
    /// At least this ratio.
    RatioAtLeast(f64),
    /// At most this ratio.
    RatioAtMost(f64),
}

/// What became of the goal.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    /// There is no goal.
    Shown,
    /// Reached.
    Ok,
    /// Missed.
    Miss,
    /// It could not be measured here.
    Skipped,
}

/// One line of the table.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Row {
    case: &'static str,
    what: String,
    figure: f64,
    unit: &'static str,
    against: Option<String>,
    ratio: Option<f64>,
    goal: Goal,
    verdict: Verdict,
    note: String,
    samples: Vec<f64>,
}

impl Row {
    /// A figure of its own.
    pub(crate) fn new(case: &'static str, what: impl Into<String>, figure: f64, unit: &'static str) -> Self {
        Self {
            case,
            what: what.into(),
            figure,
            unit,
            against: None,
            ratio: None,
            goal: Goal::Shown,
            verdict: Verdict::Shown,
            note: String::new(),
            samples: Vec::new(),
        }
    }

    /// The median of samples.
    pub(crate) fn median(
        case: &'static str,
        what: impl Into<String>,
        samples: &Samples,
        unit: &'static str,
    ) -> Self {
        let mut row = Self::new(case, what, samples.median(), unit);
        row.samples = samples.figures().to_vec();
        row
    }

    /// Something that could not be measured, and why.
    pub(crate) fn skipped(case: &'static str, what: impl Into<String>, why: impl Into<String>) -> Self {
        let mut row = Self::new(case, what, f64::NAN, "");
        row.verdict = Verdict::Skipped;
        row.note = why.into();
        row
    }

    /// What it is compared with, and the ratio.
    pub(crate) fn against(mut self, whom: impl Into<String>, ratio: f64) -> Self {
        self.against = Some(whom.into());
        self.ratio = Some(ratio);
        self
    }

    /// What is to be reached.
    pub(crate) fn goal(mut self, goal: Goal) -> Self {
        let ratio = self.ratio.unwrap_or(f64::NAN);
        let reached = match goal {
            Goal::Shown => return self,
            Goal::AtMost(most) => self.figure <= most,
            Goal::AtLeast(least) => self.figure >= least,
            Goal::RatioAtLeast(least) => ratio >= least,
            Goal::RatioAtMost(most) => ratio <= most,
        };
        self.goal = goal;
        self.verdict = if reached { Verdict::Ok } else { Verdict::Miss };
        self
    }

    /// What else is to be known.
    pub(crate) fn note(mut self, note: impl Into<String>) -> Self {
        self.note = note.into();
        self
    }

    fn cells(&self) -> [String; 8] {
        let skipped = self.verdict == Verdict::Skipped;
        let goal = match self.goal {
            Goal::Shown => String::new(),
            Goal::AtMost(most) => format!("<= {} {}", number(most), self.unit),
            Goal::AtLeast(least) => format!(">= {} {}", number(least), self.unit),
            Goal::RatioAtLeast(least) => format!(">= {least:.2}x"),
            Goal::RatioAtMost(most) => format!("<= {most:.2}x"),
        };
        let verdict = match self.verdict {
            Verdict::Shown => "",
            Verdict::Ok => "ok",
            Verdict::Miss => "MISS",
            Verdict::Skipped => "skipped",
        };
        [
            self.case.to_owned(),
            self.what.clone(),
            self.against.clone().unwrap_or_default(),
            if skipped { String::new() } else { format!("{} {}", number(self.figure), self.unit) },
            self.ratio.map(|ratio| format!("{ratio:.2}x")).unwrap_or_default(),
            goal,
            verdict.to_owned(),
            self.note.clone(),
        ]
    }
}

fn number(figure: f64) -> String {
    match figure.abs() {
        large if large >= 100.0 => format!("{figure:.0}"),
        medium if medium >= 10.0 => format!("{figure:.1}"),
        small if small.fract() == 0.0 => format!("{figure:.0}"),
        _ => format!("{figure:.3}"),
    }
}

/// When and where the figures were taken.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct Header {
    at: String,
    processors: usize,
    kernel: String,
    version: &'static str,
    rounds: u32,
}

impl Header {
    pub(crate) fn of_this_run(rounds: u32) -> Outcome<Self> {
        Ok(Self {
            at: jiff::Timestamp::now().strftime("%Y-%m-%d %H:%M UTC").to_string(),
            processors: std::thread::available_parallelism()?.get(),
            kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
            version: env!("CARGO_PKG_VERSION"),
            rounds,
        })
    }
}

/// All rows of a run.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    header: Header,
    /// What others did to the machine before each case.
    noise: Vec<(&'static str, Noise)>,
    rows: Vec<Row>,
}

impl Report {
    pub(crate) fn new(header: Header) -> Self {
        Self { header, noise: Vec::new(), rows: Vec::new() }
    }

    pub(crate) fn noise(&mut self, case: &'static str, noise: Noise) {
        self.noise.push((case, noise));
    }

    pub(crate) fn push(&mut self, row: Row) {
        let [_, what, against, figure, ratio, goal, verdict, note] = row.cells();
        eprintln!("  {what} | {against} | {figure} | {ratio} | {goal} | {verdict} | {note}");
        self.rows.push(row);
    }

    /// Writes everything, single samples included, as JSON.
    pub(crate) fn write_json(&self, path: &Path) -> Outcome<()> {
        if let Some(directory) = path.parent() {
            fs::create_dir_all(directory)?;
        }
        Ok(fs::write(path, serde_json::to_vec_pretty(self)?)?)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Header { at, processors, kernel, version, rounds } = &self.header;
        writeln!(f, "ptyard {version}, {at}, {processors} processors, Linux {kernel}, {rounds} rounds\n")?;
        let head = ["case", "what", "against", "figure", "ratio", "target", "", "note"].map(str::to_owned);
        let lines: Vec<_> = std::iter::once(head).chain(self.rows.iter().map(Row::cells)).collect();
        let widths: [usize; 8] =
            std::array::from_fn(|i| lines.iter().map(|cells| cells[i].chars().count()).max().unwrap_or(0));
        for (n, cells) in lines.iter().enumerate() {
            let padded: Vec<_> =
                cells.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}")).collect();
            writeln!(f, "| {} |", padded.join(" | "))?;
            if n == 0 {
                writeln!(f, "|{}|", widths.map(|width| "-".repeat(width + 2)).join("|"))?;
            }
        }
        let loud: Vec<_> = self.noise.iter().filter(|(_, noise)| !noise.is_quiet()).collect();
        if loud.is_empty() {
            return writeln!(f, "\nThe machine was quiet before every case.");
        }
        for (case, noise) in loud {
            let (busy, load) = (noise.busy_share * 100.0, noise.load_1min);
            writeln!(f, "\nNOT QUIET before {case}: {busy:.0} % busy with other things, load {load:.1}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_judges_the_figure_or_the_ratio() {
        let row = || Row::new("c", "w", 10.0, "ms").against("x", 2.0);
        for (goal, verdict) in [
            (Goal::Shown, Verdict::Shown),
            (Goal::AtMost(10.0), Verdict::Ok),
            (Goal::AtMost(9.9), Verdict::Miss),
            (Goal::RatioAtLeast(2.0), Verdict::Ok),
            (Goal::RatioAtLeast(2.1), Verdict::Miss),
            (Goal::RatioAtMost(1.9), Verdict::Miss),
        ] {
            assert_eq!(row().goal(goal).verdict, verdict, "{goal:?}");
        }
        let nobody = Row::new("c", "w", 10.0, "ms").goal(Goal::RatioAtLeast(0.0));
        assert_eq!(nobody.verdict, Verdict::Miss, "no ratio reaches no ratio");
    }
}
