//! Side-by-side benchmarks: what ptyard costs against the limit of the machine and against other programs.
//!
//! Everything a figure is compared with is measured in the same run, in interleaved rounds; the table shows medians and
//! the median of the rounds' own ratios. `docs/BENCHMARKS.md` says what each row means.
//!
//! The way a run goes: `cases` measure contenders (a plain loop in `tty`, ptyard in process in `yard`, a real server in
//! `server`, other programs in `peers`) and hand [`report::Row`]s to the [`report::Report`].

mod args;
mod bed;
mod cases;
mod corpus;
mod forks;
mod peers;
mod placement;
mod procfs;
mod quiet;
mod report;
mod rounds;
mod server;
mod tty;
mod yard;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;

use crate::args::Args;
use crate::bed::Bed;
use crate::report::{Header, Report};

/// A measurement that could not be made ends the run: there is nobody to recover for.
pub(crate) type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

fn main() -> ExitCode {
    match run(&Args::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &Args) -> Outcome<()> {
    if cfg!(debug_assertions) {
        return Err(
            "figures of a debug build mean nothing: run with `cargo run --release -p ptyard-bench`".into()
        );
    }
    let runtime = tokio::runtime::Runtime::new()?;
    let finished = runtime.block_on(async {
        let bed = Bed::prepare(args)?;
        let mut report = Report::new(Header::of_this_run(bed.rounds)?);
        for case in args.cases() {
            eprintln!("{}: {}", case.name(), case.about());
            case.run(&bed, &mut report).await?;
        }
        Ok::<_, Box<dyn Error + Send + Sync>>(report)
    });
    runtime.shutdown_background();
    let report = finished?;
    print!("{report}");
    let path = args.json_path();
    report.write_json(&path)?;
    eprintln!("written: {}", path.display());
    Ok(())
}
