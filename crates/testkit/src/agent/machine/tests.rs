use super::super::input::Parser;
use super::*;

/// An agent, a parser and a clock.
struct Stage {
    agent: Agent,
    parser: Parser,
    reads: u64,
    ms: u64,
    events: Vec<Event>,
    printed: Vec<u8>,
    /// Turns with the texts that a program works on.
    running: Vec<(usize, String)>,
    left: Option<Leaving>,
}

impl Stage {
    fn new(toml: &str) -> Self {
        let agent = Agent::new(AgentConfig::parse(toml).unwrap(), Moment::EPOCH);
        let (events, printed, running) = (Vec::new(), Vec::new(), Vec::new());
        let mut stage =
            Self { agent, parser: Parser::new(), reads: 0, ms: 0, events, printed, running, left: None };
        stage.pass(0);
        stage
    }

    fn now(&self) -> Moment {
        Moment::from_millis(self.ms)
    }

    /// One read.
    fn read(&mut self, bytes: &str) -> &mut Self {
        self.reads += 1;
        let now = self.now();
        for input in self.parser.feed(bytes.as_bytes()) {
            self.agent.input(input, self.reads, now);
        }
        self.pass(0)
    }

    fn pass(&mut self, ms: u64) -> &mut Self {
        self.ms += ms;
        self.agent.tick(self.now());
        for effect in self.agent.effects() {
            assert_eq!(self.left, None, "invariant 1: nothing comes after the end");
            match effect {
                Effect::Record(event) => self.events.push(event),
                Effect::Print(bytes) => self.printed.extend(bytes),
                Effect::Run { turn, text, .. } => self.running.push((turn, text)),
                Effect::Leave(leaving) => self.left = Some(leaving),
            }
        }
        self
    }

    fn submitted(&self) -> Vec<&str> {
        let texts = self.events.iter().filter_map(|event| match event {
            Event::Submitted { text, .. } => Some(text.as_str()),
            _ => None,
        });
        texts.collect()
    }

    fn screen(&self) -> Option<String> {
        self.agent.frame(self.now(), Size::DEFAULT).map(|frame| frame.lines.join("\n"))
    }

    fn shows(&self, text: &str) -> bool {
        self.screen().is_some_and(|screen| screen.contains(text))
    }

    fn states(&self) -> Vec<&str> {
        let states = self.events.iter().filter_map(|event| match event {
            Event::Reported { state } => Some(state.as_str()),
            _ => None,
        });
        states.collect()
    }
}

#[test]
fn an_enter_in_one_read_with_typed_text_is_a_line_break() {
    let mut stage = Stage::new("composer.burst = 'same-read'");
    stage.read("hello\r");
    assert_eq!(stage.submitted(), [""; 0]);
    stage.read("\r");
    assert_eq!(stage.submitted(), ["hello\n"]);
    assert!(stage.events.contains(&Event::LineBreakByBurst));
}

#[test]
fn an_enter_soon_after_typed_text_is_a_line_break_where_the_rule_is_a_time() {
    let mut stage = Stage::new("composer.burst = { within-ms = 100 }");
    stage.read("one").pass(50).read("\r").pass(100).read("two").pass(100).read("\r");
    assert_eq!(stage.submitted(), ["one\ntwo"]);
}

#[test]
fn a_paste_and_its_enter_in_one_read_submit_unless_the_rule_says_otherwise() {
    let paste = "\x1b[200~a\rb\x1b[201~\r";
    let mut eager = Stage::new("composer.burst = 'same-read'");
    eager.read(paste);
    assert_eq!(eager.submitted(), ["a\nb"]);
    let mut careful = Stage::new("composer.after_paste = { within-ms = 10 }");
    careful.read(paste).pass(5).read("\r").pass(20).read("\r");
    assert_eq!(careful.submitted(), ["a\nb\n\n"]);
}

#[test]
fn input_while_it_starts_is_thrown_away() {
    let mut stage = Stage::new("boot_ms = 500");
    assert!(stage.shows("starting"));
    stage.read("lost\r").pass(500).read("kept").read("\r");
    assert_eq!(stage.submitted(), ["kept"]);
    let lost = |event: &&Event| matches!(event, Event::Discarded { during, .. } if during == "boot");
    assert_eq!(stage.events.iter().filter(lost).count(), 5);
}

