//! What is shown with every CLI.

use ptyard_testkit::model::Turn;
use serde_json::Value;

use crate::cli::Cli;
use crate::yard::Yard;

/// An answer with what CLIs draw in their own ways.
const ANSWER: &str = "It is done, and these are the points:\n\n- one\n- two\n\nThat is all.";

pub(crate) fn a_message_is_worked_on_and_answered(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let gate = yard.model.hold("first task", ANSWER);
    yard.ready();
    yard.send("Do the first task.");
    yard.model.wait_asked("first task");
    yard.becomes("processing");
    gate.open();
    yard.becomes("completed");
    yard.takes_messages();
    assert_eq!(yard.model.count("first task"), 1);
}

/// Whether the hooks of the agent, or its own server, said this last.
fn of_hook(status: &Value, rule: &str) -> bool {
    let sources = status["explain"]["sources"].as_array().into_iter().flatten();
    sources.filter(|source| source["source"] == "hook").any(|source| source["rule"] == rule)
}

/// Its own server says that it works; how that ends is seen where the answer is.
pub(crate) fn its_server_tells_while_it_works(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let gate = yard.model.hold("first task", ANSWER);
    yard.ready();
    // It is heard a few seconds after it takes messages, at the latest.
    yard.send_through("Say hello.");
    yard.send("Do the first task.");
    yard.until("told by its server", |status| status["source"] == "hook" && of_hook(status, "events.busy"));
    gate.open();
    let over = yard.until("over", |status| of_hook(status, "events.idle"));
    assert_eq!(yard.becomes("completed")["source"], "screen", "{over}");
}

/// Its own hook says which text it took.
pub(crate) fn a_hook_tells_which_text_was_taken(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let gate = yard.model.hold("first task", ANSWER);
    yard.ready();
    yard.send("Do the first task.");
    yard.until("told by its hook", |status| of_hook(status, "hook.prompt"));
    gate.open();
    let over = yard.until("over", |status| of_hook(status, "hook.stop"));
    assert_eq!(yard.becomes("completed")["source"], "native", "{over}");
}

/// Hooks in the user's own settings tell of its turns, once the user trusts them.
pub(crate) fn installed_hooks_tell_which_text_was_taken(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let installed = yard.json(&["hooks", "install", cli.provider]);
    assert_eq!(
        (&installed["standing"], &installed["changed"]),
        (&"installed".into(), &true.into()),
        "{installed}"
    );
    let gate = yard.model.hold("first task", ANSWER);
    yard.begin();
    yard.shows("Hooks need review");
    let asks = yard.becomes("waiting_user_answer");
    assert_eq!(asks["explain"]["hold"], "dialog", "{asks}");
    // The second of its answers is to trust them.
    let answered = yard.json(&["answer", "agent", "--keys", "2 Enter"]);
    assert!(answered["error"].is_null(), "{answered}");
    yard.becomes("idle");
    yard.send("Do the first task.");
    yard.until("told by its hook", |status| of_hook(status, "hook.prompt"));
    gate.open();
    let over = yard.until("over", |status| of_hook(status, "hook.stop"));
    assert_eq!(yard.becomes("completed")["source"], "native", "{over}");
    assert_eq!(yard.json(&["hooks", "status", cli.provider])[0]["standing"], "installed");
}

/// A yard whose user has our hooks in the settings.
fn with_installed_hooks(cli: &'static Cli) -> Yard {
    let yard = Yard::new(cli);
    let installed = yard.json(&["hooks", "install", cli.provider]);
    assert_eq!(installed["changed"], true, "{installed}");
    yard
}

/// Hooks in the user's own settings tell of its turns; what is over is seen on its screen.
pub(crate) fn installed_hooks_tell_of_its_turns(cli: &'static Cli) {
    let yard = with_installed_hooks(cli);
    let gate = yard.model.hold("first task", ANSWER);
    yard.ready();
    yard.send("Do the first task.");
    yard.until("told by its hook", |status| status["source"] == "hook" && of_hook(status, "hook.prompt"));
    gate.open();
    let over = yard.until("over", |status| of_hook(status, "hook.stop"));
    assert_ne!(yard.becomes("completed")["source"], "hook", "{over}");
    yard.takes_messages();
    assert_eq!(yard.json(&["hooks", "status", cli.provider])[0]["standing"], "installed");
}

/// Hooks in the user's own settings stand beside those of its start, and its turns go as without them.
pub(crate) fn installed_hooks_beside_its_own_change_nothing(cli: &'static Cli) {
    let yard = with_installed_hooks(cli);
    let gate = yard.model.hold("first task", ANSWER);
    yard.ready();
    yard.send("Do the first task.");
    yard.queue("Do the second task.");
    yard.until("told by its hook", |status| of_hook(status, "hook.prompt"));
    gate.open();
    yard.mail_becomes(&["delivered", "delivered"]);
    yard.model.wait_asked("second task");
    yard.becomes("completed");
    yard.takes_messages();
    assert_eq!(yard.json(&["hooks", "status", cli.provider])[0]["standing"], "installed");
}

/// Whoever starts it says that the folder is trusted, and it comes up by itself.
pub(crate) fn a_trusted_folder_is_not_asked_about(cli: &'static Cli) {
    let yard = Yard::new(cli);
    yard.launch(&["--on-dialog", "trust-cwd"]);
    yard.becomes("idle");
    yard.takes_messages();
}

