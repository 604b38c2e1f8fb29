use proptest::prelude::*;

use super::*;

fn in_pieces(pieces: &[&str], cap: Option<i64>) -> Truncated {
    let mut truncator = Truncator::new(cap);
    pieces.iter().for_each(|piece| truncator.push(piece));
    truncator.finish()
}

#[test]
fn law_05_memory_is_proportional_to_the_cap() {
    let mut truncator = Truncator::new(Some(100));
    for _ in 0..10_000 {
        truncator.push("0123456789 the quick brown fox\n");
    }
    assert!(truncator.head.capacity() + truncator.tail.len() <= 1_000);
    let untouched = Truncator::new(Some(4_000_000));
    assert_eq!(untouched.head.capacity() + untouched.tail.len(), 0, "memory comes with the data");
}

#[test]
fn r07_a_cap_of_zero_shows_nothing_and_counts_all() {
    let truncated = in_pieces(&["hi", "\u{FFFD}"], Some(0));
    assert_eq!(truncated, Truncated { text: String::new(), original_token_count: Some(2) });
}

#[test]
fn r08_a_late_tail_is_counted_from_the_source_not_from_the_display() {
    let truncated = in_pieces(&[&"A".repeat(100), "\u{FFFD}"], Some(10));
    assert_eq!(truncated.text, "AAAAAAA…22 tokens truncated…AAAAA\u{FFFD}");
    assert_eq!(truncated.original_token_count, Some(26));
}

#[test]
fn r09_a_late_tail_is_part_of_the_kept_end() {
    let truncated = in_pieces(&[&"A".repeat(100), "<<<FINAL-ERROR>>>"], Some(10));
    assert_eq!(truncated.text, "AAAAAAA…26 tokens truncated…ERROR>>>");
    assert_eq!(truncated.original_token_count, Some(30));
}

#[test]
fn case_t02_the_total_above_a_mebibyte_is_exact() {
    let body = "0123456789\r\n".repeat(250_000);
    let total = body.len() as u64 + 5;
    let truncated = in_pieces(&[&body, "END\r\n"], Some(1_000));
    assert!(truncated.text.len() <= 4_000);
    assert!(truncated.text.starts_with("Total output lines: 250001\n\n0123456789\r\n"));
    assert!(truncated.text.ends_with("END\r\n"));
    assert_eq!(truncated.original_token_count, Some(total.div_ceil(4)));
}

#[test]
fn case_u06_the_limit_is_bytes_not_characters() {
    let text = "é".repeat(100_000) + "\n";
    let truncated = in_pieces(&[&text], Some(250));
    assert!(truncated.text.len() <= 1_000);
    assert_eq!(truncated.original_token_count, Some(200_001_u64.div_ceil(4)));
}

#[test]
fn extreme_caps_do_not_overflow() {
    for cap in [i64::MIN, -1, 0] {
        assert_eq!(in_pieces(&["hello"], Some(cap)).text, "");
    }
    for cap in [Some(i64::MAX), Some(i64::MAX / 4), None] {
        assert_eq!(
            in_pieces(&["hello"], cap),
            Truncated { text: "hello".to_owned(), original_token_count: None }
        );
    }
}

proptest! {
    #[test]
    fn law_05_pieces_equal_the_whole(
        pieces in prop::collection::vec("[a-c\r\n\u{85}é☃𝄞\u{2028}]{0,40}", 0..12),
        cap in prop_oneof![3 => (-1i64..40).prop_map(Some), 1 => (0i64..300).prop_map(Some), 1 => Just(None)],
    ) {
        let whole = pieces.concat();
        let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
        let truncated = in_pieces(&pieces, cap);
        prop_assert_eq!(&truncated, &truncate_text(&whole, cap));
        if let Some(cap) = cap {
            prop_assert!(truncated.text.len() as i64 <= 4 * cap.max(0));
        }
    }
}
