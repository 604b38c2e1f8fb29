//! How many megabytes a second the scanner and the screen take: `cargo run --release --example throughput`.

use std::time::Instant;

use ptyard_core::{Moment, Size};
use ptyard_screen::{DEFAULT_SCROLLBACK_LINES, Scanner, new_screen};

const CHUNK: usize = 64 * 1024;

fn main() {
    let plain =
        "2026-11-29T18:10:00.123Z INFO  server: handled request id=4711 path=/v1/items status=200 ms=12\r\n";
    let coloured = "\x1b[2m18:10:00\x1b[0m \x1b[32mINFO\x1b[0m server: handled request id=4711 path=/v1/items 200 12ms\r\n"
        .replacen("\x1b[0m", "", 1);
    let table = "\x1b[38;2;120;130;140mrow\x1b[0m │ naïve │ 中文 │ ─────────────────\r\n";
    let inputs = [
        ("plain lines", repeat(plain, 64)),
        ("coloured lines", repeat(&coloured, 64)),
        ("unicode table", repeat(table, 64)),
        ("no line ends", repeat("x", 64)),
    ];
    for (name, bytes) in &inputs {
        let scan = best(bytes, || {
            let mut scanner = Scanner::new();
            let mut signals = 0u64;
            for (i, chunk) in bytes.chunks(CHUNK).enumerate() {
                scanner.scan((i * CHUNK) as u64, chunk, &mut |_| signals += 1);
            }
            signals
        });
        let feed = best(&bytes[..bytes.len() / 4], || {
            let mut screen = new_screen(Size::new(120, 40).expect("a size"), DEFAULT_SCROLLBACK_LINES);
            for chunk in bytes[..bytes.len() / 4].chunks(CHUNK) {
                screen.feed(chunk, Moment::EPOCH);
            }
            u64::from(screen.cursor().row)
        });
        println!("{name:16} scan {scan:7.0} MB/s   feed {feed:5.0} MB/s");
    }
    let mut screen = new_screen(Size::new(120, 40).expect("a size"), DEFAULT_SCROLLBACK_LINES);
    screen.feed(&inputs[1].1[..1_000_000], Moment::EPOCH);
    for (name, lines) in [("screen", 0), ("all", DEFAULT_SCROLLBACK_LINES)] {
        let start = Instant::now();
        for _ in 0..100 {
            std::hint::black_box(screen.view(lines, Moment::EPOCH));
        }
        println!("view of {name}: {:.0} us", start.elapsed().as_secs_f64() * 1e4);
    }
}

fn repeat(line: &str, megabytes: usize) -> Vec<u8> {
    line.as_bytes().repeat(megabytes * 1_000_000 / line.len())
}

/// The best of five runs, in MB/s.
fn best(bytes: &[u8], mut run: impl FnMut() -> u64) -> f64 {
    let seconds = (0..5)
        .map(|_| {
            let start = Instant::now();
            std::hint::black_box(run());
            start.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min);
    bytes.len() as f64 / seconds / 1e6
}
