//! `--limit NAME=VALUE`.

use std::str::FromStr;

use ptyard_server::api::LimitsRequest;

/// One limit as it was typed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LimitArg {
    /// `wall=30s`.
    WallMs(u64),
    /// `idle=10m`.
    IdleMs(u64),
    /// `memory=512M`.
    MemoryBytes(u64),
    /// `processes=100`.
    Processes(u32),
    /// `log=64M`.
    LogBytes(u64),
}

impl FromStr for LimitArg {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, value) = text.split_once('=').ok_or(
            "a limit is NAME=VALUE, for example wall=30s, idle=10m, memory=512M, processes=100 or log=64M",
        )?;
        match name {
            "wall" => time_ms(value).map(Self::WallMs),
            "idle" => time_ms(value).map(Self::IdleMs),
            "memory" => bytes(value).map(Self::MemoryBytes),
            "processes" => value
                .parse()
                .map(Self::Processes)
                .map_err(|_| format!("{value:?} is not a number of processes, for example 100")),
            "log" => bytes(value).map(Self::LogBytes),
            _ => Err(format!("there is no limit {name:?}; there are wall, idle, memory, processes and log")),
        }
    }
}

/// The limits together; of two with one name the later counts.
pub(crate) fn request(limits: &[LimitArg], best_effort: bool) -> Option<LimitsRequest> {
    if limits.is_empty() {
        return None;
    }
    let mut request = LimitsRequest { best_effort, ..LimitsRequest::default() };
    for limit in limits {
        match *limit {
            LimitArg::WallMs(ms) => request.wall_ms = Some(ms),
            LimitArg::IdleMs(ms) => request.idle_ms = Some(ms),
            LimitArg::MemoryBytes(bytes) => request.memory_bytes = Some(bytes),
            LimitArg::Processes(most) => request.processes = Some(most),
            LimitArg::LogBytes(bytes) => request.log_bytes = Some(bytes),
        }
    }
    Some(request)
}

/// A whole number with a unit behind it.
fn counted(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    number.parse::<u64>().ok()?.checked_mul(*factor)
}

fn time_ms(text: &str) -> Result<u64, String> {
    let units = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    counted(text, &units).ok_or_else(|| {
        format!("{text:?} is not a time: a whole number with ms, s, m, h or d, for example 30s")
    })
}

fn bytes(text: &str) -> Result<u64, String> {
    let units = [("", 1), ("K", 1 << 10), ("M", 1 << 20), ("G", 1 << 30), ("T", 1 << 40)];
    counted(text, &units).ok_or_else(|| {
        format!("{text:?} is not a size: a whole number of bytes, or with K, M, G or T (of 1024)")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_with_their_units() {
        for (text, limit) in [
            ("wall=30s", LimitArg::WallMs(30_000)),
            ("wall=1500ms", LimitArg::WallMs(1_500)),
            ("idle=10m", LimitArg::IdleMs(600_000)),
            ("idle=2d", LimitArg::IdleMs(172_800_000)),
            ("memory=512M", LimitArg::MemoryBytes(512 << 20)),
            ("memory=1048576", LimitArg::MemoryBytes(1 << 20)),
            ("processes=100", LimitArg::Processes(100)),
            ("log=64K", LimitArg::LogBytes(64 << 10)),
        ] {
            assert_eq!(text.parse(), Ok(limit), "{text}");
        }
    }

    #[test]
    fn what_is_not_a_limit_is_refused_with_what_is() {
        for (text, word) in [
            ("30s", "NAME=VALUE"),
            ("cpu=1", "there are wall"),
            ("wall=30", "ms, s, m, h or d"),
            ("wall=-1s", "not a time"),
            ("wall=s", "not a time"),
            ("wall=99999999999999999d", "not a time"),
            ("memory=1.5G", "not a size"),
            ("memory=1k", "K, M, G or T"),
            ("processes=many", "number of processes"),
        ] {
            let error = text.parse::<LimitArg>().unwrap_err();
            assert!(error.contains(word), "{text}: {error}");
        }
    }

    #[test]
    fn the_last_of_a_name_counts_and_none_is_none() {
        let limits = [LimitArg::WallMs(1), LimitArg::LogBytes(2), LimitArg::WallMs(3)];
        let asked = request(&limits, true).unwrap();
        assert_eq!((asked.wall_ms, asked.log_bytes, asked.best_effort), (Some(3), Some(2), true));
        assert_eq!(request(&[], true), None);
    }
}
