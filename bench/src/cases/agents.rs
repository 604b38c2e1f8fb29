//! What it costs to know what a hundred busy agents do.
//!
//! Each agent is a `cat` whose frames come through a FIFO, so that all of the work that is measured is the server's: a full
//! repaint of 40 rows in a synchronized update, ten times a second, with a spinner and a clock that move. The same frames
//! are printed by programs that nobody takes for agents; the difference is what detection costs.

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use ptyard_server::api::agents::LaunchRequest;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use crate::Outcome;
use crate::bed::Bed;
use crate::procfs;
use crate::report::{Goal, Report, Row};
use crate::server::{self, Server};

const CASE: &str = "agents";

const AGENTS: usize = 100;

/// Between two frames.
const FRAME: Duration = Duration::from_millis(100);

/// How long is measured.
const MEASURED: Duration = Duration::from_secs(10);

/// Frames before that: everybody works by then.
const WARM: u32 = 20;

/// The kind of agent whose rules are used: many of them, and a screen full of boxes.
const PROVIDER: &str = "claude_code";

/// Its program, by the name that its manifest looks for.
const PROGRAM: &str = "claude";

/// Most of one core that detection may take.
const MOST: f64 = 0.25;

pub(crate) async fn run(bed: &Bed, report: &mut Report) -> Outcome<()> {
    let agents = cores(bed, Kind::Agents).await?;
    let programs = cores(bed, Kind::Programs).await?;
    let note = format!("full repaints of {} bytes", frame(0).len());
    report.push(Row::new(CASE, "100 agents redraw at 10 Hz", agents, "cores").note(note));
    report.push(Row::new(CASE, "100 programs that print the same", programs, "cores"));
    let cost = Row::new(CASE, "detection", (agents - programs).max(0.0), "cores");
    report.push(cost.note("the difference").goal(Goal::AtMost(MOST)));
    Ok(())
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Agents,
    Programs,
}

/// How much of a core the server takes.
async fn cores(bed: &Bed, kind: Kind) -> Outcome<f64> {
    let place = Place::new()?;
    let mut server = Server::start(&bed.ptyard).await?;
    let mut frames = Vec::new();
    let mut ids = Vec::new();
    for at in 0..AGENTS {
        let (fifo, frame) = place.fifo(at)?;
        frames.push(frame);
        ids.push(start(&mut server, &place, &fifo, kind).await?);
    }
    let mut beat = tokio::time::interval(FRAME);
    let mut draw = async |from: u32, count: u32| -> Outcome<()> {
        for number in from..from + count {
            beat.tick().await;
            let frame = frame(number);
            for fifo in &mut frames {
                fifo.write_all(frame.as_bytes())?;
            }
        }
        Ok(())
    };
    draw(0, WARM).await?;
    if kind == Kind::Agents {
        for id in &ids {
            let status = server.client.status(id, false).await?.status;
            if status != "processing" {
                return Err(format!("agent {id} is {status}, not processing").into());
            }
        }
    }
    let before = procfs::cpu(server.pid())?;
    let count = u32::try_from(MEASURED.as_millis() / FRAME.as_millis())?;
    draw(WARM, count).await?;
    let used = procfs::cpu(server.pid())? - before;
    server.stop().await?;
    Ok(used.as_secs_f64() / MEASURED.as_secs_f64())
}

async fn start(server: &mut Server, place: &Place, fifo: &Path, kind: Kind) -> Outcome<String> {
    let fifo = fifo.display().to_string();
    if kind == Kind::Programs {
        let window = server::until("exit", Duration::ZERO);
        return Ok(server::id(&server.client.exec(&server::on_a_tty(&["cat", &fifo], window)).await?));
    }
    let path = format!("{}:/usr/bin:/bin", place.directory.path().display());
    let launch = LaunchRequest {
        provider: Some(PROVIDER.to_owned()),
        env: [("PATH".to_owned(), path), ("FRAMES".to_owned(), fifo)].into(),
        ..LaunchRequest::default()
    };
    Ok(server.client.launch(&launch).await?.id)
}

/// A frame of an agent at work.
fn frame(number: u32) -> String {
    const SPINNER: [&str; 6] = ["·", "✢", "✳", "✶", "✻", "✽"];
    let rail = "─".repeat(120);
    let spinner = SPINNER[number as usize % SPINNER.len()];
    let mut frame = "\x1b[?2026h\x1b[H".to_owned();
    for row in 0..33 {
        let text =
            format!("  {row:>3} \x1b[38;5;{}mwhat it has said so far, and what its tools have", 30 + row);
        frame.push_str(&format!("{text} told it\x1b[0m in row {row} of {number}\x1b[K\r\n"));
    }
    frame.push_str(&format!("{spinner} Vibing… ({}s · ↓ {number} tokens)\x1b[K\r\n", number / 10));
    frame.push_str(&format!(
        "\r\n{rail}\r\n❯ \r\n{rail}\r\n  ⏸ manual mode on · esc to interrupt\x1b[K\x1b[?2026l"
    ));
    frame
}

/// Where the program of the agents and their FIFOs are.
struct Place {
    directory: TempDir,
}

impl Place {
    fn new() -> Outcome<Self> {
        let directory = tempfile::tempdir()?;
        let program = directory.path().join(PROGRAM);
        std::fs::write(&program, "#!/bin/sh\nexec cat \"$FRAMES\"\n")?;
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755))?;
        Ok(Self { directory })
    }

    /// A FIFO, open for writing whether somebody reads it yet or not.
    fn fifo(&self, at: usize) -> Outcome<(PathBuf, File)> {
        let path = self.directory.path().join(format!("frames-{at}"));
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)?;
        let file = OpenOptions::new().read(true).write(true).open(&path)?;
        Ok((path, file))
    }
}
