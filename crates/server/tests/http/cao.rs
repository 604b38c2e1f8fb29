//! The API of CLI Agent Orchestrator, call by call. Its own clients are tried in `crates/ptyard/tests/cao`.

use bytes::Bytes;
use futures_util::{SinkExt, StreamExt};
use http_body_util::Full;
use hyper::header::{CONTENT_TYPE, HOST, ORIGIN};
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::site::{Answer, Site, send, soon};

/// A site with a profile whose agents are shells.
pub(crate) fn site() -> Site {
    let site = Site::start_with_cao();
    let store = site.dir.path().join("cao/agent-store");
    std::fs::create_dir_all(&store).unwrap();
    let profile = "---\nname: sheller\ndescription: Runs a shell\nprovider: shell\n---\n";
    std::fs::write(store.join("sheller.md"), profile).unwrap();
    site
}

pub(crate) async fn call_from(
    site: &Site,
    method: Method,
    path: &str,
    body: &Value,
    origin: Option<&str>,
) -> Answer {
    let address = site.cao.unwrap();
    let mut request = Request::builder().method(method).uri(path).header(HOST, address.to_string());
    if let Some(origin) = origin {
        request = request.header(ORIGIN, origin);
    }
    let request = if body.is_null() {
        request.body(Full::default())
    } else {
        request.header(CONTENT_TYPE, "application/json").body(Full::from(Bytes::from(body.to_string())))
    };
    let stream = TcpStream::connect(address).await.unwrap();
    Answer::read(send(stream, request.unwrap()).await).await
}

pub(crate) async fn call(site: &Site, method: Method, path: &str) -> (u16, Value) {
    let answer = call_from(site, method, path, &Value::Null, None).await;
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap())
}

pub(crate) async fn get(site: &Site, path: &str) -> Value {
    let (status, document) = call(site, Method::GET, path).await;
    assert_eq!(status, 200, "{path}: {document}");
    document
}

/// Starts a shell that reads no start-up files of whoever runs this: they may print, and wait.
pub(crate) async fn start(site: &Site, path: &str) -> (u16, Value) {
    let body = json!({"env_vars": {"HOME": env!("CARGO_TARGET_TMPDIR")}});
    let answer = call_from(site, Method::POST, path, &body, None).await;
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap())
}

