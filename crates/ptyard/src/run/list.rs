//! `ptyard list` and `ptyard info`.

use ptyard_server::api::{LimitsInfo, TerminalInfo};

use super::{Place, window};
use crate::failure::{Failure, status};
use crate::print::printable;

pub(super) async fn list(place: &Place) -> Result<u8, Failure> {
    let all = place.client().await?.list().await?;
    place.show(&all, |all| table(all))?;
    Ok(status::DONE)
}

pub(super) async fn info(place: &Place, id: &str) -> Result<u8, Failure> {
    let info = place.client().await?.info(id).await?;
    place.show(&info, details)?;
    Ok(status::DONE)
}

/// Lines of the terminals: the command is last and may be long.
pub(crate) fn table(all: &[TerminalInfo]) -> String {
    let mut rows = vec![["SESSION", "NAME", "STATE", "BACKEND", "OUTPUT", "COMMAND"].map(str::to_owned)];
    rows.extend(all.iter().map(|info| {
        [
            info.session_id.map_or_else(|| info.id.clone(), |id| id.to_string()),
            info.name.as_deref().map_or_else(|| "-".to_owned(), printable),
            state(info),
            printable(&info.backend),
            info.log.end.to_string(),
            command(&info.argv),
        ]
    }));
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 5] = std::array::from_fn(width);
    let line = |row: &[String; 6]| {
        let padded = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}  "));
        padded.collect::<String>() + &row[5] + "\n"
    };
    let mut table: String = rows.iter().map(line).collect();
    for info in all {
        if let Some(why) = &info.log.error {
            let id = info.session_id.map_or_else(|| info.id.clone(), |id| id.to_string());
            table
                .push_str(&format!("{id}: output is held back, and the program waits: {}\n", printable(why)));
        }
    }
    table
}

fn state(info: &TerminalInfo) -> String {
    let mut state = info.exit.as_ref().map_or_else(|| info.state.clone(), window::ended);
    if info.log.error.is_some() {
        state.push_str(", output held back");
    }
    state
}

/// The arguments as one would type them, quoted where a shell needs it.
fn command(argv: &[String]) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_@%+=:,./-".contains(c);
    let quoted = argv.iter().map(|arg| match arg {
        arg if !arg.is_empty() && arg.chars().all(plain) => arg.clone(),
        arg => printable(&format!("'{}'", arg.replace('\'', r"'\''"))),
    });
    quoted.collect::<Vec<_>>().join(" ")
}

fn shown(limits: &LimitsInfo) -> String {
    let time =
        |ms: u64| if ms.is_multiple_of(1_000) { format!("{}s", ms / 1_000) } else { format!("{ms}ms") };
    let wall = limits.wall_ms.map(|ms| match limits.wall_left_ms {
        Some(left) => format!("wall={} ({} left)", time(ms), time(left)),
        None => format!("wall={}", time(ms)),
    });
    let all = [
        wall,
        limits.idle_ms.map(|ms| format!("idle={}", time(ms))),
        limits.memory_bytes.map(|bytes| format!("memory={bytes}")),
        limits.processes.map(|most| format!("processes={most}")),
        limits.log_bytes.map(|bytes| format!("log={bytes}")),
    ];
    let not_held = limits.not_held.iter().map(|(limit, why)| format!("{limit} is not held: {why}"));
    all.into_iter().flatten().chain(not_held).collect::<Vec<_>>().join(", ")
}

fn details(info: &TerminalInfo) -> String {
    let mut lines = vec![
        ("id", info.id.clone()),
        ("session", info.session_id.map_or_else(|| "-".to_owned(), |id| id.to_string())),
        ("name", info.name.clone().unwrap_or_else(|| "-".to_owned())),
        ("state", state(info)),
        ("backend", info.backend.clone()),
        ("command", command(&info.argv)),
        ("cwd", info.cwd.clone()),
        ("pid", info.pid.map_or_else(|| "-".to_owned(), |pid| pid.to_string())),
        (
            "terminal",
            if info.tty { format!("{}x{}", info.size.cols, info.size.rows) } else { "none".to_owned() },
        ),
        ("output", format!("bytes {}..{}, {} kept", info.log.start, info.log.end, info.log.bytes_kept)),
        ("next window", format!("from {}", info.cursor)),
        ("created", info.created_at.clone()),
        ("last output", info.last_output_at.clone().unwrap_or_else(|| "-".to_owned())),
    ];
    lines.extend(info.log.error.clone().map(|error| ("problem", error)));
    lines.extend(info.limits.iter().map(|limits| ("limits", shown(limits))));
    lines.extend(info.client.clone().map(|client| ("client", client)));
    for (name, value) in &info.env {
        lines.push(("env", format!("{name}={}", value.as_deref().unwrap_or("(given, not shown)"))));
    }
    lines.iter().map(|(name, value)| format!("{name:<12} {}\n", printable(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_says_whose_output_is_held_back_and_why() {
        let json = r#"{"id":"t1","session_id":1000,"name":null,"backend":"local","argv":["yes"],"cwd":"/","pid":7,
            "tty":false,"size":{"cols":80,"rows":24},"state":"running","exit":null,
            "log":{"start":0,"end":5,"bytes_kept":5,"error":"the disk is full: cannot write /s/1.seg"},
            "cursor":0,"env":{},"client":null,"status":{},"created_at":"","last_output_at":null}"#;
        let full: TerminalInfo = serde_json::from_str(json).unwrap();
        let table = table(&[full]);
        assert!(table.contains("running, output held back"), "{table}");
        assert!(
            table.ends_with(
                "1000: output is held back, and the program waits: the disk is full: cannot write /s/1.seg\n"
            ),
            "{table}"
        );
    }
}
