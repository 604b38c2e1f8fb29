//! Neighbours of other versions: each is understood, replaced, or refused in words that name both versions.

use std::fs::File;
use std::io::{BufRead, BufReader, IoSlice, IoSliceMut, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, SocketAddrUnix,
    SocketFlags, SocketType,
};
use serde_json::{Value, json};

use crate::stage::{Stage, number, runs, until};

const OURS: &str = env!("CARGO_PKG_VERSION");

fn refused(stage: &Stage, args: &[&str], code: &str, parts: &[&str]) {
    let reply = stage.json(args);
    assert_eq!(reply["error"]["code"], code, "{reply}");
    let message = reply["error"]["message"].as_str().unwrap();
    for part in parts {
        assert!(message.contains(part), "{part}: {message}");
    }
}

/// What a server of another version says to a request to leave.
#[derive(Clone, Copy, PartialEq)]
enum Leaves {
    Yes,
    NeverHeardOfIt,
}

/// A server of another version, which holds the lock of its state until it leaves.
fn other_server(stage: &Stage, version: Value, leaves: Leaves) {
    std::fs::create_dir_all(stage.state()).unwrap();
    std::fs::set_permissions(stage.state(), std::fs::Permissions::from_mode(0o700)).unwrap();
    let lock = File::create(stage.state().join("lock")).unwrap();
    flock(&lock, FlockOperation::LockExclusive).unwrap();
    let socket = stage.state().join("ptyard.sock");
    let listener = UnixListener::bind(&socket).unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            loop {
                let (mut request, mut length) = (String::new(), 0);
                lines.read_line(&mut request).unwrap();
                loop {
                    let mut header = String::new();
                    lines.read_line(&mut header).unwrap();
                    if let Some(value) = header.to_ascii_lowercase().strip_prefix("content-length:") {
                        length = value.trim().parse().unwrap();
                    }
                    if header.trim().is_empty() {
                        break;
                    }
                }
                lines.read_exact(&mut vec![0; length]).unwrap();
                let (status, body) = match request.split(' ').nth(1) {
                    Some("/v1/version") => ("200 OK", version.clone()),
                    Some("/v1/replace") if leaves == Leaves::Yes => ("200 OK", json!({"listen": null})),
                    Some(_) => {
                        let error =
                            json!({"code": "not_found", "message": "", "hint": "", "retryable": false});
                        ("404 Not Found", json!({ "error": error }))
                    }
                    None => break,
                };
                let body = body.to_string();
                let head = format!("HTTP/1.1 {status}\r\ncontent-type: application/json\r\n");
                write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
                if request.contains("/v1/replace") && leaves == Leaves::Yes {
                    std::fs::remove_file(&socket).unwrap();
                    drop(lock);
                    return;
                }
            }
        }
    });
}

fn version(version: &str, protocol: u32, background: bool) -> Value {
    json!({"version": version, "protocol": protocol, "pid": 1, "state": "/s", "background": background})
}

#[test]
fn an_older_server_in_the_background_is_replaced_by_a_newer_command() {
    for protocol in [1, 99] {
        let stage = Stage::new();
        other_server(&stage, version("0.0.1", protocol, true), Leaves::Yes);
        assert_eq!(stage.json(&["list"]), json!([]));
        assert_eq!(stage.json(&["version"])["server"]["version"], OURS);
    }
}

#[test]
fn a_server_that_does_not_leave_is_named_with_its_version() {
    let stage = Stage::new();
    other_server(&stage, version("0.0.1", 99, true), Leaves::NeverHeardOfIt);
    refused(&stage, &["list"], "incompatible_server", &["0.0.1", "does not leave"]);
}

