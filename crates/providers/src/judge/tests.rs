use std::sync::Arc;

use proptest::prelude::*;
use ptyard_core::turn::Status;
use ptyard_core::{Moment, Size};

use ptyard_core::turn::{Keys, Question, Source};
use ptyard_screen::{Screen, new_screen};

use super::{Composer, Judge, Verdict, Watch};
use crate::{Library, Origin, Provider};

const TOY: &str = r#"
id = "toy"
name = "A program to test with"
version = "1.0.0"
engine = 1
[anchors]
prompt = '^>'
busy = '^\* working'
ask = '^\? '
[composer]
row = "prompt"
sign = '^>'
[[rules]]
id = "ask"
status = "waiting"
kind = "permission"
when = ["ask", "no prompt below ask"]
[[rules]]
id = "busy"
status = "processing"
when = ["busy"]
[[rules]]
id = "prompt"
status = "ready"
when = ["prompt in bottom 1"]
"#;

fn ms(ms: u64) -> Moment {
    Moment::from_millis(ms)
}

fn watch(source: &str) -> Watch {
    let provider = Provider::parse(source, Origin::Local).unwrap();
    Watch::new(provider, Size::new(80, 24).unwrap(), Moment::EPOCH)
}

fn show(watch: &mut Watch, rows: &str, at: u64) {
    watch.output(format!("\x1b[2J\x1b[H{rows}").as_bytes(), ms(at));
}

fn status(watch: &mut Watch, at: u64) -> Status {
    watch.advance(ms(at));
    watch.evidence().status
}

#[test]
fn a_composer_that_a_dialog_follows_at_once_is_not_ready() {
    let mut watch = watch(TOY);
    show(&mut watch, "> ", 100);
    show(&mut watch, "? trust this folder", 250);
    assert_eq!(status(&mut watch, 1000), Status::WaitingUserAnswer);
    assert!(watch.changes().iter().all(|change| !change.evidence.status.is_ready()));
}

#[test]
fn nothing_that_is_known_is_unknown_and_never_ready() {
    let mut watch = watch(TOY);
    show(&mut watch, "> ", 100);
    assert_eq!(status(&mut watch, 1000), Status::Idle);
    show(&mut watch, "something else", 2000);
    assert_eq!(status(&mut watch, 3000), Status::Unknown);
}

#[test]
fn case_d03_a_start_that_shows_nothing_known_is_unknown_in_the_end() {
    let mut watch = watch(TOY);
    for second in 0..30 {
        // It goes on drawing what nobody knows.
        show(&mut watch, &format!("loading {second}"), second * 1_000);
        assert_eq!(status(&mut watch, second * 1_000 + 900), Status::Starting);
    }
    assert_eq!(status(&mut watch, 32_000), Status::Unknown);
    show(&mut watch, "> ", 33_000);
    assert_eq!(status(&mut watch, 40_000), Status::Idle, "and comes up after all");
}

#[test]
fn law_09_ready_from_before_the_message_does_not_count_after_it() {
    let mut watch = watch(TOY);
    show(&mut watch, "> do it", 100);
    assert_eq!(status(&mut watch, 1000), Status::Idle);
    watch.dispatched(ms(1000));
    assert_eq!(watch.evidence().status, Status::Processing);
    show(&mut watch, "* working\r\n> ", 1300);
    show(&mut watch, "done\r\n> ", 2000);
    assert_eq!(status(&mut watch, 2030), Status::Processing, "it has to hold");
    assert_eq!(status(&mut watch, 2400), Status::Completed);
}

#[test]
fn what_is_about_to_count_has_to_stand_there_still() {
    let mut watch = watch(TOY);
    show(&mut watch, "> ", 100);
    assert_eq!(status(&mut watch, 1000), Status::Idle);
    show(&mut watch, "* working\r\n> ", 2000);
    assert_eq!(status(&mut watch, 2200), Status::Processing);
    // Between two frames of work it looks ready for longer than ready has to hold, but for a look.
    show(&mut watch, "> ", 3000);
    show(&mut watch, "* working\r\n> ", 3035);
    watch.advance(ms(4000));
    let changes = watch.changes();
    let ready = changes.iter().filter(|change| change.at > ms(2500) && change.evidence.status.is_ready());
    assert_eq!(ready.count(), 0, "{changes:?}");
    // It counts from when it was printed, not from when it was looked at.
    show(&mut watch, "> ", 5000);
    assert_eq!(status(&mut watch, 5040), Status::Idle);
}

