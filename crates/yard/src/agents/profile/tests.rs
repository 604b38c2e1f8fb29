use super::*;

fn good(text: &str) -> Parsed {
    parse(text, None).unwrap_or_else(|error| panic!("{error}: {text:?}"))
}

fn bad(text: &str) -> String {
    parse(text, None).unwrap_err().to_string()
}

#[test]
fn a_profile_is_its_fields_and_its_text() {
    let parsed = good(
        "---\nname: data-1\ndescription: Counts things\nprovider: codex\nmodel: big\nrole: developer\n\
         allowedTools:\n  - fs_read\n  - \"@builtin\"\ncapabilities: [sql, plots]\nmcpServers:\n  db:\n    command: db-mcp\n    args: [--port, 1]\n\
         ---\n\n# Counting\n\nCount twice.\n",
    );
    let profile = parsed.profile;
    assert_eq!(profile.name.as_str(), "data-1");
    assert_eq!((profile.provider.as_deref(), profile.model.as_deref()), (Some("codex"), Some("big")));
    assert_eq!(profile.tools, Some(vec!["fs_read".to_owned(), "@builtin".to_owned()]));
    assert_eq!(profile.capabilities, ["sql", "plots"]);
    assert_eq!(profile.mcp_servers["db"]["args"], serde_json::json!(["--port", 1]));
    assert_eq!(profile.prompt, "# Counting\n\nCount twice.");
    assert_eq!(parsed.notices, []);
}

#[test]
fn lists_are_taken_as_the_field_writes_them() {
    let tools = |value: &str| good(&format!("---\nname: a\ntools: {value}\n---\n")).profile.tools;
    assert_eq!(
        tools("Read, Grep , Bash"),
        Some(vec!["Read".to_owned(), "Grep".to_owned(), "Bash".to_owned()])
    );
    assert_eq!(tools("[]"), Some(vec![]));
    assert_eq!(tools(""), None);
    assert_eq!(tools("\n  write: false\n  bash: true"), Some(vec!["bash".to_owned()]));
    assert_eq!(tools("'*'"), Some(vec!["*".to_owned()]));
}

#[test]
fn what_people_write_and_yaml_refuses_is_understood() {
    let parsed = good(
        "---\r\nname: a\r\ndescription: Use it when: it's late: always # yes\r\ntools: @fs, *\r\n---\r\nbody\r\n",
    );
    assert_eq!(parsed.profile.description, "Use it when: it's late: always # yes");
    assert_eq!(parsed.profile.tools, Some(vec!["@fs".to_owned(), "*".to_owned()]));
    assert_eq!(parsed.profile.prompt, "body");
    assert_eq!(parsed.notices.iter().map(|notice| notice.line).collect::<Vec<_>>(), [3, 4]);
}

#[test]
fn a_file_without_front_matter_is_a_prompt_named_by_its_file() {
    let parsed = parse("Just do it.\n---\nReally.", Some("doer")).unwrap();
    assert_eq!(
        (parsed.profile.name.as_str(), parsed.profile.prompt.as_str()),
        ("doer", "Just do it.\n---\nReally.")
    );
    assert_eq!(
        bad("Just do it."),
        "line 1: a profile needs a name: begin the file with `---`, `name: NAME`, `---`"
    );
    assert!(parse("x", Some("no name")).is_err());
}

#[test]
fn the_prompt_may_be_a_field_when_there_is_no_text() {
    assert_eq!(good("---\nname: a\nprompt: |\n  one\n  two\n---\n\n").profile.prompt, "one\ntwo");
    let both = good("---\nname: a\nprompt: field\n---\ntext");
    assert_eq!((both.profile.prompt.as_str(), both.notices[0].line), ("text", 3));
}