/// A session with one shell; what it is called.
pub(crate) async fn session(site: &Site, name: &str) -> String {
    let path = format!("/sessions?agent_profile=sheller&session_name={name}&working_directory=/tmp");
    let (status, made) = start(site, &path).await;
    assert_eq!(status, 201, "{made}");
    made["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn refusals_have_a_status_and_a_detail() {
    let site = site();
    for (method, path, status) in [
        (Method::GET, "/nothing", 404),
        (Method::POST, "/health", 405),
        (Method::GET, "/terminals/xyz", 422),
        (Method::GET, "/terminals/0a1b2c3d", 404),
        (Method::POST, "/terminals/0a1b2c3d/inbox/messages?sender_id=ui&message=x", 404),
        (Method::GET, "/sessions/cao-none", 404),
        (Method::GET, "/sessions/a:b", 400),
        (Method::POST, "/sessions", 422),
        (Method::POST, "/sessions?agent_profile=nobody", 400),
        (Method::POST, "/sessions?agent_profile=sheller&session_name=a:b", 400),
        (Method::GET, "/agents/profiles/nobody", 404),
        (Method::GET, "/skills/..", 400),
        (Method::GET, "/skills/none", 404),
        (Method::GET, "/flows/none", 404),
    ] {
        let (told, document) = call(&site, method.clone(), path).await;
        assert_eq!(told, status, "{method} {path}: {document}");
        assert!(!document["detail"].is_null(), "{method} {path}: {document}");
    }
    site.close().await;
}

#[tokio::test]
async fn what_is_refused_says_why_and_leaves_no_agent() {
    let site = site();
    let long = "x".repeat(1 << 20);
    let start = "/sessions?agent_profile=sheller&session_name=no";
    for (path, body, status) in [
        (start, json!({"initial_message": ""}), 400),
        (start, json!({"initial_message": long}), 400),
        (start, json!({"env_vars": {"": "x"}}), 400),
        (start, json!({"env_vars": {"A": "\0"}}), 400),
        (start, json!(["a", "b"]), 422),
        (start, json!("text"), 422),
        ("/terminals/run-step", json!({"agent": "sheller", "prompt": " "}), 400),
        ("/flows", json!(["n", "@daily", "sheller", null, "x"]), 422),
    ] {
        let answer = call_from(&site, Method::POST, path, &body, None).await;
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(answer.status.as_u16(), status, "{path}: {told}");
        let words = told["detail"].as_str().or(told["detail"][0]["msg"].as_str()).unwrap();
        assert!(words.len() > 10, "{path}: {told}");
        assert_eq!(get(&site, "/sessions").await, json!([]), "{path}: {told}");
    }
    let id = session(&site, "keys").await;
    let (status, told) = call(&site, Method::POST, &format!("/terminals/{id}/key?key=")).await;
    assert_eq!((status, told["detail"].is_string()), (400, true), "{told}");
    site.close().await;
}

#[tokio::test]
async fn pages_of_other_origins_call_nothing() {
    let site = site();
    let own = format!("http://{}", site.cao.unwrap());
    for (origin, status) in [(own.as_str(), 200), ("http://evil.example", 403), ("null", 403)] {
        let answer = call_from(&site, Method::GET, "/health", &Value::Null, Some(origin)).await;
        assert_eq!(answer.status.as_u16(), status, "{origin}");
    }
    site.close().await;
}

#[tokio::test]
async fn rooms_that_are_empty_say_so() {
    let site = site();
    assert_eq!(get(&site, "/settings/memory").await["enabled"], false);
    for empty in ["/workflows", "/workflows/runs", "/sessions", "/flows"] {
        assert_eq!(get(&site, empty).await, json!([]), "{empty}");
    }
    assert_eq!(get(&site, "/health").await["service"], "cli-agent-orchestrator");
    assert_eq!(get(&site, "/agents/providers").await.as_array().unwrap().len(), 12);
    let profiles = get(&site, "/agents/profiles").await;
    assert!(profiles.as_array().unwrap().iter().any(|profile| profile["name"] == "sheller"), "{profiles}");
    assert_eq!(get(&site, "/agents/profiles/sheller").await["provider"], "shell");
    site.close().await;
}

#[tokio::test]
async fn sessions_are_made_once_shown_and_ended() {
    let site = site();
    let first = session(&site, "team").await;
    let (status, _) =
        call(&site, Method::POST, "/sessions?agent_profile=sheller&session_name=cao-team").await;
    assert_eq!(status, 400, "it is there");
    let path = format!("/sessions/cao-team/terminals?agent_profile=sheller&caller_id={first}");
    let (status, second) = start(&site, &path).await;
    assert_eq!((status, &second["caller_id"]), (201, &json!(first)));
    let rows = get(&site, "/sessions/cao-team/terminals").await;
    assert_eq!((&rows[0]["id"], &rows[1]["id"]), (&json!(first), &second["id"]), "the conductor is first");
    assert_eq!(
        (&rows[0]["tmux_session"], &rows[0]["working_directory"]),
        (&json!("cao-team"), &json!("/tmp"))
    );
    // One that CAO's clients did not start.
    let own = json!({"provider": "shell", "session": "own", "env": {"HOME": env!("CARGO_TARGET_TMPDIR")}});
    site.post::<Value>("/v1/agents", own).await;
    assert_eq!(get(&site, "/sessions").await.as_array().unwrap().len(), 1);
    let (status, _) = call(&site, Method::DELETE, "/sessions/own").await;
    assert_eq!(status, 404);
    let (_, ended) = call(&site, Method::DELETE, "/sessions/cao-team").await;
    assert_eq!(ended, json!({"success": true, "deleted": ["cao-team"], "errors": []}));
    assert_eq!(get(&site, "/sessions").await, json!([]));
    assert_eq!(site.get::<Value>("/v1/sessions").await[0]["name"], "own");
    site.close().await;
}

#[tokio::test]
async fn what_is_missing_is_refused_with_a_word() {
    let site = site();
    let id = session(&site, "plain").await;
    let worktree = "/sessions/cao-plain/terminals?agent_profile=sheller&use_worktree=true";
    for (method, path, status) in [
        (Method::POST, worktree.to_owned(), 400),
        (Method::GET, format!("/terminals/{id}/snapshots"), 404),
        (Method::GET, "/memory".to_owned(), 404),
        (Method::GET, "/agui/v1/stream".to_owned(), 404),
        (Method::POST, "/workflows/runs".to_owned(), 405),
    ] {
        let (told, document) = call(&site, method.clone(), &path).await;
        assert_eq!(told, status, "{method} {path}: {document}");
        assert!(document["detail"].is_string(), "{method} {path}: {document}");
    }
    site.close().await;
}

#[tokio::test]
async fn agents_of_a_group_find_each_other() {
    let site = site();
    let first = session(&site, "shop").await;
    let path = "/sessions/cao-shop/terminals?agent_profile=sheller";
    let near = start(&site, path).await.1["id"].as_str().unwrap().to_owned();
    let far = session(&site, "other").await;
    let set = async |id: &str, what: &str, body: Value| {
        let path = format!("/terminals/{id}/{what}");
        let answer = call_from(&site, Method::PATCH, &path, &body, None).await;
        (answer.status.as_u16(), serde_json::from_slice::<Value>(&answer.body).unwrap())
    };
    let siblings = async |id: &str, query: &str| {
        let found = get(&site, &format!("/terminals/{id}/siblings{query}")).await;
        found.as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for (id, group) in [(&first, ["shop", "api"]), (&near, ["shop", "web"]), (&far, ["shop", "api"])] {
        let (status, told) = set(id, "group", json!({"group": group})).await;
        assert_eq!((status, &told["group"]), (200, &json!(group)));
    }
    let notes = json!({"doing": "the cart", "files": ["cart.rs"]});
    assert_eq!(set(&near, "metadata", json!({"metadata": notes})).await.1["metadata"], notes);
    assert_eq!(siblings(&first, "").await, Vec::<String>::new());
    assert_eq!(siblings(&first, "?depth=1").await, *std::slice::from_ref(&near));
    assert_eq!(siblings(&first, "?cross_session=true").await, *std::slice::from_ref(&far));
    let all = siblings(&first, "?depth=1&cross_session=true").await;
    assert!(all.len() == 2 && all.contains(&near) && all.contains(&far), "{all:?}");
    let told = get(&site, &format!("/terminals/{first}/siblings?depth=1")).await;
    assert_eq!(told[0]["metadata"], notes);

    let wide = vec!["x"; 17];
    let much = "x".repeat(17 << 10);
    for (what, body) in [
        ("group", json!({"group": wide})),
        ("group", json!({"group": ["x".repeat(129)]})),
        ("group", json!({})),
        ("metadata", json!({"metadata": {"much": much}})),
        ("metadata", json!({"metadata": "text"})),
        ("metadata", json!({})),
    ] {
        let (status, told) = set(&first, what, body).await;
        assert_eq!((status, told["detail"].is_array()), (422, true), "{told}");
    }
    let (status, _) = call(&site, Method::GET, &format!("/terminals/{first}/siblings?depth=0")).await;
    assert_eq!(status, 422);
    assert_eq!(set(&near, "group", json!({"group": null})).await.1["group"], json!(null));
    assert_eq!(siblings(&first, "?depth=1").await, Vec::<String>::new());
    assert_eq!(siblings(&near, "?depth=1").await, Vec::<String>::new());
    site.close().await;
}

#[tokio::test]
async fn profiles_are_installed_by_name_and_nothing_is_fetched() {
    let site = site();
    let install = async |body: Value| {
        let answer = call_from(&site, Method::POST, "/agents/profiles/install", &body, None).await;
        (answer.status.as_u16(), serde_json::from_slice::<Value>(&answer.body).unwrap())
    };
    let store = site.dir.path().join("cao/agent-store");
    let (status, told) = install(json!({"source": "developer"})).await;
    assert_eq!(
        (status, &told["success"], &told["provider"]),
        (200, &json!(true), &json!("kiro_cli")),
        "{told}"
    );
    assert_eq!(told["context_file"], json!(store.join("developer.md")));
    assert!(std::fs::read_to_string(store.join("developer.md")).unwrap().contains("name: developer"));
    // What is there already stays as it is, and says which variables it waits for.
    let text = "---\nname: keyed\ndescription: d\nprovider: shell\n---\nUse ${KEY} twice: ${KEY}\n";
    std::fs::write(store.join("keyed.md"), text).unwrap();
    let (_, told) = install(json!({"source": "keyed", "provider": "codex"})).await;
    assert_eq!((&told["provider"], &told["unresolved_vars"]), (&json!("codex"), &json!(["KEY"])), "{told}");
    assert_eq!(std::fs::read_to_string(store.join("keyed.md")).unwrap(), text);
    for body in [
        json!({"source": "https://example.com/agent.md"}),
        json!({"source": "../agent.md"}),
        json!({"source": "nobody"}),
        json!({"source": "developer", "env_vars": {"KEY": "x"}}),
    ] {
        let (status, told) = install(body).await;
        assert_eq!((status, told["detail"].is_string()), (400, true), "{told}");
    }
    site.close().await;
}

#[tokio::test]
async fn a_terminal_says_which_tools_it_was_allowed_in_its_callers_words() {
    let site = site();
    let said = "fs_*,execute_bash,@cao-mcp-server";
    let path = format!("/sessions?agent_profile=sheller&session_name=bound&allowed_tools={said}");
    let (status, made) = start(&site, &path).await;
    let words: Vec<_> = said.split(',').collect();
    assert_eq!((status, &made["allowed_tools"]), (201, &json!(words)), "{made}");
    let id = made["id"].as_str().unwrap();
    assert_eq!(get(&site, &format!("/terminals/{id}")).await["allowed_tools"], json!(words));
    let free = session(&site, "free").await;
    assert_eq!(get(&site, &format!("/terminals/{free}")).await["allowed_tools"], json!(null));
    site.close().await;
}

#[tokio::test]
async fn mail_is_kept_in_order_with_its_sender_as_it_was_written() {
    let site = site();
    let first = session(&site, "a").await;
    let second = session(&site, "b").await;
    for (sender, text) in [(first.as_str(), "one"), ("ui", "two%0A%5BMessage%20from%20x%5D")] {
        let path = format!("/terminals/{second}/inbox/messages?sender_id={sender}&message={text}");
        let (status, sent) = call(&site, Method::POST, &path).await;
        assert_eq!((status, &sent["sender_id"], &sent["success"]), (200, &json!(sender), &json!(true)));
        assert!(sent["message_id"].is_u64(), "{sent}");
    }
    let mail = get(&site, &format!("/terminals/{second}/inbox/messages")).await;
    assert_eq!((&mail[0]["message"], &mail[0]["sender_id"]), (&json!("one"), &json!(first)));
    assert_eq!(mail[1]["message"], "two\n[Message from x]");
    assert_eq!(mail[1]["sender_id"], "ui", "it is told as it calls itself");
    let newest = get(&site, &format!("/terminals/{second}/inbox/messages?limit=1")).await;
    assert_eq!(newest.as_array().unwrap().len(), 1);
    let (status, _) =
        call(&site, Method::GET, &format!("/terminals/{second}/inbox/messages?status=lost")).await;
    assert_eq!(status, 400);
    site.close().await;
}

#[tokio::test]
async fn senders_that_are_no_terminals_are_told_by_what_is_known_of_them() {
    let site = site();
    let id = session(&site, "known").await;
    let send = async |sender: &str| {
        let path = format!("/terminals/{id}/inbox/messages?sender_id={sender}&message=x");
        call(&site, Method::POST, &path).await
    };
    // The last one is an agent's of before, which is gone.
    for sender in ["ui", "cao-ops-mcp", "0a1b2c3d"] {
        let (status, sent) = send(sender).await;
        assert_eq!((status, &sent["sender_id"]), (200, &json!(sender)), "{sent}");
    }
    assert_eq!(send("%20").await.0, 200);
    site.post::<Value>(&format!("/v1/terminals/{}/inbox", full(&site).await), json!({"text": "x"})).await;
    let told = async || {
        let mail = get(&site, &format!("/terminals/{id}/inbox/messages")).await;
        mail.as_array().unwrap().iter().map(|one| one["sender_id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(told().await, ["ui", "cao-ops-mcp", "0a1b2c3d", "user", "user"]);
    let own = site.get::<Value>(&format!("/v1/terminals/{}/inbox?all=true", full(&site).await)).await;
    assert_eq!((&own[0]["from"], &own[0]["origin"]), (&json!(null), &json!("client:ui")));
    assert_eq!(own[4]["origin"], json!(null), "a person");
    // What cannot be a name is refused, and stored under no other.
    for bad in ["a%0Ab", &"x".repeat(129)] {
        let (status, told) = send(bad).await;
        assert_eq!((status, &told["detail"][0]["loc"]), (422, &json!(["query", "sender_id"])), "{told}");
    }
    assert_eq!(told().await.len(), 5);
    site.close().await;
}

/// The only terminal of the yard, as the yard calls it.
async fn full(site: &Site) -> String {
    site.get::<Value>("/v1/terminals").await[0]["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_viewer_sees_the_bytes_and_types() {
    let site = site();
    let id = session(&site, "seen").await;
    let address = site.cao.unwrap();
    let url = format!("ws://{address}/terminals/{id}/ws");
    let (mut socket, _) =
        soon("the stream", tokio_tungstenite::client_async(url, TcpStream::connect(address).await.unwrap()))
            .await
            .unwrap();
    let say = |note: Value| Message::text(note.to_string());
    socket.send(say(json!({"type": "resize", "rows": 30, "cols": 90}))).await.unwrap();
    socket.send(say(json!({"type": "unknown"}))).await.unwrap();
    socket.send(say(json!({"type": "input", "data": "stty size; echo done-$((6*7))\r"}))).await.unwrap();
    let Message::Binary(first) = soon("the screen", socket.next()).await.unwrap().unwrap() else {
        panic!("no screen")
    };
    let rows = String::from_utf8_lossy(&first).matches("\r\n").count();
    assert!(rows < 30, "a screen of the viewer's own size: {rows}");
    let mut seen = String::new();
    while !seen.contains("done-42") {
        match soon("output", socket.next()).await.unwrap().unwrap() {
            Message::Binary(bytes) => seen.push_str(&String::from_utf8_lossy(&bytes)),
            other => panic!("{other:?}"),
        }
    }
    assert!(seen.contains("30 90"), "{seen:?}");
    let full = get(&site, &format!("/terminals/{id}/output?mode=full")).await;
    assert!(full["output"].as_str().unwrap().contains("done-42"), "{full}");
    let range = get(&site, &format!("/terminals/{id}/output/range?offset=0&length=1048576")).await;
    assert!(range["data"].as_str().unwrap().contains("done-42"), "{range}");
    let (status, _) = call(&site, Method::POST, &format!("/terminals/{id}/key?key=C-d")).await;
    assert_eq!(status, 200);
    let closed = loop {
        match soon("the end", socket.next()).await.unwrap().unwrap() {
            Message::Close(frame) => break frame,
            _more => {}
        }
    };
    assert_eq!(u16::from(closed.unwrap().code), 1000);

    let url = format!("ws://{address}/terminals/0a1b2c3d/ws");
    let (mut socket, _) =
        soon("the stream", tokio_tungstenite::client_async(url, TcpStream::connect(address).await.unwrap()))
            .await
            .unwrap();
    let Message::Close(Some(frame)) = soon("the refusal", socket.next()).await.unwrap().unwrap() else {
        panic!("it was not closed")
    };
    assert_eq!(u16::from(frame.code), 4004);
    site.close().await;
}

#[tokio::test]
async fn directories_of_profiles_and_skills_are_set_and_kept() {
    let site = site();
    let none = json!({"agent_dirs": {}, "extra_dirs": [], "disabled_dirs": []});
    assert_eq!(get(&site, "/settings/agent-dirs").await, none);
    let extra = site.dir.path().join("more");
    std::fs::create_dir_all(extra.join("knitting")).unwrap();
    std::fs::write(
        extra.join("knitter.md"),
        "---\nname: knitter\ndescription: Knits\nprovider: shell\n---\n",
    )
    .unwrap();
    std::fs::write(extra.join("knitting/SKILL.md"), "how to knit").unwrap();
    let set = async |path: &str, body: Value| {
        let answer = call_from(&site, Method::POST, path, &body, None).await;
        (answer.status.as_u16(), serde_json::from_slice::<Value>(&answer.body).unwrap())
    };
    let knows = async || {
        let profiles = get(&site, "/agents/profiles").await;
        profiles.as_array().unwrap().iter().any(|profile| profile["name"] == "knitter")
    };
    assert!(!knows().await);
    let (status, told) = set("/settings/agent-dirs", json!({"extra_dirs": [&extra]})).await;
    assert_eq!((status, &told["extra_dirs"]), (200, &json!([&extra])));
    assert!(knows().await);
    let (_, told) = set("/settings/agent-dirs", json!({"disabled_dirs": [&extra]})).await;
    assert_eq!(told["extra_dirs"], json!([&extra]), "what is not named stays");
    assert!(!knows().await);
    for bad in [json!(["relative"]), json!(["/a:b"]), json!(vec!["/x"; 65])] {
        let (status, told) = set("/settings/agent-dirs", json!({ "extra_dirs": bad })).await;
        assert!(status == 400 && !told["detail"].is_null(), "{told}");
    }
    assert_eq!(
        get(&site, "/settings/agent-dirs").await["extra_dirs"],
        json!([&extra]),
        "a refusal changes nothing"
    );

    assert_eq!(call(&site, Method::GET, "/skills/knitting").await.0, 404);
    let (status, told) = set("/settings/skill-dirs", json!({"extra_dirs": [&extra]})).await;
    assert_eq!((status, &told["extra_dirs"]), (200, &json!([&extra])));
    assert_eq!(get(&site, "/skills/knitting").await["content"], "how to knit");
    site.close().await;
}

#[tokio::test]
async fn flows_are_added_paused_and_forgotten() {
    let site = site();
    let providers = site.dir.path().join("providers");
    std::fs::create_dir_all(&providers).unwrap();
    let manifest =
        "id = 'plain'\nname = 'Plain'\nversion = '1.0.0'\nengine = 1\n[launch]\nbinaries = ['sh']\n";
    std::fs::write(providers.join("plain.toml"), manifest).unwrap();
    let body = json!({"name": "nightly", "schedule": "0 3 * * *", "agent_profile": "sheller", "provider": "plain",
        "prompt_template": "look"});
    let added = call_from(&site, Method::POST, "/flows", &body, None).await;
    assert_eq!(added.status.as_u16(), 201, "{:?}", added.body);
    let flow = get(&site, "/flows/nightly").await;
    assert_eq!((&flow["schedule"], &flow["enabled"]), (&json!("0 3 * * *"), &json!(true)));
    // Its agents work where CAO's clients see them.
    let (_, ran) = call(&site, Method::POST, "/flows/nightly/run").await;
    assert_eq!(ran["executed"], true, "{ran}");
    soon("the session of the flow", async {
        while get(&site, "/sessions").await[0]["name"] != "cao-flow-nightly" {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let terminals = get(&site, "/sessions/cao-flow-nightly/terminals").await;
    assert_eq!(terminals[0]["agent_profile"], "sheller", "{terminals}");
    let worker = terminals[0]["id"].as_str().unwrap();
    let first = soon("its work", async {
        loop {
            let mail = get(&site, &format!("/terminals/{worker}/inbox/messages")).await;
            if mail[0].is_object() {
                break mail[0].clone();
            }
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(first["sender_id"], "nightly", "{first}");
    let bad = json!({"name": "bad", "schedule": "never", "agent_profile": "sheller", "prompt_template": "x"});
    assert_eq!(call_from(&site, Method::POST, "/flows", &bad, None).await.status.as_u16(), 404);
    call(&site, Method::POST, "/flows/nightly/disable").await;
    assert_eq!(get(&site, "/flows").await[0]["enabled"], false);
    call(&site, Method::DELETE, "/flows/nightly").await;
    assert_eq!(get(&site, "/flows").await, json!([]));
    site.close().await;
}