#[test]
fn ready_behind_a_question_holds_longer_at_the_start_than_later() {
    let mut watch = watch(TOY);
    show(&mut watch, "? trust this folder", 100);
    assert_eq!(status(&mut watch, 1000), Status::WaitingUserAnswer);
    show(&mut watch, "> ", 2000);
    assert_eq!(status(&mut watch, 2249), Status::WaitingUserAnswer, "another dialog may follow");
    assert_eq!(status(&mut watch, 2250), Status::Idle);
    show(&mut watch, "? run it", 3000);
    assert_eq!(status(&mut watch, 4000), Status::WaitingUserAnswer);
    show(&mut watch, "> ", 5000);
    assert_eq!(status(&mut watch, 5119), Status::WaitingUserAnswer);
    assert_eq!(status(&mut watch, 5120), Status::Idle);
}

/// What makes it one that tells by its title when it works, and when that is over.
const TITLES: &str = r#"
[[title]]
id = "busy"
re = '^busy'
status = "processing"
[[title]]
id = "ask"
re = '^ask'
status = "waiting_user_answer"
[[title]]
id = "over"
re = '^toy'
status = "completed"
fresh_ms = 1000
"#;

fn titled() -> String {
    format!("{TOY}{TITLES}")
}

fn title(watch: &mut Watch, text: &str, at: u64) {
    watch.output(format!("\x1b]0;{text}\x07").as_bytes(), ms(at));
}

fn ready_from(watch: &mut Watch, at: u64) -> Vec<Moment> {
    let changes = watch.changes().into_iter().filter(|change| change.at >= ms(at));
    changes.filter(|change| change.evidence.status.is_ready()).map(|change| change.at).collect()
}

/// A watch whose program came up and has been at work for a while, by its title and on its screen.
fn at_work() -> Watch {
    let mut watch = watch(&titled());
    title(&mut watch, "toy", 50);
    show(&mut watch, "> ", 100);
    assert_eq!(status(&mut watch, 1_000), Status::Idle);
    watch.dispatched(ms(1_000));
    title(&mut watch, "busy", 1_000);
    show(&mut watch, "* working\r\n> ", 1_010);
    assert_eq!(status(&mut watch, 2_000), Status::Processing);
    watch
}

#[test]
fn a_title_ends_the_work_that_it_told_of_before_a_frame_shows_it() {
    let mut watch = at_work();
    // It is set twice: for the window, and for its icon.
    title(&mut watch, "toy", 2_000);
    title(&mut watch, "toy", 2_001);
    assert_eq!(status(&mut watch, 2_099), Status::Processing, "it has to hold");
    assert_eq!(status(&mut watch, 2_200), Status::Completed);
    assert_eq!(watch.evidence().source, Source::Title);
    show(&mut watch, "done\r\n> ", 2_400);
    assert_eq!(status(&mut watch, 4_000), Status::Completed);
    assert_eq!(watch.evidence().source, Source::Screen);
    assert_eq!(ready_from(&mut watch, 2_000).len(), 1, "once, and without a break");
}

#[test]
fn a_title_that_says_for_a_moment_that_work_is_over_ends_nothing() {
    let mut watch = at_work();
    title(&mut watch, "toy", 2_000);
    title(&mut watch, "busy", 2_090);
    assert_eq!(status(&mut watch, 5_000), Status::Processing);
    assert_eq!(ready_from(&mut watch, 1_500), []);
}

#[test]
fn a_title_that_never_told_of_work_ends_none() {
    let mut watch = watch(&titled());
    show(&mut watch, "> ", 100);
    assert_eq!(status(&mut watch, 1_000), Status::Idle);
    show(&mut watch, "* working\r\n> ", 1_000);
    assert_eq!(status(&mut watch, 2_000), Status::Processing);
    title(&mut watch, "toy", 2_000);
    assert_eq!(status(&mut watch, 5_000), Status::Processing);
    assert_eq!(ready_from(&mut watch, 1_500), []);
}

#[test]
fn a_title_does_not_end_for_long_what_the_screen_shows() {
    let mut watch = at_work();
    title(&mut watch, "toy", 2_000);
    assert_eq!(status(&mut watch, 2_900), Status::Completed);
    assert_eq!(status(&mut watch, 3_100), Status::Processing, "the screen is right in the end");
    // Said again it is no news.
    title(&mut watch, "toy", 3_200);
    assert_eq!(status(&mut watch, 5_000), Status::Processing);
}