#[test]
fn mistakes_are_told_with_their_line() {
    assert!(bad("---\nname: a\n").starts_with("line 1: the front matter has no end"));
    assert!(
        bad("---\nname: a\ndescription: [x\n---\n").starts_with("line "),
        "{}",
        bad("---\nname: a\ndescription: [x\n---\n")
    );
    assert_eq!(
        bad("---\n\nname: a b\n---\n"),
        "line 3: name: \"a b\" is no profile name: 1 to 64 of A-Z a-z 0-9 _ -"
    );
    assert_eq!(bad("---\nname: a\nmodel: [x]\n---\n"), "line 3: model: a text is expected");
    assert_eq!(bad("---\nname: a\ntools: [[x]]\n---\n"), "line 3: tools: a list of texts is expected");
    let long = "x".repeat(1_025);
    assert_eq!(
        bad(&format!("---\nname: a\ndescription: {long}\n---\n")),
        "line 3: description: at most 1024 characters"
    );
    assert_eq!(bad("---\n- a\n---\n"), "line 2: the front matter must be fields, `name: value`");
    assert!(bad(&"x".repeat(MOST_BYTES + 1)).contains("too many"));
    let deep = format!("---\nname: a\nmcpServers: {}x{}\n---\n", "[".repeat(100), "]".repeat(100));
    assert_eq!(bad(&deep), "line 3: the value is nested too deeply");
}

#[test]
fn unknown_fields_are_noticed() {
    let parsed = good("---\nname: a\ncolor: red\ntoolAliases: {a: b}\n---\n");
    let notices: Vec<_> = parsed.notices.iter().map(|notice| (notice.line, notice.text.as_str())).collect();
    assert_eq!(notices, [(3, "\"color\" means nothing here"), (4, "\"toolAliases\" means nothing here")]);
}

#[test]
fn the_built_in_profiles_are_sound_and_are_found_by_their_other_names() {
    for (stem, text) in BUILT_IN {
        let parsed = parse(text, None).unwrap();
        assert_eq!(parsed.profile.name.as_str(), stem);
        assert_eq!(parsed.notices, []);
        assert!(!parsed.profile.prompt.is_empty() && !parsed.profile.description.is_empty());
    }
    let library = Library::default();
    for (asked, name) in [("conductor", "supervisor"), ("worker", "developer"), ("reviewer", "reviewer")] {
        assert_eq!(library.find(asked).unwrap().parsed.profile.name.as_str(), name);
    }
    let unknown = library.find("nobody").unwrap_err().to_string();
    assert_eq!(unknown, "there is no profile \"nobody\"; there are: supervisor, developer, reviewer");
}

#[test]
fn the_first_place_wins_and_a_broken_file_hides_nothing() {
    let home = tempfile::tempdir().unwrap();
    let (first, state, project) =
        (home.path().join("first"), home.path().join("state"), home.path().join("work"));
    for (directory, name, text) in [
        (first.clone(), "one.md", "---\nname: shared\ndescription: first\n---\n"),
        (first.join("folded"), "agent.md", "a prompt"),
        (state.join("profiles"), "shared.md", "second"),
        (state.join("profiles"), "developer.md", "---\nname: developer\n"),
        (project.join(".ptyard/profiles"), "mine.md", "mine"),
        (project.join(".ptyard/profiles"), "notes.txt", "no profile"),
    ] {
        std::fs::create_dir_all(&directory).unwrap();
        std::fs::write(directory.join(name), text).unwrap();
    }
    let variable = std::env::join_paths([first, home.path().join("missing")]).unwrap();
    let library = Library::of(Some(&variable), &state, Some(&project));
    assert_eq!(library.find("shared").unwrap().parsed.profile.description, "first");
    assert_eq!(library.find("folded").unwrap().parsed.profile.prompt, "a prompt");
    assert_eq!(library.find("mine").unwrap().parsed.profile.prompt, "mine");
    assert!(
        matches!(library.find("developer"), Err(LibraryError::Broken { .. })),
        "the built-in one is not taken instead"
    );
    let list = library.list();
    let names: Vec<_> = list.iter().map(|listed| (listed.name.as_str(), listed.shadowed)).collect();
    assert_eq!(
        names,
        [
            ("folded", false),
            ("shared", false),
            ("developer", false),
            ("shared", true),
            ("mine", false),
            ("supervisor", false),
            ("developer", true),
            ("reviewer", false),
        ]
    );
    assert!(list[2].error.as_deref().is_some_and(|error| error.contains("no end")));
}

mod properties {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn no_text_is_too_strange_to_be_refused_in_words(text in "(---\n)?([a-z@*&%: \\[\\]{}'\"#|>,\n-]|name: a\n|\\PC){0,60}(---\n)?") {
            match parse(&text, Some("stem")) {
                Ok(parsed) => prop_assert!(!parsed.profile.name.as_str().is_empty()),
                Err(error) => prop_assert!(error.to_string().starts_with("line "), "{error}"),
            }
        }
    }
}
