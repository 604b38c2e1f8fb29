use super::*;

const GOOD: &str = r#"id = "it"
name = "It"
version = "1.0.0"
engine = 1
[anchors]
prompt = '^> '
menu = '^\d\. '
[composer]
row = "prompt"
sign = '^>'
[[rules]]
id = "menu"
status = "waiting"
kind = "dialog"
when = ["menu in bottom 3", "no prompt below menu"]
[[rules]]
id = "prompt"
status = "ready"
when = ["prompt"]
[[dialogs]]
rule = "menu"
about = "trust_cwd"
keys = ["1"]
"#;

fn error(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from), "{from}");
    Provider::parse(&GOOD.replacen(from, to, 1), Origin::Local).unwrap_err().to_string()
}

#[test]
fn a_good_manifest_is_taken() {
    let provider = Provider::parse(GOOD, Origin::Local).unwrap();
    assert_eq!((provider.id(), provider.version()), ("it", "1.0.0"));
}

#[test]
fn every_mistake_is_told_with_its_line() {
    let mistakes = [
        ("id = \"it\"", "id = \"It\"", "line 1: an id has 1 to 64 of a-z, 0-9 and _"),
        ("\"1.0.0\"", "\"1.0\"", "line 3: a version is three numbers with dots"),
        ("engine = 1", "engine = 2", "line 4: made for engine 2; this one is 1"),
        ("'^> '", "'^(> '", "line 6: error: unclosed group"),
        ("row = \"prompt\"", "row = \"promt\"", "line 9: no anchor is called `promt`"),
        ("status = \"waiting\"", "status = \"stuck\"", "line 13: unknown variant `stuck`"),
        ("in bottom 3", "in cellar 3", "line 15: `in cellar 3` says no place"),
        ("when = [\"prompt\"]", "when = [\"no menu\"]", "line 16: a rule needs a term that is not"),
        ("id = \"prompt\"", "id = \"menu\"", "line 16: two rules are called `menu`"),
        ("rule = \"menu\"", "rule = \"prompt\"", "line 21: no rule for `waiting` has this id"),
        ("\"trust_cwd\"", "\"anything\"", "line 22: unknown variant `anything`"),
        ("when = [\"prompt\"]", "asks = \"menu\"\nwhen = [\"prompt\"]", "line 16: only a rule for `waiting`"),
        ("keys = [\"1\"]", "key = [\"1\"]", "line 23: unknown field `key`"),
    ];
    for (from, to, expected) in mistakes {
        let found = error(from, to);
        assert!(found.starts_with(expected), "{to}: {found}");
    }
}

#[test]
fn a_remote_manifest_never_presses_a_key() {
    let error = Provider::parse(GOOD, Origin::Remote).unwrap_err();
    assert_eq!(error.line, 20);
    let surface = GOOD.replace("keys = [\"1\"]", "");
    assert!(Provider::parse(&surface, Origin::Remote).is_ok());
}

#[test]
fn a_title_alone_never_makes_ready() {
    let parse = |status: &str| {
        let title = format!("[[title]]\nid = \"ready\"\nre = '^ok'\nstatus = {status}\n");
        Provider::parse(&format!("{GOOD}{title}"), Origin::Local)
    };
    let error = parse("\"idle\"").unwrap_err();
    assert!(error.message.starts_with("a title alone never makes ready"), "{error}");
    for over in ["\"completed\"", "\"completed\"\nfresh_ms = 2001"] {
        let error = parse(over).unwrap_err();
        assert!(error.message.starts_with("a title that says `completed` needs"), "{error}");
    }
    assert!(parse("\"completed\"\nfresh_ms = 2000").is_ok());
}

#[test]
fn limits_hold() {
    let many: String = (0..200)
        .map(|n| format!("[[rules]]\nid = \"r{n}\"\nstatus = \"ready\"\nwhen = [\"prompt\"]\n"))
        .collect();
    assert!(
        Provider::parse(&format!("{GOOD}{many}"), Origin::Local).unwrap_err().message.contains("128 rules")
    );
    let long = format!("'{}'", "x".repeat(600));
    assert!(error("'^> '", &long).contains("at most 512"));
}