#[test]
fn case_p03_a_dialog_opens_over_a_composer_that_was_shown_and_takes_the_enter() {
    let mut stage = Stage::new("dialogs = [{ after_ms = 300 }]");
    assert!(stage.shows("> "));
    stage.pass(300);
    assert!(stage.shows("❯ 1. Yes") && stage.shows("rm -r build"));
    stage.read("status please?").read("\r");
    assert!(stage.events.contains(&Event::Chosen { label: "Yes".to_owned() }));
    assert_eq!(stage.submitted(), [""; 0]);
    stage.read("now").read("\r");
    assert_eq!(stage.submitted(), ["now"]);
}

#[test]
fn choices_are_made_by_arrows_and_digits() {
    let config = "dialogs = [{ choices = [{ label = 'No, exit', does = 'exit' }, { label = 'Trust' }] }]";
    let mut bare = Stage::new(config);
    bare.read("\r");
    assert_eq!(bare.left, Some(Leaving::Exit(1)));
    for keys in ["\x1b[B\r", "2"] {
        let mut chosen = Stage::new(config);
        chosen.read(keys);
        assert_eq!(chosen.left, None);
        assert!(chosen.shows("> "));
    }
}

#[test]
fn a_turn_asks_for_permission_and_goes_on_or_ends() {
    let config = "turn = { busy_ms = 100, ask = { after_ms = 40 } }\nstatus.osc7501 = 'always'";
    let mut stage = Stage::new(config);
    stage.read("build").read("\r").pass(40);
    assert!(stage.shows("rm -r build"));
    stage.pass(10_000).read("1").pass(59);
    assert!(stage.shows("Working"));
    stage.pass(1);
    assert!(stage.shows("You said: build"));
    assert_eq!(stage.states(), ["idle", "working", "blocked", "working", "done"]);
    stage.read("more").read("\r").pass(40).read("2");
    assert!(stage.events.contains(&Event::TurnEnded { turn: 2, how: "rejected".to_owned() }));
}

#[test]
fn case_p04_a_draft_is_in_front_of_what_comes() {
    let mut stage = Stage::new("draft = 'half a thought '");
    stage.read("hi").read("\r");
    assert_eq!(stage.submitted(), ["half a thought hi"]);
    let mut cleared = Stage::new("draft = 'half a thought '");
    cleared.read("\x15").read("hi").read("\r");
    assert_eq!(cleared.submitted(), ["hi"]);
}

#[test]
fn a_silent_turn_prints_nothing_until_it_ends() {
    let mut stage = Stage::new("turn = { busy_ms = 100, show = 'nothing' }\nscreen.transcript = false");
    let before = stage.screen();
    stage.read("work");
    stage.printed.clear();
    stage.read("\r");
    assert_eq!((stage.screen(), stage.agent.redraw(stage.now())), (None, None));
    stage.pass(100);
    assert_eq!(stage.screen(), before, "and looks as before");
    assert_eq!(stage.printed, b"");
}

#[test]
fn an_instant_turn_is_over_in_the_moment_it_begins() {
    let mut stage = Stage::new("turn.busy_ms = 0");
    stage.read("a").read("\r");
    assert!(stage.shows("You said: a"));
    stage.read("b").read("\r");
    assert_eq!(stage.submitted(), ["a", "b"]);
}

#[test]
fn a_long_paste_is_folded_and_submitted_whole() {
    let mut stage = Stage::new("composer.fold_lines = 3");
    let text = (0..30).map(|n| n.to_string()).collect::<Vec<_>>().join("\n");
    stage.read(&format!("\x1b[200~{text}\x1b[201~"));
    assert!(stage.shows("> [Pasted text #1 +29 lines]"));
    stage.read("\r");
    assert_eq!(stage.submitted(), [text]);
}

#[test]
fn status_is_told_in_the_title_until_the_question_was_answered() {
    let mut stage = Stage::new("status = { osc7501 = 'asks', title = true }");
    let printed = String::from_utf8(stage.printed.clone()).unwrap();
    assert!(printed.contains("\x1b]7501;?\x1b\\") && printed.ends_with("\x1b]0;✳ scripted agent\x07"));
    stage.printed.clear();
    stage.read("\x1b]7501;?\x1b\\").read("go").read("\r");
    let printed = String::from_utf8(stage.printed.clone()).unwrap();
    let expected = "\x1b]7501;state=idle:app=scripted\x1b\\\x1b]0;scripted agent\x07\
                    \x1b]7501;state=working:app=scripted\x1b\\\x1b]0;scripted agent\x07";
    assert_eq!(printed, expected);
}

