//! A stand-in for a coding agent: `ptyard-scripted-agent [--config FILE | --toml TEXT] [--record FILE]`.

use std::path::PathBuf;
use std::process::ExitCode;

use ptyard_testkit::agent::{self, AgentConfig};

fn main() -> ExitCode {
    match start() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::from(2)
        }
    }
}

fn start() -> Result<u8, Box<dyn std::error::Error>> {
    let mut config = AgentConfig::default();
    let mut record = None;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or_else(|| format!("{argument} wants a value"));
        match argument.as_str() {
            "--config" => config = AgentConfig::parse(&std::fs::read_to_string(value()?)?)?,
            "--toml" => config = AgentConfig::parse(&value()?)?,
            "--record" => record = Some(PathBuf::from(value()?)),
            // What a launch plan adds is none of this program's business.
            _ => {}
        }
    }
    Ok(agent::run(config, record.as_deref())?)
}
