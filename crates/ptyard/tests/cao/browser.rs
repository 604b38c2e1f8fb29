//! A headless Chromium with one page, told what to do over its DevTools protocol.

use std::io::{self, BufRead, BufReader, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_tungstenite::tungstenite::{self, Message, WebSocket};

/// What it is called.
const NAMES: [&str; 2] = ["chromium", "chromium-browser"];

/// It speaks to this machine only, and keeps nothing.
const FLAGS: [&str; 14] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1",
    "--remote-debugging-port=0",
];

/// How long the page may take to show what is waited for.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long it may take to answer, what it waits for included.
const LONGEST: Duration = Duration::from_secs(60);

pub(crate) struct Browser {
    chromium: Child,
    socket: WebSocket<TcpStream>,
    requests: u64,
    _profile: TempDir,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.chromium.kill();
        let _ = self.chromium.wait();
    }
}

impl Browser {
    /// With this page; `None`, with a word on the terminal itself past the capture of the harness, where there is no
    /// Chromium.
    pub(crate) fn open(url: &str) -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let found = NAMES.iter().find_map(|name| {
            let mut command = Command::new(name);
            command.args(FLAGS).arg(format!("--user-data-dir={}", profile.path().display())).arg(url);
            // What it keeps outside of its profile would be somebody's.
            command.env("HOME", profile.path()).stdin(Stdio::null()).stdout(Stdio::null());
            command.stderr(Stdio::piped()).spawn().ok()
        });
        let Some(mut chromium) = found else {
            let _ =
                writeln!(io::stderr().lock(), "\nSKIPPED a test with CAO's web page: there is no chromium\n");
            return None;
        };
        let mut lines = BufReader::new(chromium.stderr.take().unwrap()).lines();
        let mut earlier = Vec::new();
        let address = loop {
            let line = lines.next().unwrap_or_else(|| panic!("chromium ended: {earlier:?}")).unwrap();
            if let Some((_, rest)) = line.split_once("DevTools listening on ws://") {
                break rest.split('/').next().unwrap().to_owned();
            }
            earlier.push(line);
        };
        thread::spawn(move || lines.for_each(drop));
        let page = page_of(&address);
        let stream = TcpStream::connect(&address).unwrap();
        stream.set_read_timeout(Some(LONGEST)).unwrap();
        let (socket, _) = tungstenite::client(page, stream).unwrap();
        Some(Self { chromium, socket, requests: 0, _profile: profile })
    }

    /// Says something to the page; what it answers, or `None` when it was left for another one meanwhile.
    fn say(&mut self, what: &str, method: &str, params: &Value) -> Option<Value> {
        self.requests += 1;
        let id = self.requests;
        self.socket
            .send(Message::text(json!({"id": id, "method": method, "params": params}).to_string()))
            .unwrap();
        loop {
            let message = self.socket.read().unwrap_or_else(|error| panic!("{what}: {error}"));
            let Message::Text(text) = message else { continue };
            let mut told: Value = serde_json::from_str(&text).unwrap();
            if told["id"] == id {
                if told["error"]["message"]
                    .as_str()
                    .is_some_and(|error| error.contains("context was destroyed"))
                {
                    return None;
                }
                assert!(told["error"].is_null(), "{what}: {told}");
                return Some(told["result"].take());
            }
        }
    }

    /// The value of an expression, promises waited for.
    fn value(&mut self, what: &str, expression: &str) -> Value {
        let params = json!({"expression": expression, "awaitPromise": true, "returnByValue": true});
        // At its start the page is an empty one.
        let mut told = loop {
            if let Some(told) = self.say(what, "Runtime.evaluate", &params) {
                break told;
            }
        };
        assert!(told["exceptionDetails"].is_null(), "{what}: {told}");
        told["result"]["value"].take()
    }

    /// Waits until an expression holds. It is looked at whenever the page changes.
    pub(crate) fn until(&mut self, holds: &str) {
        let patience = PATIENCE.as_millis();
        let wait = format!(
            "new Promise((done) => {{
                const end = (told) => {{ changes.disconnect(); clearTimeout(late); done(told); }};
                const look = () => {{ if ({holds}) end(null); }};
                const late = setTimeout(() => end(document.body.innerText), {patience});
                const changes = new MutationObserver(look);
                const all = {{ subtree: true, childList: true, attributes: true, characterData: true }};
                changes.observe(document, all);
                look();
            }})"
        );
        let shown = self.value(holds, &wait);
        assert!(shown.is_null(), "this did not come to hold: {holds}; the page shows: {shown}");
    }

    /// Waits for text anywhere on the page.
    pub(crate) fn until_text(&mut self, text: &str) {
        self.until(&format!("document.body?.innerText.includes({})", json!(text)));
    }

    /// Presses the first button with this title, or with these words on it, once there is one.
    pub(crate) fn press(&mut self, name: &str) {
        let name = json!(name);
        let button = format!(
            "[...document.querySelectorAll('button')].find((one) =>
                !one.disabled && (one.title === {name} || one.innerText.trim() === {name}))"
        );
        self.until(&button);
        self.value(&button, &format!("{button}.click()"));
    }

    /// Types into whatever has the focus.
    pub(crate) fn type_text(&mut self, text: &str) {
        for char in text.chars() {
            match char {
                '\r' => self.key("Enter", "\r", 13),
                other => self.key(&other.to_string(), &other.to_string(), 0),
            }
        }
    }

    pub(crate) fn escape(&mut self) {
        self.key("Escape", "", 27);
    }

    /// Presses and releases a key that has this name, this text and this number of Windows'.
    fn key(&mut self, name: &str, text: &str, number: u32) {
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({"type": kind, "key": name, "text": text, "windowsVirtualKeyCode": number});
            self.say("a key", "Input.dispatchKeyEvent", &event);
        }
    }
}

/// The address of its only page.
fn page_of(address: &str) -> String {
    let mut peer = TcpStream::connect(address).unwrap();
    peer.set_read_timeout(Some(LONGEST)).unwrap();
    write!(peer, "GET /json/list HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = BufReader::new(peer);
    let mut length = 0;
    loop {
        let mut line = String::new();
        answer.read_line(&mut line).unwrap();
        let line = line.trim_end().to_ascii_lowercase();
        if line.is_empty() {
            break;
        }
        if let Some(told) = line.strip_prefix("content-length:") {
            length = told.trim().parse().unwrap();
        }
    }
    let mut body = vec![0; length];
    io::Read::read_exact(&mut answer, &mut body).unwrap();
    let pages: Value = serde_json::from_slice(&body).unwrap();
    let page = pages.as_array().unwrap().iter().find(|page| page["type"] == "page");
    page.unwrap_or_else(|| panic!("{pages}"))["webSocketDebuggerUrl"].as_str().unwrap().to_owned()
}
