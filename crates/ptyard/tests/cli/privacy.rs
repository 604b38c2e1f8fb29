//! What is printed, typed, given or shown as proof is the owner's business: it stands in the output log, and in no line of
//! the servers' logs, no other file of the state directory, no argument and no environment of the servers' processes.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::fake::out;
use crate::live::Yard;

/// What nobody may read elsewhere: each comes in at another door. None is written here as it is printed or typed, so that
/// no argument list holds it.
struct Secrets {
    printed: String,
    typed: String,
    pasted: String,
    title: String,
    variable: String,
    named_variable: String,
}

impl Secrets {
    fn new() -> Self {
        let mark = |door: &str| format!("MARK{}{door}KRAM", std::process::id());
        Self {
            printed: mark("printed"),
            typed: mark("typed"),
            pasted: mark("pasted"),
            title: mark("title"),
            variable: mark("variable"),
            named_variable: mark("named"),
        }
    }

    fn all(&self) -> [&str; 6] {
        [&self.printed, &self.typed, &self.pasted, &self.title, &self.variable, &self.named_variable]
    }
}

/// All regular files below a directory but the pieces of output logs.
fn files(dir: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(dir).unwrap().flatten() {
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            files(&entry.path(), into);
        } else if kind.is_file() && !is_output_log(&entry.path()) {
            into.push(entry.path());
        }
    }
}

/// The ring and the segments, in the directory of a terminal.
fn is_output_log(file: &Path) -> bool {
    let name = file.file_name().unwrap().to_string_lossy().into_owned();
    name == "ring" || name.trim_end_matches(SEGMENT_SUFFIX).bytes().all(|byte| byte.is_ascii_digit())
}

/// How segment files are called: their first offset and this.
const SEGMENT_SUFFIX: &str = ".seg";

fn holds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn nothing_of_programs_variables_and_tokens_is_logged_stored_or_shown() {
    let yard = Yard::new();
    let secrets = Secrets::new();
    let run = |args: &[&str]| {
        let mut command = yard.command(args);
        command.env("PTYARD_LOG", "trace").env("NAMED_SECRET", &secrets.named_variable);
        command.output().unwrap()
    };
    // A server of the most talkative kind, on TCP as well.
    let mut server = yard
        .command(&["serve", "--log", "trace", "--listen", "127.0.0.1:0"])
        .env("NAMED_SECRET", &secrets.named_variable)
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(server.stderr.take().unwrap()));
    let mut log = String::new();
    let address = loop {
        let line = lines.next().unwrap().unwrap();
        log.push_str(&line);
        log.push('\n');
        if let Some((_, rest)) = line.split_once("address=") {
            break rest.split_whitespace().next().unwrap().to_owned();
        }
    };
    let reader =
        std::thread::spawn(move || lines.map_while(Result::ok).map(|line| line + "\n").collect::<String>());

    // The program prints what it reads from its variables and its input, in ways that no argument shows.
    let script = r#"printf '%s\n' "$PRINTED"; printf '\033]0;%s\007' "$TITLE"; read x; read y; echo "got $x $y"; exec cat"#;
    let variables = [
        format!("PRINTED={}", secrets.printed),
        format!("TITLE={}", secrets.title),
        format!("KEY={}", secrets.variable),
    ];
    let start = |name: &str| {
        let mut line =
            vec!["exec", "--json", "--tty", "--name", name, "--until", "quiet:200", "--yield-ms", "20000"];
        for variable in &variables {
            line.extend(["--env", variable.as_str()]);
        }
        line.extend(["--env", "NAMED_SECRET", "--", "sh", "-c", script]);
        let reply: Value = serde_json::from_slice(&run(&line).stdout).unwrap();
        assert!(reply["output"].as_str().unwrap().contains(&secrets.printed), "{reply}");
    };
    start("p");
    let typed = format!("{}\n", secrets.typed);
    let pasted = format!("{}\n", secrets.pasted);
    run(&["write", "p", "--chars", &typed, "--key", "once", "--until", "quiet:200"]);
    run(&["write", "p", "--paste", &pasted, "--until", "regex:got"]);
    run(&["screen", "p"]);
    run(&["wait", "p", "--until", &format!("regex:{}", secrets.typed), "--timeout", "0.1"]);
    // Refusals of what was typed, too.
    run(&["write", "p", "--keys", &secrets.typed]);
    run(&["write", "nobody", "--chars", &secrets.typed]);

    // A stream, and TCP with a wrong token and the right one.
    let mut waiting = yard.command(&["exec", "--wait", "--env"]);
    waiting.arg(&variables[0]).args(["--", "sh", "-c", "printf '%s\\n' \"$PRINTED\""]);
    assert!(out(&waiting.output().unwrap()).contains(&secrets.printed));
    let token = fs::read_to_string(yard.state().join("token")).unwrap().trim().to_owned();
    for shown in [token.as_str(), "0000"] {
        let mut peer = std::net::TcpStream::connect(&address).unwrap();
        let request = format!(
            "GET /v1/terminals?since={shown} HTTP/1.1\r\nhost: {address}\r\nauthorization: Bearer {shown}\r\nconnection: close\r\n\r\n"
        );
        peer.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        std::io::Read::read_to_string(&mut peer, &mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 "), "{answer}");
    }

    // Shown: the names, and no value that was given.
    let info = String::from_utf8(run(&["info", "p", "--json"]).stdout).unwrap();
    assert!(info.contains("NAMED_SECRET") && info.contains("KEY"), "{info}");
    let events = run(&["events", "--json"]).stdout;
    for secret in
        [&secrets.printed, &secrets.typed, &secrets.pasted, &secrets.variable, &secrets.named_variable]
    {
        assert!(!info.contains(secret.as_str()), "{secret} in {info}");
        assert!(!holds(&events, secret), "{secret} in the events");
    }
    // In the processes that stay.
    let keeper = fs::read_to_string(yard.state().join("keeper.lock")).unwrap().trim().to_owned();
    for pid in [server.id().to_string(), keeper] {
        for what in ["cmdline", "environ"] {
            let bytes = fs::read(format!("/proc/{pid}/{what}")).unwrap();
            assert!(what == "environ" || !bytes.is_empty());
            for secret in secrets.all().into_iter().chain([token.as_str()]) {
                assert!(!holds(&bytes, secret), "{secret} in {what} of {pid}");
            }
        }
    }

    assert!(yard.run(&["stop"]).status.success());
    server.wait().unwrap();
    log.push_str(&reader.join().unwrap());
    assert!(log.contains("started a program") && log.contains("a call"), "it did log: {log}");
    for secret in secrets.all().into_iter().chain([token.as_str()]) {
        assert!(!log.contains(secret), "{secret} is logged");
    }
    let mut stored = Vec::new();
    files(yard.state(), &mut stored);
    let names: Vec<_> = stored.iter().filter_map(|file| file.file_name()?.to_str()).collect();
    for expected in ["ptyard.db", "cursor", "keeper.log"] {
        assert!(names.contains(&expected), "{expected} was looked at: {names:?}");
    }
    for file in &stored {
        let bytes = fs::read(file).unwrap();
        for secret in secrets.all() {
            assert!(!holds(&bytes, secret), "{secret} in {}", file.display());
        }
        assert!(file.ends_with("token") || !holds(&bytes, &token), "the token in {}", file.display());
    }
}