#[test]
fn a_title_that_ends_work_says_nothing_of_a_question_or_an_unknown_screen() {
    for (rows, expected) in [("? may I", Status::WaitingUserAnswer), ("something else", Status::Unknown)] {
        let mut watch = at_work();
        title(&mut watch, "toy", 2_000);
        show(&mut watch, rows, 2_020);
        assert_eq!(status(&mut watch, 3_000), expected, "{rows}");
        assert_eq!(ready_from(&mut watch, 1_500), [], "{rows}");
    }
}

/// A judge of a program that came up and tells by its title.
fn looks_with_titles() -> Looks {
    let mut looks = Looks::new();
    looks.judge.replace(Provider::parse(&titled(), Origin::Local).unwrap());
    looks.at("> ", 0);
    looks.judge.verdict(ms(1_000));
    looks
}

fn tell(looks: &mut Looks, title: &str, at: u64) {
    let bytes = format!("\x1b]0;{title}\x07");
    let mut signals = Vec::new();
    let mut scanner = ptyard_screen::Scanner::new();
    scanner.scan(looks.offset, bytes.as_bytes(), &mut |signal| signals.push(signal));
    looks.offset += bytes.len() as u64;
    for signal in &signals {
        looks.judge.signal(signal, ms(at));
    }
}

#[test]
fn what_a_title_only_says_is_asked_is_told_as_it_is_drawn() {
    let mut looks = looks_with_titles();
    let asked = |verdict: &Verdict| {
        let said = verdict.evidence.iter().find(|said| said.source == Source::Title).unwrap();
        said.blocked_on.as_ref().map(|blocked| blocked.kind)
    };
    tell(&mut looks, "ask", 1_000);
    assert_eq!(asked(&looks.at("* working\r\n> ", 1_010)), Some(Question::Dialog));
    looks.at("? may I", 1_100);
    assert_eq!(asked(&looks.judge.verdict(ms(1_200))), Some(Question::Permission));
}

#[test]
fn the_judge_hears_of_the_end_by_the_title_only_while_the_screen_shows_work() {
    let mut looks = looks_with_titles();
    let of_title = |verdict: &Verdict| {
        let said = verdict.evidence.iter().find(|said| said.source == Source::Title);
        said.map(|said| said.status)
    };
    tell(&mut looks, "busy", 1_000);
    assert_eq!(of_title(&looks.at("* working\r\n> ", 1_010)), Some(Status::Processing));
    tell(&mut looks, "toy", 2_000);
    let coming = looks.judge.verdict(ms(2_000));
    assert_eq!((of_title(&coming), coming.until), (Some(Status::Unknown), Some(ms(2_100))));
    assert_eq!(of_title(&looks.judge.verdict(ms(2_100))), Some(Status::Completed));
    looks.at("> ", 2_200);
    assert_eq!(of_title(&looks.judge.verdict(ms(2_300))), Some(Status::Unknown), "the screen shows it now");
}

#[test]
fn a_first_report_need_not_hold_when_the_screen_had_come_up() {
    let mut terminal = Looks::new();
    terminal.at("> ", 100);
    let report = "\x1b]7501;state=idle:app=toy\x1b\\";
    let mut scanner = ptyard_screen::Scanner::new();
    let mut signals = Vec::new();
    scanner.scan(0, report.as_bytes(), &mut |signal| signals.push(signal));
    for signal in &signals {
        terminal.judge.signal(signal, ms(200));
    }
    terminal.judge.verdict(ms(200));
    let verdict = terminal.judge.verdict(ms(360));
    let native = verdict.evidence.iter().find(|said| said.source == Source::Native).unwrap();
    assert_eq!(native.status, Status::Idle, "the screen was ready 250 ms after it was drawn");
}

#[test]
fn a_short_false_start_of_work_is_no_work() {
    let mut watch = watch(TOY);
    let report = |watch: &mut Watch, state: &str, at| {
        watch.output(format!("\x1b]7501;state={state}:app=toy\x1b\\").as_bytes(), ms(at));
    };
    report(&mut watch, "idle", 100);
    assert_eq!(status(&mut watch, 1000), Status::Idle);
    report(&mut watch, "working", 1000);
    report(&mut watch, "idle", 1020);
    watch.advance(ms(3000));
    assert!(watch.changes().iter().all(|change| change.evidence.status != Status::Processing));
    report(&mut watch, "working", 3000);
    assert_eq!(status(&mut watch, 3100), Status::Processing);
}

