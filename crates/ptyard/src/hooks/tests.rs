//! What is put in, found and taken out, on texts of every shape.

use clap::ValueEnum as _;
use proptest::prelude::*;

use super::*;

const PROGRAM: &str = "/opt/it's \"here\"/ptyard";

fn put(cli: HookedCli, text: &str) -> String {
    cli.with_entries(text, &cli.line(PROGRAM)).unwrap()
}

/// In and out again, for whatever stands in the file.
fn goes_in_and_out(cli: HookedCli, text: &str) {
    let line = cli.line(PROGRAM);
    assert_eq!(cli.without_entries(text).unwrap(), text, "nothing of ours is in it");
    assert_eq!(cli.standing(text, &line).unwrap(), Standing::Absent);
    let once = put(cli, text);
    assert_eq!(cli.standing(&once, &line).unwrap(), Standing::Installed, "{once}");
    assert_eq!(put(cli, &once), once, "twice is once");
    assert_eq!(cli.without_entries(&once).unwrap(), text, "{once}");
    // One that moved is found, told, and replaced by exactly one.
    let moved = cli.line("/elsewhere/ptyard");
    assert_eq!(cli.standing(&once, &moved).unwrap(), Standing::Outdated);
    assert_eq!(cli.with_entries(&once, &moved).unwrap(), cli.with_entries(text, &moved).unwrap());
}

