//! CAO's web page from the package's own files, beside the API: as one server, so that the page finds it where it is.

use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;

/// A server that ends with the test's process.
pub(crate) struct Proxy {
    pub(crate) port: u16,
}

impl Proxy {
    /// For the page in this directory and the API on this port.
    pub(crate) fn start(page: PathBuf, api: &str) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let api = format!("127.0.0.1:{api}");
        thread::spawn(move || {
            for peer in listener.incoming().map_while(Result::ok) {
                let (page, api) = (page.clone(), api.clone());
                // A page that leaves in the middle is no failure of ours.
                thread::spawn(move || serve(peer, &page, port, &api).unwrap_or_default());
            }
        });
        Self { port }
    }
}

/// One request; there is one per connection.
fn serve(peer: TcpStream, page: &Path, own: u16, api: &str) -> io::Result<()> {
    let mut from_peer = BufReader::new(peer.try_clone()?);
    let mut head = Vec::new();
    loop {
        let mut line = String::new();
        if from_peer.read_line(&mut line)? == 0 {
            return Ok(());
        }
        let line = line.trim_end().to_owned();
        if line.is_empty() {
            break;
        }
        head.push(line);
    }
    let target = head.first().and_then(|line| line.split(' ').nth(1)).unwrap_or_default().to_owned();
    let path = target.split('?').next().unwrap_or_default();
    if path == "/" || path.starts_with("/assets/") || path.starts_with("/favicon") {
        return give(peer, &page.join(if path == "/" { "index.html" } else { &path[1..] }));
    }
    let is_upgrade = head.iter().any(|line| line.to_ascii_lowercase().starts_with("upgrade:"));
    let mut to_api = TcpStream::connect(api)?;
    for line in &head {
        if is_upgrade || !line.to_ascii_lowercase().starts_with("connection:") {
            // The API is the page's origin, as it is for CAO's own server.
            write!(to_api, "{}\r\n", line.replace(&format!("127.0.0.1:{own}"), api))?;
        }
    }
    to_api.write_all(if is_upgrade { b"\r\n" } else { b"connection: close\r\n\r\n" })?;
    let mut from_api = to_api.try_clone()?;
    let mut to_peer = peer;
    let back = thread::spawn(move || {
        let copied = io::copy(&mut from_api, &mut to_peer);
        let _ = to_peer.shutdown(Shutdown::Both);
        copied
    });
    io::copy(&mut from_peer, &mut to_api)?;
    let _ = to_api.shutdown(Shutdown::Write);
    back.join().map_or(Ok(()), |copied| copied.map(drop))
}

fn give(mut peer: TcpStream, file: &Path) -> io::Result<()> {
    let (status, body) = match fs::read(file) {
        Ok(body) => ("200 OK", body),
        Err(_) => ("404 Not Found", Vec::new()),
    };
    let kind = match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html",
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        _ => "application/octet-stream",
    };
    let len = body.len();
    write!(
        peer,
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len}\r\nconnection: close\r\n\r\n"
    )?;
    peer.write_all(&body)?;
    peer.shutdown(Shutdown::Write)?;
    // Read to the end, so that what was sent is not taken back by a reset.
    peer.read_to_end(&mut Vec::new()).map(drop)
}