#[test]
fn a_server_of_another_protocol_that_is_not_ours_to_replace_is_refused_with_both_versions() {
    // Older, and somebody looks after it; or newer.
    for (theirs, background) in [("0.0.1", false), ("9.9.9", true)] {
        let stage = Stage::new();
        other_server(&stage, version(theirs, 99, background), Leaves::Yes);
        refused(&stage, &["list"], "incompatible_server", &[theirs, OURS, "99"]);
        let shown = stage.json(&["version"]);
        assert_eq!((&shown["server"]["version"], &shown["version"]), (&theirs.into(), &OURS.into()));
    }
}

#[test]
fn a_state_of_another_format_is_refused_before_anything_is_touched() {
    let stage = Stage::new();
    let server = stage.server();
    let format = stage.state().join("format");
    let ours = std::fs::read_to_string(&format).unwrap();
    std::fs::write(&format, "99 9.9.9\n").unwrap();
    // A server that runs stays when the next one could not go on.
    refused(&stage, &["serve", "--replace"], "incompatible_state", &["9.9.9", OURS, "99"]);
    assert_eq!(stage.running_server(), server);
    crate::stage::kill(server);
    refused(&stage, &["list"], "incompatible_state", &["9.9.9", OURS, "99"]);
    assert_eq!(std::fs::read_to_string(&format).unwrap(), "99 9.9.9\n");
    std::fs::write(&format, "0 0.0.1\n").unwrap();
    refused(&stage, &["list"], "incompatible_state", &["0.0.1", OURS]);
    std::fs::write(&format, ours).unwrap();
    assert_eq!(stage.json(&["list"]), json!([]));
}

/// The other end of a keeper's talk.
struct Talk(OwnedFd);

impl Talk {
    fn address(state: &Path) -> SocketAddrUnix {
        SocketAddrUnix::new(state.join("keeper.sock")).unwrap()
    }

    fn socket() -> OwnedFd {
        let flags = SocketFlags::CLOEXEC;
        rustix::net::socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap()
    }

    fn with_keeper(state: &Path) -> Self {
        let socket = Self::socket();
        rustix::net::connect(&socket, &Self::address(state)).unwrap();
        Self(socket)
    }

    fn say(&self, message: &Value) {
        let bytes = [b"\0".as_slice(), message.to_string().as_bytes()].concat();
        rustix::net::sendmsg(
            &self.0,
            &[IoSlice::new(&bytes)],
            &mut SendAncillaryBuffer::default(),
            SendFlags::NOSIGNAL,
        )
        .unwrap();
    }

    fn hear(&self) -> Option<Value> {
        let mut bytes = vec![0; 64 << 10];
        let mut control = RecvAncillaryBuffer::default();
        let into = &mut [IoSliceMut::new(&mut bytes)];
        let came = rustix::net::recvmsg(&self.0, into, &mut control, RecvFlags::empty()).unwrap().bytes;
        (came > 0).then(|| serde_json::from_slice(&bytes[1..came]).unwrap())
    }

    fn greet(&self, protocol: u32) -> Value {
        self.say(&json!({"protocol": protocol, "version": "9.9.9", "pid": 1}));
        self.hear().unwrap()
    }
}

/// A keeper of another version, which says this to each message.
fn other_keeper(stage: &Stage, says: impl Fn(&Value) -> Value + Send + 'static) {
    std::fs::create_dir_all(stage.state()).unwrap();
    let listener = Talk::socket();
    rustix::net::bind(&listener, &Talk::address(&stage.state())).unwrap();
    rustix::net::listen(&listener, 8).unwrap();
    std::thread::spawn(move || {
        while let Ok(socket) = rustix::net::accept(&listener) {
            let talk = Talk(socket);
            while let Some(message) = talk.hear() {
                talk.say(&says(&message));
            }
        }
    });
}

#[test]
fn a_newer_keeper_is_refused_with_both_versions() {
    let stage = Stage::new();
    other_keeper(&stage, |_| json!({"protocol": 99, "version": "9.9.9", "pid": 1}));
    refused(&stage, &["list"], "incompatible_keeper", &["9.9.9", "99", OURS]);
}

