//! A stand-in for the command `herdr`: what is known of its command line, over the stand-in's own socket.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use ptyard_testkit::vendors::herdr::{HerdrServer, socket};
use serde_json::{Value, json};

/// Flags that take a value.
const FLAGS: [&str; 8] =
    ["--cwd", "--env", "--format", "--label", "--lines", "--pane", "--source", "--workspace"];

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(text) => {
            println!("{text}");
            ExitCode::SUCCESS
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

fn config() -> PathBuf {
    let set = |name| std::env::var_os(name).map(PathBuf::from);
    set("XDG_CONFIG_HOME").or_else(|| set("HOME").map(|home| home.join(".config"))).unwrap_or_default()
}

fn run(arguments: Vec<String>) -> Result<String, String> {
    let mut arguments = arguments.into_iter().peekable();
    if arguments.peek().is_some_and(|first| first == "--version") {
        return Ok("herdr 0.0.0 (stand-in)".to_owned());
    }
    let mut session = "default".to_owned();
    if arguments.next_if(|first| first == "--session").is_some() {
        session = arguments.next().ok_or("--session needs a name")?;
    }
    let group = arguments.next().ok_or("a command is missing")?;
    if group == "server" {
        return serve(&session);
    }
    let command = arguments.next().ok_or("a command is missing")?;
    let (mut params, mut positional) = (json!({}), Vec::new());
    // What is typed is text, whatever it looks like.
    let is_payload = matches!(command.as_str(), "run" | "send-text");
    while let Some(argument) = arguments.next() {
        if FLAGS.contains(&argument.as_str()) && !is_payload {
            let value = arguments.next().ok_or("a flag needs a value")?;
            params[argument.trim_start_matches('-')] = value.into();
        } else if argument.starts_with("--") && !is_payload {
            return Err(format!("{argument}: there is no such flag"));
        } else {
            positional.push(argument);
        }
    }
    params["args"] = positional.into();
    let request = json!({ "id": "cli", "method": format!("{group}.{command}"), "params": params });
    let answer = ask(&session, &request).map_err(|error| format!("no server: {error}"))?;
    let answer: Value = serde_json::from_str(&answer).map_err(|error| error.to_string())?;
    if answer.get("error").is_some() { Err(answer.to_string()) } else { Ok(answer.to_string()) }
}

fn ask(session: &str, request: &Value) -> std::io::Result<String> {
    let mut connection = UnixStream::connect(socket(&config(), session))?;
    connection.write_all(format!("{request}\n").as_bytes())?;
    let mut answer = String::new();
    BufReader::new(connection).read_line(&mut answer)?;
    Ok(answer)
}

/// Serves until it is killed; its process id stands beside its socket.
fn serve(session: &str) -> Result<String, String> {
    let runtime = tokio::runtime::Runtime::new().map_err(|error| error.to_string())?;
    runtime.block_on(async {
        let _server = HerdrServer::start(&config(), session);
        let beside = socket(&config(), session).with_extension("pid");
        std::fs::write(beside, std::process::id().to_string()).map_err(|error| error.to_string())?;
        std::future::pending().await
    })
}