#[test]
fn reports_that_are_cut_anywhere_or_too_long_are_read_or_dropped() {
    let mut watch = watch(TOY);
    for (at, byte) in b"\x1b]7501;state=idle:app=toy\x07".iter().enumerate() {
        watch.output(&[*byte], ms(100 + at as u64));
    }
    assert_eq!(status(&mut watch, 1000), Status::Idle);
    let long = format!("\x1b]7501;state=working:msg={}\x07", "A".repeat(9000));
    watch.output(long.as_bytes(), ms(1000));
    assert_eq!(status(&mut watch, 2000), Status::Idle);
    watch.output(b"\x1b]7501;state=sleeping\x07", ms(2000));
    assert_eq!(status(&mut watch, 3000), Status::Idle);
}

#[test]
fn a_question_on_the_screen_beats_a_report_from_before_it() {
    let mut watch = watch(TOY);
    watch.output(b"\x1b]7501;state=working\x07", ms(100));
    show(&mut watch, "* working\r\n? may I", 200);
    assert_eq!(status(&mut watch, 1000), Status::WaitingUserAnswer);
    // It was answered: the report is ahead of the frame.
    watch.output(b"\x1b]7501;state=working\x07", ms(1500));
    assert_eq!(status(&mut watch, 1600), Status::Processing);
}

#[test]
fn a_program_that_fell_silent_is_not_believed_for_ever() {
    let mut watch = watch(TOY);
    watch.output(b"\x1b]7501;state=working\x07", ms(100));
    show(&mut watch, "> ", 200);
    assert_eq!(status(&mut watch, 9000), Status::Processing);
    assert_eq!(status(&mut watch, 12_000), Status::Idle);
}

#[test]
fn a_shell_prompt_ends_what_a_program_reported() {
    let mut watch = watch(TOY);
    watch.output(b"\x1b]7501;state=working\x07", ms(100));
    assert_eq!(status(&mut watch, 500), Status::Processing);
    watch.output(b"\x1b]133;A\x07", ms(600));
    assert_eq!(status(&mut watch, 4000), Status::Unknown);
}

fn bundled(id: &str) -> Watch {
    let provider = Library::one_bundled(id).unwrap().unwrap();
    Watch::new(Arc::clone(&provider), Size::new(80, 24).unwrap(), Moment::EPOCH)
}

#[test]
fn any_program_is_ready_when_it_has_been_quiet() {
    let mut watch = bundled("generic");
    watch.output(b"hello\r\n", ms(100));
    assert_eq!(status(&mut watch, 500), Status::Processing);
    watch.output(b"> ", ms(600));
    assert_eq!(status(&mut watch, 1200), Status::Processing);
    assert_eq!(status(&mut watch, 1500), Status::Idle);
    watch.dispatched(ms(2000));
    watch.output(b"do it\r\nworking\r\n", ms(2010));
    assert_eq!(status(&mut watch, 2500), Status::Processing);
    assert_eq!(status(&mut watch, 4000), Status::Completed);
}

#[test]
fn any_program_that_reports_is_believed() {
    let mut watch = bundled("generic");
    watch.output(b"\x1b]7501;state=working\x07hello", ms(100));
    assert_eq!(status(&mut watch, 5000), Status::Processing);
    watch.output(b"\x1b]7501;state=done\x07", ms(5000));
    assert_eq!(status(&mut watch, 5500), Status::Completed);
}

#[test]
fn a_shell_is_ready_at_its_prompt_alone() {
    let mut watch = bundled("shell");
    watch.output(b"user@host:~$ ", ms(100));
    assert_eq!(status(&mut watch, 1000), Status::Idle);
    watch.output(b"sleep 5\r\n", ms(1000));
    watch.dispatched(ms(1000));
    assert_eq!(status(&mut watch, 4000), Status::Processing);
    watch.output(b"user@host:~$ ", ms(6000));
    assert_eq!(status(&mut watch, 7000), Status::Completed);
}

/// A judge with the screen it looks at.
struct Looks {
    judge: Judge,
    screen: Box<dyn Screen>,
    offset: u64,
}

impl Looks {
    fn new() -> Self {
        let judge = Judge::new(Provider::parse(TOY, Origin::Local).unwrap());
        Self { judge, screen: new_screen(Size::new(80, 24).unwrap(), 0), offset: 0 }
    }

    fn at(&mut self, rows: &str, at: u64) -> Verdict {
        let bytes = format!("\x1b[2J\x1b[H{rows}");
        self.screen.feed(bytes.as_bytes(), ms(at));
        self.offset += bytes.len() as u64;
        self.judge.look(&self.screen.view(0, ms(at)), self.offset, ms(at));
        self.judge.verdict(ms(at))
    }
}

fn screen(verdict: &Verdict) -> (Status, u64) {
    let said = verdict.evidence.iter().find(|said| said.source == Source::Screen).unwrap();
    (said.status, said.position.offset().unwrap())
}