#[test]
fn an_older_keeper_that_does_not_become_this_version_is_refused_with_both_versions_and_why() {
    let stage = Stage::new();
    other_keeper(&stage, |message| {
        if message["upgrade"].is_null() {
            return json!({"protocol": 1, "version": "0.0.1", "pid": 1});
        }
        assert!(message["upgrade"]["program"].is_string(), "{message}");
        json!({"refused": "it likes itself"})
    });
    refused(&stage, &["list"], "incompatible_keeper", &["0.0.1", OURS, "it likes itself"]);
}

#[test]
fn a_keeper_answers_a_newer_server_with_its_version_and_goes_on() {
    let stage = Stage::new();
    stage.json(&["exec", "--name", "p", "--until", "quiet:1", "--", "sleep", "600"]);
    let (pid, keeper) = (number(&stage.json(&["info", "p"])["pid"]), stage.keeper());
    stage.kill_server();
    let newer = Talk::with_keeper(&stage.state());
    let hello = newer.greet(99);
    assert_eq!((&hello["version"], &hello["pid"]), (&OURS.into(), &keeper.into()));
    drop(newer);
    assert_eq!(number(&stage.json(&["info", "p"])["pid"]), pid);
    assert_eq!(stage.keeper(), keeper);
}

/// Asks for an upgrade; why it was refused.
fn upgrade(talk: &Talk, program: &Path, args: &[&str]) -> Option<String> {
    let args: Vec<&str> = [&["ptyard"], args].concat();
    talk.say(&json!({"upgrade": {"program": program, "args": args}}));
    talk.hear().unwrap()["refused"].as_str().map(str::to_owned)
}

#[test]
fn a_new_program_that_fails_leaves_the_old_keeper_and_its_programs_as_they_are() {
    let stage = Stage::new();
    let script = "trap '' HUP; echo one; read x; echo two $x; exit 3";
    stage.json(&["exec", "--tty", "--name", "p", "--until", "regex:one", "--", "sh", "-c", script]);
    let (pid, keeper) = (number(&stage.json(&["info", "p"])["pid"]), stage.keeper());
    stage.kill_server();
    let program = |name: &str, text: &str| {
        let path = stage.file(name);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    };
    let answers = "#!/bin/sh\ncat > /dev/null; echo format 1 of 0.1.0 is none of mine; exit 1\n";
    let cases = [
        (stage.file("missing"), "No such file"),
        (program("silent", "#!/bin/sh\nexit 1\n"), "exit status: 1"),
        (program("answers", answers), "none of mine"),
        (program("garbled", "\x7fELF nothing"), "cannot be asked"),
        (program("hangs", "#!/bin/sh\nexec sleep 600\n"), "does not answer"),
        // It says that it can, and then it cannot even be executed.
        (program("vanishes", "#!/bin/sh\nrm \"$0\"\nexit 0\n"), "cannot be executed"),
    ];
    let talk = Talk::with_keeper(&stage.state());
    talk.greet(99);
    for (program, why) in cases {
        let refused = upgrade(&talk, &program, &["keeper"]).expect("it cannot become that");
        assert!(refused.contains(why), "{}: {refused}", program.display());
        assert_eq!(talk.greet(99)["pid"], keeper);
    }
    // And one that works, in the same process.
    let state = stage.state();
    let args = ["--state", state.to_str().unwrap(), "keeper"];
    assert_eq!(upgrade(&talk, Path::new(env!("CARGO_BIN_EXE_ptyard")), &args), None);
    assert_eq!(talk.greet(99)["pid"], keeper);
    drop(talk);
    assert!(runs(pid));
    let reply = stage.json(&["write", "p", "--chars", "x\n", "--until", "exit"]);
    assert_eq!((&reply["exit"]["code"], &reply["exit"]["cause"]), (&3.into(), &"exited".into()), "{reply}");
    assert_eq!(stage.log("p"), b"one\r\nx\r\ntwo x\r\n");
    stage.run(&["stop"]);
    until("the keeper's end", || !runs(keeper.into()));
}
