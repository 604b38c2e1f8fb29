//! The cross property: whatever is printed, however it is cut, whenever callers vanish, the windows put together are
//! one lossy decode of the whole.

use proptest::prelude::*;
use ptyard_core::Exit;
use ptyard_testkit::soon;

use crate::stage::{BOTH, Stage};

#[derive(Debug, Clone)]
enum Act {
    /// The program prints this.
    Print(Vec<u8>),
    /// A caller takes a window.
    Window,
    /// A caller takes a window and vanishes at the nth point.
    Vanish(usize),
}

const POINTS: [&str; 4] =
    ["window.before_turn", "window.after_turn", "window.before_step", "window.before_handover"];

fn byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => any::<u8>(),
        2 => prop::sample::select("aé☃𝄞\u{fffd}".as_bytes().to_vec()),
        1 => prop::sample::select(vec![0xc3, 0xe2, 0xed, 0xf0, 0xf4, 0x80, 0x9f, 0xa0, 0xff]),
    ]
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => prop::collection::vec(byte(), 1..40).prop_map(Act::Print),
        2 => Just(Act::Window),
        2 => (0..POINTS.len()).prop_map(Act::Vanish),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn laws_01_02_03_windows_put_together_are_one_lossy_decode(acts in prop::collection::vec(act(), 1..40), tty in any::<bool>()) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let stage = Stage::new(BOTH[usize::from(tty)]).await;
            let (mut printed, mut text) = (Vec::new(), String::new());
            for act in &acts {
                match act {
                    Act::Print(bytes) => {
                        stage.print(bytes).await;
                        printed.extend_from_slice(bytes);
                    }
                    Act::Window => text += &stage.window().await.text,
                    Act::Vanish(point) => {
                        let hold = stage.pauses.hold(POINTS[*point]);
                        let (terminal, call) = (stage.terminal.clone(), stage.call_now());
                        let window = tokio::spawn(async move { terminal.window(call).await.map(|ready| ready.commit()) });
                        soon("a task comes to the pause point", hold.reached()).await;
                        window.abort();
                        let _cancelled = window.await;
                    }
                }
            }
            stage.script.exit(Exit::exited(0));
            stage.script.close_output();
            let last = stage.take(stage.call_open()).await;
            text += &last.text;
            assert_eq!(text, String::from_utf8_lossy(&printed));
            assert_eq!(last.exit, Some(Exit::exited(0)));
            assert_eq!(last.next, printed.len() as u64);
        });
    }
}