#[test]
fn a_done_agent_is_idle_at_the_next_key() {
    let mut stage = Stage::new("status.osc7501 = 'always'\nturn.busy_ms = 0\nfalse_start_ms = 20");
    stage.pass(20).read("go").read("\r").read("x");
    assert_eq!(stage.states(), ["working", "idle", "working", "done", "idle"]);
}

#[test]
fn enter_in_mid_turn_queues_keeps_or_discards() {
    let run = |rule: &str| {
        let mut stage = Stage::new(&format!("composer.while_busy = '{rule}'"));
        stage.read("one").read("\r").pass(10).read("two").read("\r").pass(40).pass(50).read("\r").pass(50);
        stage.submitted().join(" ")
    };
    assert_eq!(run("queue"), "one two");
    assert_eq!(run("keep"), "one two");
    assert_eq!(run("discard"), "one");
}

#[test]
fn an_interrupt_ends_the_turn_and_may_bring_the_message_back() {
    let mut stage = Stage::new("composer.restore = true");
    stage.read("one").read("\r").read("\x03").read("more").read("\r");
    assert_eq!(stage.submitted(), ["one", "onemore"]);
}

#[test]
fn turns_end_as_they_are_told() {
    let config =
        "turn.busy_ms = 0\nturns = [{ busy_ms = 0, end = 'error' }, { busy_ms = 0, end = { exit = 3 } }]";
    let mut stage = Stage::new(config);
    stage.read("a").read("\r");
    assert!(stage.shows("API Error"));
    stage.read("b").read("\r");
    assert_eq!(stage.left, Some(Leaving::Exit(3)));
    for (end, left) in [("crash", Leaving::Crash), ("shell", Leaving::Shell)] {
        let mut stage = Stage::new(&format!("turn = {{ busy_ms = 0, end = '{end}' }}"));
        stage.read("a").read("\r").read("late\r");
        assert_eq!(stage.left, Some(left));
    }
}

#[test]
fn a_turn_may_look_ready_for_a_moment() {
    let mut stage = Stage::new("turn = { busy_ms = 200, flash_at_ms = 100 }");
    stage.read("a").read("\r").pass(99);
    assert!(stage.shows("Working"));
    stage.pass(1);
    assert!(!stage.shows("Working"));
    assert_eq!(stage.agent.redraw(stage.now()), Some(Moment::from_millis(130)));
    stage.pass(30);
    assert!(stage.shows("Working"));
}

#[test]
fn controls_in_a_message_are_keys_and_are_told() {
    let mut stage = Stage::new("");
    stage.read("a\x01\x1b[5~b").read("\r");
    assert_eq!(stage.submitted(), ["ab"]);
    assert!(stage.events.contains(&Event::Key { bytes: "\\x1b[5~".to_owned() }));
}

#[test]
fn a_mistake_in_the_file_is_told_with_its_line() {
    let error = AgentConfig::parse("boot_ms = 1\n\nturn.bussy_ms = 5\n").unwrap_err().to_string();
    assert!(error.contains("line 3") && error.contains("bussy_ms"), "{error}");
}

#[test]
fn a_program_works_for_a_turn_until_it_ends_or_its_time_is_over() {
    let mut stage = Stage::new("turn = { busy_ms = 1000, run = ['worker'], answer = 'nothing came' }");
    stage.read("first\r");
    assert_eq!(stage.running, [(1, "first".to_owned())]);
    let ended =
        |stage: &Stage| stage.events.iter().filter(|one| matches!(one, Event::TurnEnded { .. })).count();
    assert_eq!(ended(stage.pass(900)), 0);
    let now = stage.now();
    stage.agent.worked(1, "it is 42".to_owned(), now);
    assert_eq!(ended(stage.pass(0)), 1);
    assert!(stage.screen().unwrap().contains("it is 42"));
    // One that takes too long is not waited for, and not heard when it ends in another turn.
    stage.read("second\r").pass(1_000).read("third\r");
    assert_eq!((ended(&stage), stage.running.len()), (2, 3));
    let now = stage.now();
    stage.agent.worked(2, "late".to_owned(), now);
    assert_eq!(ended(stage.pass(0)), 2);
    assert!(!stage.screen().unwrap().contains("late"));
}
