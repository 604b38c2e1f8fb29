use super::*;
use crate::HookWords;
use crate::Library;
use crate::launch::recipe::McpRecipe;
use crate::launch::{McpTransport, hook_line};

fn wanted() -> Wanted {
    Wanted {
        binary: "/usr/bin/it".into(),
        cwd: "/project".into(),
        private: "/state/t1".into(),
        ..Wanted::default()
    }
}

fn plan_of(id: &str, wanted: &Wanted) -> Plan {
    plan(Library::one_bundled(id).unwrap().unwrap().launch(), wanted).unwrap()
}

fn server() -> McpServer {
    let transport = McpTransport::Stdio {
        command: "ptyard".into(),
        args: vec!["mcp".into()],
        env: BTreeMap::from([("PTYARD_TERMINAL".to_owned(), "a \"b\"".to_owned())]),
        secret: BTreeMap::from([("PTYARD_TOKEN".to_owned(), "hidden".to_owned())]),
    };
    McpServer { name: "ptyard".into(), transport, calls: Calls::AsUsual }
}

#[test]
fn claude_gets_long_texts_through_private_files() {
    let wanted = Wanted {
        model: Some("opus".into()),
        prompt: Some("Be brief.".into()),
        mcp: vec![server()],
        tools: Some(BTreeSet::from(["fs_read".to_owned()])),
        ..wanted()
    };
    let plan = plan_of("claude_code", &wanted);
    let line = plan.argv.join(" ");
    assert!(
        line.starts_with("/usr/bin/it --model opus --mcp-config /state/t1/mcp.json --strict-mcp-config"),
        "{line}"
    );
    assert!(line.ends_with("--append-system-prompt-file /state/t1/instructions.md"), "{line}");
    assert!(line.contains("--disallowedTools Bash "), "{line}");
    assert!(!line.contains("--disallowedTools Read"), "{line}");
    assert_eq!(plan.files.len(), 2);
    assert_eq!(plan.files[1].text, "Be brief.");
    assert!(plan.unset.contains(&"CLAUDE*".to_owned()));
    assert_eq!(plan.advisory, Vec::<String>::new());
}

/// Its own settings stay as they are: what is given by a flag stands beside them.
#[test]
fn claude_gets_hooks_in_a_private_file_that_hold_no_secret() {
    let hook = "/opt/it's/ptyard".to_owned();
    let plan = plan_of("claude_code", &Wanted { hook: Some(hook), ..wanted() });
    assert_eq!(plan.argv[1..], ["--settings", "/state/t1/hooks.json"]);
    let settings: serde_json::Value = serde_json::from_str(&plan.files[0].text).unwrap();
    let hooks = settings["hooks"].as_object().unwrap();
    assert_eq!(hooks.keys().collect::<Vec<_>>(), ["Stop", "UserPromptSubmit"]);
    let command = &settings["hooks"]["Stop"][0]["hooks"][0]["command"];
    assert_eq!(command, &hook_line(HookWords::Claude, "/opt/it's/ptyard"));
    assert_eq!(plan_of("codex", &Wanted { hook: Some(String::new()), ..wanted() }).files, []);
    assert_eq!(plan_of("claude_code", &wanted()).files, []);
}

#[test]
fn codex_gets_instructions_and_servers_as_toml() {
    let wanted = Wanted {
        prompt: Some("Say \"hi\"\nand\tstop\\.".into()),
        mcp: vec![server()],
        tools: Some(BTreeSet::from(["fs_read".to_owned()])),
        unattended: true,
        ..wanted()
    };
    let plan = plan_of("codex", &wanted);
    let has = |arg: &str| plan.argv.iter().any(|other| other == arg);
    assert!(has("mcp_servers.ptyard.env.PTYARD_TERMINAL=\"a \\\"b\\\"\""), "{:?}", plan.argv);
    assert!(has("mcp_servers.ptyard.tool_timeout_sec=3600.0"));
    assert!(has("mcp_servers.ptyard.env_vars=[\"PTYARD_TOKEN\"]"));
    let instructions = plan.argv.last().unwrap();
    assert!(
        instructions.starts_with("developer_instructions=\"Say \\\"hi\\\"\\nand\\tstop\\\\."),
        "{instructions}"
    );
    assert_eq!(plan.advisory, ["its tools are limited by its instructions only"]);
}