#[test]
fn entries_as_each_cli_wants_them() {
    let all = HookedCli::value_variants().iter().map(|cli| {
        let text = cli.with_entries("", &cli.line("/opt/ptyard")).unwrap();
        format!("# {}\n{}", cli.id(), text.trim_end())
    });
    insta::assert_snapshot!(all.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn every_provider_with_hooks_is_known_by_its_id() {
    for cli in HookedCli::value_variants() {
        assert_eq!(cli.to_possible_value().unwrap().get_name(), cli.id());
        assert!(ptyard_providers::Library::one_bundled(cli.id()).is_some(), "{}", cli.id());
    }
}

#[test]
fn what_the_user_wrote_stays_byte_for_byte() {
    let group = r#"{"hooks":[{"type":"command","command":"say done"}]}"#;
    for text in [
        String::new(),
        "\n \n".to_owned(),
        "{}".to_owned(),
        "{ }\n".to_owned(),
        "{\n}\n".to_owned(),
        "{\"a\":1}".to_owned(),
        "{\"a\": \"\u{e9}\"}\r\n".to_owned(),
        "{ // mine\n  \"theme\": \"dark\", /* too */\n}\n".to_owned(),
        "{\"hooks\": {}}".to_owned(),
        "{\"hooks\":{ /* none */ }, \"a\": [1,],}\n".to_owned(),
        "{\n\t\"hooks\": {\n\t\t\"Stop\": [],\n\t\t\"BeforeAgent\": [ ]\n\t}\n}\n".to_owned(),
        format!(
            "{{\"hooks\": {{\"Stop\": [{group}], \"AfterAgent\": [\n{group}\n], \"agentStop\": [{group}]}}}}\n"
        ),
        format!("{{\"hooks\": {{\"PreToolUse\": [{group}] // after\n}}}}"),
        "{\"version\": 1, \"hooks\": {\"enabled\": true}}".to_owned(),
    ] {
        for cli in HookedCli::value_variants().iter().filter(|cli| **cli != HookedCli::Kimi) {
            goes_in_and_out(*cli, &text);
        }
    }
    for text in [
        "",
        "\n",
        "# mine",
        "model = \"m\" # mine\n",
        "model = \"m\"\r\n\r\n[a]\r\nb = [1,\r\n2]",
        "[[hooks]]\nevent = \"Stop\"\ncommand = \"say done\"\n",
        "[x]\ny = '''\nz\n'''\n\n\n",
    ] {
        goes_in_and_out(HookedCli::Kimi, text);
    }
}

#[test]
fn entries_that_a_cli_wrote_anew_are_taken_out_too() {
    for cli in HookedCli::value_variants().iter().filter(|cli| **cli != HookedCli::Kimi) {
        let text = "{\n  \"theme\": \"dark\",\n  \"zoom\": 2\n}";
        let document: serde_json::Value = serde_json::from_str(&put(*cli, text)).unwrap();
        for anew in
            [document.to_string(), format!("{document:#}"), format!("{document:#}").replace("  ", "\t")]
        {
            assert_eq!(put(*cli, &anew), anew, "what is installed is left as it is");
            let left: serde_json::Value = serde_json::from_str(&cli.without_entries(&anew).unwrap()).unwrap();
            assert_eq!(left, serde_json::json!({"theme": "dark", "zoom": 2}));
        }
    }
    let kimi = HookedCli::Kimi;
    let anew =
        put(kimi, "a = 1\n").lines().filter(|line| !line.starts_with('#')).collect::<Vec<_>>().join("\n");
    assert_eq!(kimi.without_entries(&anew).unwrap().trim(), "a = 1");
}

#[test]
fn one_of_a_group_is_taken_out_alone() {
    let claude = HookedCli::ClaudeCode;
    let ours = serde_json::to_string(&claude.line(PROGRAM)).unwrap();
    for (with, without) in [
        (format!("[{{\"command\": \"a\"}}, {{\"command\": {ours}}}]"), "[{\"command\": \"a\"}]"),
        (format!("[{{\"command\": {ours}}}, {{\"command\": \"a\"}}]"), "[ {\"command\": \"a\"}]"),
        (format!("[{{\"command\": \"a\"}}, {{\"command\": {ours}}},]"), "[{\"command\": \"a\"},]"),
    ] {
        let around = |list: &str| format!("{{\"hooks\": {{\"Stop\": [{{\"hooks\": {list}}}]}}}}");
        assert_eq!(claude.without_entries(&around(&with)).unwrap(), around(without));
    }
}

#[test]
fn what_cannot_be_understood_is_refused() {
    let claude = HookedCli::ClaudeCode;
    let line = claude.line(PROGRAM);
    let refused = |cli: HookedCli, text: &str| cli.with_entries(text, &line).unwrap_err().to_string();
    for text in [
        "[1]",
        "\u{feff}{}",
        "3",
        "{",
        "{\"a\": }",
        "{} {}",
        "// nothing",
        "{'a': 1}",
        "{\"a\": 1 \"b\": 2}",
        &"[".repeat(100_000),
    ] {
        assert!(refused(claude, text).starts_with("it is not JSON"), "{text:.20}");
    }
    for text in
        ["{\"hooks\": 3}", "{\"hooks\": []}", "{\"hooks\": {\"Stop\": {}}}", "{\"hooks\": {\"Stop\": null}}"]
    {
        assert!(refused(claude, text).ends_with("is not a table of hooks"), "{text}");
    }
    for text in ["{\"hooks\": {}, \"hooks\": {}}", "{\"hooks\": {\"Stop\": [], \"Stop\": []}}"] {
        assert!(refused(claude, text).ends_with("stands in it twice"), "{text}");
    }
    assert!(refused(HookedCli::Kimi, "a = ").starts_with("it is not TOML"));
    for text in ["hooks = []", "hooks = 1", "[hooks]\na = 1"] {
        assert!(refused(HookedCli::Kimi, text).ends_with("is not a table of hooks"), "{text}");
    }
}

/// A document with whatever blanks and comments between its tokens.
fn json_text() -> impl Strategy<Value = String> {
    let blank = prop_oneof![
        4 => Just(String::new()),
        2 => "[ \n\t]{1,3}".prop_map(String::from),
        1 => "[a-z ,{}\\[\\]\"]{0,6}".prop_map(|text| format!("/*{text}*/")),
        1 => "[a-z ,{}\\[\\]\"]{0,6}".prop_map(|text| format!("//{text}\n")),
    ];
    let word = prop_oneof![
        Just("hooks".to_owned()),
        Just("Stop".to_owned()),
        Just("UserPromptSubmit".to_owned()),
        Just("AfterAgent".to_owned()),
        Just("agentStop".to_owned()),
        Just("command".to_owned()),
        "[a-c]",
    ];
    let leaf = prop_oneof![
        Just("true".to_owned()),
        Just("1.5e3".to_owned()),
        "[a-z,{}\\[\\]/*]{0,5}".prop_map(|text| format!("{text:?}")),
    ];
    let again = blank.clone();
    let blank = move || again.clone();
    let value = leaf.prop_recursive(4, 24, 4, {
        let (word, blank) = (word.clone(), blank.clone());
        move |inner| {
            let items = prop::collection::vec((blank(), inner.clone(), blank()), 0..3);
            let list = (items, blank(), any::<bool>()).prop_map(|(items, end, trailing)| {
                joined(
                    items.into_iter().map(|(a, item, b)| format!("{a}{item}{b}")),
                    '[',
                    ']',
                    &end,
                    trailing,
                )
            });
            let members =
                prop::collection::vec(((blank(), word.clone(), blank()), (blank(), inner, blank())), 0..3);
            let object = (members, blank(), any::<bool>()).prop_map(|(members, end, trailing)| {
                let member =
                    |((a, key, b), (c, value, d)): ((String, String, String), (String, String, String))| {
                        format!("{a}\"{key}\"{b}:{c}{value}{d}")
                    };
                joined(members.into_iter().map(member), '{', '}', &end, trailing)
            });
            prop_oneof![list, object]
        }
    });
    // A list of hooks stands where one belongs often enough to matter.
    let lists = prop::collection::vec((word.clone(), value.clone()), 0..3);
    let settings = (blank(), lists, value.clone(), blank(), blank()).prop_map(|(a, lists, other, b, c)| {
        let events = joined(
            lists.into_iter().map(|(event, item)| format!("\"{event}\":{a}[{item}]")),
            '{',
            '}',
            &b,
            false,
        );
        format!("{a}{{\"x\":{other},{b}\"hooks\":{c}{events}}}{c}")
    });
    prop_oneof![settings, (blank(), value, blank()).prop_map(|(a, value, b)| format!("{a}{value}{b}"))]
}

fn joined(items: impl Iterator<Item = String>, open: char, close: char, end: &str, trailing: bool) -> String {
    let items: Vec<_> = items.collect();
    let comma = if trailing && !items.is_empty() { "," } else { "" };
    format!("{open}{}{comma}{end}{close}", items.join(","))
}

proptest! {
    /// Whatever can be read goes in and out, and what cannot be is refused, never changed.
    #[test]
    fn in_and_out_again_is_nothing(text in json_text(), which in 0..HookedCli::value_variants().len()) {
        let cli = HookedCli::value_variants()[which];
        if cli != HookedCli::Kimi && cli.with_entries(&text, &cli.line(PROGRAM)).is_ok() {
            goes_in_and_out(cli, &text);
        }
    }

    #[test]
    fn no_text_is_too_much(text in any::<String>()) {
        for cli in HookedCli::value_variants() {
            if cli.with_entries(&text, &cli.line(PROGRAM)).is_ok() {
                goes_in_and_out(*cli, &text);
            }
        }
    }

    #[test]
    fn nor_is_any_toml(lines in prop::collection::vec(prop_oneof![
        Just("[[hooks]]"), Just("event = \"Stop\""), Just("command = \"x\""), Just("# c"), Just(""), Just("[t]"),
        Just("a = 1"), Just("b = '''"), Just("'''"),
    ], 0..9), ends in any::<bool>()) {
        let text = lines.join("\n") + if ends { "\n" } else { "" };
        if HookedCli::Kimi.with_entries(&text, &HookedCli::Kimi.line(PROGRAM)).is_ok() {
            goes_in_and_out(HookedCli::Kimi, &text);
        }
    }
}