#[test]
fn law_09_a_ready_from_before_does_not_stand_beside_a_composer_from_after() {
    let mut looks = Looks::new();
    looks.at("> ", 0);
    looks.judge.verdict(ms(1_000));
    let drawn = looks.at("> do it", 1_100);
    assert_eq!((screen(&drawn).0, &drawn.composer), (Status::Idle, &Composer::Text("do it".to_owned())));
    // Work is believed at once: a text that was taken and an agent that is ready must never be seen together.
    let taken = looks.at("* working\r\n> ", 1_200);
    assert_eq!((screen(&taken).0, &taken.composer), (Status::Processing, &Composer::Empty));
    // What is not believed yet does not move the position of what is.
    let coming = looks.at("> ", 1_310);
    assert_eq!((screen(&coming), &coming.composer), (screen(&taken), &Composer::Empty));
    assert_eq!(screen(&looks.judge.verdict(ms(2_000))).0, Status::Completed);
}

#[test]
fn law_09_a_folded_paste_that_left_the_composer_is_on_its_way() {
    let toy = TOY.replace("sign = '^>'\n", "sign = '^>'\nfolded = 'Pasted'\n");
    let mut looks = Looks::new();
    looks.judge.replace(Provider::parse(&toy, Origin::Local).unwrap());
    looks.at("> ", 0);
    looks.judge.verdict(ms(1_000));
    looks.at("> Pasted", 1_100);
    // The screens on the way look ready.
    for (rows, at) in [("> ", 1_200), ("home\r\n> ", 1_600), ("", 1_700), ("new\r\n> ", 2_500)] {
        let verdict = looks.at(rows, at);
        assert_eq!(screen(&verdict).0, Status::Processing, "{rows:?}");
    }
    looks.judge.verdict(ms(3_200));
    assert_eq!(screen(&looks.judge.verdict(ms(4_000))).0, Status::Completed);
}

#[test]
fn a_draft_that_was_removed_was_not_submitted() {
    let drawn_after = |keys: &[Keys]| {
        let mut looks = Looks::new();
        looks.at("> ", 0);
        looks.judge.verdict(ms(1_000));
        looks.at("> please look at it", 1_100);
        keys.iter().for_each(|keys| looks.judge.typed(*keys));
        let verdict = looks.at("> ", 1_200);
        screen(&verdict).0
    };
    assert_eq!(drawn_after(&[Keys::Edit]), Status::Idle);
    // Nobody said how it went, or it was submitted, whatever was typed behind that.
    for keys in [&[][..], &[Keys::Text], &[Keys::Submit], &[Keys::Submit, Keys::Edit]] {
        assert_eq!(drawn_after(keys), Status::Processing, "{keys:?}");
    }
}

/// The Enter may be read late, when the text was drawn once more.
#[test]
fn law_09_a_text_that_was_submitted_and_is_drawn_again_is_on_its_way() {
    let mut looks = Looks::new();
    looks.at("> ", 0);
    looks.judge.verdict(ms(1_000));
    looks.at("> please look", 1_100);
    looks.judge.typed(Keys::Submit);
    looks.at("> please look at it", 1_150);
    looks.judge.typed(Keys::Edit);
    assert_eq!(screen(&looks.at("> ", 1_200)).0, Status::Processing);
}

#[test]
fn a_menu_is_no_draft() {
    let mut looks = Looks::new();
    let toy = TOY.replace("no prompt below ask", "ask");
    looks.judge.replace(Provider::parse(&toy, Origin::Local).unwrap());
    looks.at("? trust\r\n> 1. Yes", 0);
    assert_eq!(looks.judge.verdict(ms(1_000)).composer, Composer::Unseen);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn once_it_is_quiet_the_status_does_not_depend_on_how_the_output_was_cut(
        frames in proptest::collection::vec(0_usize..5, 1..12),
        cuts in proptest::collection::vec(1_usize..9, 1..40),
    ) {
        const FRAMES: [&str; 5] = ["> ", "* working\r\n> ", "? may I", "nothing known", "\x1b]7501;state=idle\x07> x"];
        let output: String = frames.iter().map(|&at| format!("\x1b[2J\x1b[H{}", FRAMES[at])).collect();
        let mut whole = watch(TOY);
        whole.output(output.as_bytes(), ms(0));
        let mut cut = watch(TOY);
        let mut rest = output.as_bytes();
        for len in cuts.iter().cycle() {
            let (piece, after) = rest.split_at((*len).min(rest.len()));
            cut.output(piece, ms(0));
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(status(&mut whole, 60_000), status(&mut cut, 60_000));
    }
}