pub(crate) fn a_question_is_answered_by_a_person_and_mail_waits(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let made = yard.work().join("made-by-the-tool");
    yard.model.on("make it", Turn::Runs { command: "touch made-by-the-tool".into(), then: "Made.".into() });
    yard.ready();
    yard.send("Please make it.");
    // That something is asked may be told before it is drawn.
    let asks = yard.until("asking", |status| {
        status["status"] == "waiting_user_answer" && status["blocked_on"]["kind"] == "permission"
    });
    assert_eq!(asks["explain"]["hold"], "dialog", "{asks}");
    yard.queue("What came of it?");
    assert_eq!(yard.mail(), ["delivered", "pending"]);
    assert!(!made.exists());
    let answered = yard.json(&["answer", "agent", "--keys", cli.approve]);
    assert!(answered["error"].is_null(), "{answered}");
    yard.model.wait("make it", |asked| asked.result.is_some());
    assert!(made.exists(), "the command ran");
    yard.model.wait_asked("What came of it?");
    yard.becomes("completed");
    assert_eq!((yard.mail(), yard.model.count("")), (vec!["delivered".to_owned(); 2], 2));
}

pub(crate) fn three_messages_are_delivered_one_per_turn(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let tasks = ["the first of three", "the second of three", "the third of three"];
    let mut gates: Vec<_> = tasks.iter().map(|task| yard.model.hold(task, ANSWER)).collect();
    yard.ready();
    for task in tasks {
        yard.queue(&format!("Do {task}."));
    }
    for (done, task) in tasks.iter().enumerate() {
        yard.model.wait_asked(task);
        yard.becomes("processing");
        let states = yard.mail();
        let delivered = states.iter().filter(|state| *state == "delivered").count();
        assert!(delivered <= done + 1, "{states:?}");
        assert_eq!(yard.model.count(""), done + 1, "one at a time: {:?}", yard.model.prompts());
        gates.remove(0).open();
    }
    yard.mail_becomes(&["delivered"; 3]);
    yard.becomes("completed");
    let prompts = yard.model.prompts();
    assert!(
        prompts.len() == 3 && prompts.iter().zip(tasks).all(|(prompt, task)| prompt.contains(task)),
        "{prompts:?}"
    );
}

pub(crate) fn thirty_lines_arrive_as_they_are(cli: &'static Cli) {
    let yard = Yard::new(cli);
    yard.ready();
    let lines: Vec<String> = (1..=30)
        .map(|at| format!("Line {at} of thirty: \"quoted\", $HOME, {}.", "\t#".repeat(at % 3)))
        .collect();
    let text = lines.join("\n");
    yard.send_through(&text);
    let prompts = yard.model.prompts();
    assert_eq!(prompts.len(), 1, "{prompts:?}");
    // Composers make blanks of tabs.
    let blanks = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(blanks(&prompts[0]).contains(&blanks(&text)), "{prompts:?}");
}

pub(crate) fn an_interrupted_turn_is_over(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let _never = yard.model.hold("endless", ANSWER);
    yard.ready();
    yard.send("Do the endless task.");
    yard.model.wait_asked("endless");
    yard.becomes("processing");
    if let Some(said) = cli.said {
        yard.shows(said);
    }
    for keys in cli.interrupt {
        yard.press(keys);
    }
    yard.model.wait("endless", |asked| asked.given_up);
    yard.takes_messages();
    yard.send_through("Do another task.");
    assert_eq!((yard.model.count("endless"), yard.model.count("another")), (1, 1));
}

pub(crate) fn a_failed_request_ends_the_turn(cli: &'static Cli) {
    let yard = Yard::new(cli);
    yard.model.on("hopeless", Turn::Fails(400));
    yard.ready();
    yard.send("Do the hopeless task.");
    yard.model.wait_asked("hopeless");
    yard.until("over", |status| status["status"] == "error" || status["status"] == "completed");
    assert_eq!(yard.mail(), ["delivered"]);
}

pub(crate) fn an_exit_is_told(cli: &'static Cli) {
    let yard = Yard::new(cli);
    yard.ready();
    yard.send_through("Do a task.");
    let typed =
        yard.json(&["write", "agent", "--chars", cli.exit, "--yield-ms", "500", "--until", "quiet:200"]);
    assert!(typed["error"].is_null(), "{typed}");
    yard.press("Enter");
    let end = yard.json(&["wait", "agent", "--until", "exit", "--timeout", "60"]);
    assert_eq!(end["exit"]["code"], 0, "{end}");
    assert_eq!(yard.becomes("exited")["source"], "exit");
    let late = yard.json(&["send", "agent", "Are you there?"]);
    assert!(late["state"] == "failed" || !late["error"].is_null(), "{late}");
}

pub(crate) fn a_crash_is_told(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let _never = yard.model.hold("endless", ANSWER);
    yard.ready();
    yard.send("Do the endless task.");
    yard.model.wait_asked("endless");
    yard.queue("And then this.");
    yard.kill_agent();
    let end = yard.json(&["wait", "agent", "--until", "exit", "--timeout", "60"]);
    assert_eq!(end["exit"]["signal"], 9, "{end}");
    yard.becomes("exited");
    let states = yard.mail();
    assert_eq!((states[0].as_str(), yard.model.count("And then")), ("delivered", 0), "{states:?}");
}

pub(crate) fn a_server_that_dies_in_a_turn_loses_nothing(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let gate = yard.model.hold("long task", ANSWER);
    yard.ready();
    yard.send("Do the long task.");
    yard.model.wait_asked("long task");
    yard.queue("Do the next one.");
    yard.kill_server();
    yard.becomes("processing");
    assert_eq!(yard.mail(), ["delivered", "pending"]);
    gate.open();
    yard.model.wait_asked("next one");
    yard.mail_becomes(&["delivered", "delivered"]);
    yard.becomes("completed");
    assert_eq!(yard.model.count(""), 2, "{:?}", yard.model.prompts());
}
