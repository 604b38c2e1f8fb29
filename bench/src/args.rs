//! The command line.

use std::path::{Path, PathBuf};

use clap::Parser;

use crate::cases::Case;

/// Measures ptyard against the machine's limit and against other programs, in one run.
#[derive(Debug, Parser)]
#[command(name = "ptyard-bench")]
pub(crate) struct Args {
    /// Only these cases
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',')]
    only: Vec<Case>,
    /// Interleaved rounds of each case; the figures are medians
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) rounds: u32,
    /// Seconds to wait before each case until the machine is quiet; then it is measured anyway, and the table says so
    #[arg(long, value_name = "S", default_value_t = 30)]
    pub(crate) patience: u64,
    /// Where the figures go as JSON [default: out/latest.json beside this crate]
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Megabytes of the corpus that is drained
    #[arg(long, value_name = "MB", default_value_t = 81, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) corpus_mb: u32,
}

impl Args {
    pub(crate) fn cases(&self) -> Vec<Case> {
        if self.only.is_empty() { Case::ALL.to_vec() } else { self.only.clone() }
    }

    pub(crate) fn json_path(&self) -> PathBuf {
        self.json.clone().unwrap_or_else(|| out_dir().join("latest.json"))
    }
}

/// Where runs leave what is kept between them; not checked in.
pub(crate) fn out_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("out")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_cases_in_a_list() {
        let args = Args::try_parse_from(["b", "--only", "drain,start"]).unwrap();
        assert_eq!(args.cases(), [Case::Drain, Case::Start]);
        assert_eq!(Args::try_parse_from(["b"]).unwrap().cases(), Case::ALL);
        assert!(Args::try_parse_from(["b", "--only", "nothing"]).is_err());
        assert!(Args::try_parse_from(["b", "--rounds", "0"]).is_err());
    }
}