#[test]
fn a_secret_is_in_private_files_and_never_in_an_argument() {
    for provider in Library::bundled().unwrap().iter() {
        let plan = plan(provider.launch(), &Wanted { mcp: vec![server()], ..wanted() }).unwrap();
        let id = provider.id();
        assert!(plan.argv.iter().all(|arg| !arg.contains("hidden")), "{id}: {:?}", plan.argv);
        let in_files = plan.files.iter().any(|file| file.text.contains(r#""PTYARD_TOKEN":"hidden""#));
        let encoder = provider.launch().mcp.encoder;
        assert_eq!(in_files, matches!(encoder, McpEncoder::Json | McpEncoder::Opencode), "{id}");
    }
}

#[test]
fn a_secret_is_left_out_where_servers_are_arguments() {
    let mcp: McpRecipe = toml::from_str("encoder = 'json'\nargs = ['--servers', '{json}']").unwrap();
    let recipe = Recipe { mcp, ..Recipe::default() };
    let plan = plan(&recipe, &Wanted { mcp: vec![server()], ..wanted() }).unwrap();
    assert!(plan.argv[2].contains("PTYARD_TERMINAL") && !plan.argv[2].contains("hidden"), "{:?}", plan.argv);
    assert_eq!(plan.files, []);
}

#[test]
fn a_server_that_is_there_is_given_by_its_address() {
    let headers = BTreeMap::from([("X-Key".to_owned(), "k".to_owned())]);
    let transport = McpTransport::Http { url: "https://example.com/mcp".into(), headers };
    let wanted =
        Wanted { mcp: vec![McpServer { name: "docs".into(), transport, calls: Calls::AsUsual }], ..wanted() };
    let codex = plan_of("codex", &wanted).argv.join(" ");
    assert!(codex.contains("mcp_servers.docs.url=\"https://example.com/mcp\""), "{codex}");
    assert!(codex.contains("mcp_servers.docs.http_headers.X-Key=\"k\""), "{codex}");
    let claude = &plan_of("claude_code", &wanted).files[0].text;
    let opencode = &plan_of("opencode_cli", &wanted).files[0].text;
    assert!(opencode.contains(r#""type":"remote""#), "{opencode}");
    assert!(
        claude.contains(r#""type":"http""#) && claude.contains(r#""url":"https://example.com/mcp""#),
        "{claude}"
    );
}

#[test]
fn tools_of_a_server_that_checks_its_callers_are_called_unasked_and_no_others() {
    for (calls, unasked) in [(Calls::Unasked, true), (Calls::AsUsual, false)] {
        let wanted = Wanted { mcp: vec![McpServer { calls, ..server() }], ..wanted() };
        let plans = ["codex", "claude_code", "opencode_cli"].map(|id| plan_of(id, &wanted));
        let [codex, claude, opencode] = plans;
        let holds = |plan: &Plan, text: &str| plan.argv.iter().any(|arg| arg == text);
        let codex = holds(&codex, "mcp_servers.ptyard.default_tools_approval_mode=\"approve\"");
        let claude = holds(&claude, "--allowedTools=mcp__ptyard");
        let file = &opencode.files[0];
        assert_eq!(opencode.env["OPENCODE_CONFIG"], file.path.display().to_string());
        let opencode = file.text.contains(r#""permission":{"ptyard_*":"allow"}"#);
        assert_eq!((codex, claude, opencode), (unasked, unasked, unasked));
    }
}

#[test]
fn what_cannot_be_given_is_said() {
    let wanted = Wanted {
        prompt: Some("Be brief.".into()),
        mcp: vec![server()],
        tools: Some(BTreeSet::new()),
        ..wanted()
    };
    assert_eq!(plan_of("aider", &wanted).advisory.len(), 3);
}

#[test]
fn a_session_id_that_looks_like_an_option_is_refused() {
    let codex = Library::one_bundled("codex").unwrap().unwrap();
    for id in ["--yolo", "", "a b", "a\nb"] {
        let wanted = Wanted { resume: Some(id.to_owned()), ..wanted() };
        assert_eq!(plan(codex.launch(), &wanted), Err(LaunchError::SessionId(id.to_owned())), "{id:?}");
    }
    let wanted = Wanted { resume: Some("0189-ab".to_owned()), ..wanted() };
    let argv = plan(codex.launch(), &wanted).unwrap().argv;
    assert!(argv.windows(2).any(|pair| pair == ["resume", "0189-ab"]), "{argv:?}");
}

#[test]
fn names_that_could_mean_something_else_are_refused() {
    let codex = Library::one_bundled("codex").unwrap().unwrap();
    let mut evil = server();
    evil.name = "a.b\n".to_owned();
    let wanted = Wanted { mcp: vec![evil], ..wanted() };
    assert_eq!(plan(codex.launch(), &wanted), Err(LaunchError::McpName("a.b\n".to_owned())));
}

#[test]
fn values_are_filled_in_once() {
    let recipe =
        Recipe { model: vec!["{model}".into(), "{unknown".into(), "{}".into()], ..Recipe::default() };
    let wanted = Wanted { model: Some("{cwd}".into()), ..wanted() };
    assert_eq!(plan(&recipe, &wanted).unwrap().argv, ["/usr/bin/it", "{cwd}", "{unknown", "{}"]);
}

#[test]
fn opencode_serves_its_events_behind_a_secret_that_no_argument_holds() {
    let door = || Door { port: 20_123, secret: "hidden".into() };
    let plan = plan_of("opencode_cli", &Wanted { door: Some(door()), ..wanted() });
    assert_eq!(plan.argv[1..], ["--port", "20123", "--hostname", "127.0.0.1"]);
    assert_eq!(plan.env["OPENCODE_SERVER_PASSWORD"], "hidden");
    assert_eq!((plan.events, plan.files), (Some(EventWords::Opencode), vec![]));
    assert!(!format!("{:?}", door()).contains("hidden"));
    // A server that was asked for stays as it was asked for.
    for extra in ["--port=4096", "--port", "--hostname"] {
        let plan =
            plan_of("opencode_cli", &Wanted { door: Some(door()), extra: vec![extra.into()], ..wanted() });
        assert_eq!((plan.events, &plan.argv[1..]), (None, &[extra.to_owned()][..]));
        assert!(!plan.env.contains_key("OPENCODE_SERVER_PASSWORD"));
    }
    assert_eq!(plan_of("opencode_cli", &wanted()).events, None);
    assert_eq!(plan_of("codex", &Wanted { door: Some(door()), ..wanted() }).events, None);
}
