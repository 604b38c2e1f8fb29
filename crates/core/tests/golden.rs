//! The truncation vectors: what callers of other implementations have been getting, byte for byte.
#![expect(clippy::unwrap_used, reason = "a vector that cannot be read fails the test")]

use ptyard_core::truncate::{Truncated, Truncator, truncate_text};
use serde_json::Value;

struct Vector {
    name: String,
    input: String,
    cap: Option<i64>,
    expected: Truncated,
}

fn vectors() -> Vec<Vector> {
    let file: Value = serde_json::from_str(include_str!("data/truncation-golden.json")).unwrap();
    let vectors = file["vectors"].as_array().unwrap();
    assert_eq!(vectors.len() as u64, file["count"].as_u64().unwrap());
    vectors.iter().map(vector).collect()
}

fn vector(vector: &Value) -> Vector {
    let name = vector["name"].as_str().unwrap().to_owned();
    let input = match (vector["input_hex"].as_str(), name.as_str()) {
        (Some(hex), _) => text(hex),
        (None, "huge_1MiB_ascii_cap_10000") => "A".repeat(1 << 20),
        (None, "huge_lines_cap_5000") => (0..100_000).map(|i| format!("{i:06} line\n")).collect(),
        (None, other) => panic!("no input for {other}"),
    };
    let cap = vector["max_tokens"].as_i64();
    assert_eq!(cap.is_none(), vector["max_tokens"].is_null(), "{name}");
    let expected = Truncated {
        text: text(vector["output_hex"].as_str().unwrap()),
        original_token_count: vector["original_token_count"].as_u64(),
    };
    Vector { name, input, cap, expected }
}

fn text(hex: &str) -> String {
    let bytes =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn law_05_whole_texts_give_the_golden_bytes() {
    for Vector { name, input, cap, expected } in vectors() {
        assert_eq!(truncate_text(&input, cap), expected, "{name}");
    }
}

#[test]
fn law_05_pieces_of_any_length_give_the_golden_bytes() {
    for Vector { name, input, cap, expected } in vectors() {
        for size in [1, 2, 3, 7, 4096].into_iter().filter(|size| input.len() / size < 200_000) {
            let mut truncator = Truncator::new(cap);
            let mut rest = input.as_str();
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(rest.ceil_char_boundary(size));
                truncator.push(piece);
                rest = after;
            }
            assert_eq!(truncator.finish(), expected, "{name} in pieces of {size}");
        }
    }
}
