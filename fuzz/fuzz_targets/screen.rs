//! No byte and no size makes a screen panic or hang.
#![no_main]

use libfuzzer_sys::fuzz_target;
use ptyard_core::{Moment, Size};
use ptyard_screen::new_screen;

fuzz_target!(|input: Vec<(Vec<u8>, u8, u8)>| {
    let mut screen = new_screen(Size::DEFAULT, 20);
    for (n, (bytes, cols, rows)) in input.iter().enumerate() {
        let now = Moment::from_millis(n as u64 * 100);
        screen.feed(bytes, now);
        if let Ok(size) = Size::new(i64::from(*cols), i64::from(*rows)) {
            screen.resize(size);
        }
        let view = screen.view(10, now);
        assert!(view.cursor.row < view.size.rows() && view.cursor.col < view.size.cols());
    }
});
