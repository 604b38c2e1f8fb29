//! The MCP server that CAO gives to agents: used by agents in their terminals, and in the place of such agents.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::mcp::Client;
use crate::site::Site;

/// What an agent in this terminal would have.
fn server_of(site: &Site, terminal: &str) -> Client {
    let mut command = site.program("cao-mcp-server");
    command.env("CAO_TERMINAL_ID", terminal);
    Client::start(command)
}

/// The mail of a terminal, once `wanted` holds.
fn mail(site: &Site, terminal: &str, wanted: impl Fn(&[Value]) -> bool) -> Vec<Value> {
    let began = Instant::now();
    loop {
        let mail = site.get(&format!("/terminals/{terminal}/inbox/messages?limit=50"));
        let mail = mail.as_array().unwrap().clone();
        if wanted(&mail) {
            return mail;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "{mail:?}");
    }
}

fn status_becomes(site: &Site, terminal: &str, status: &str) {
    let began = Instant::now();
    loop {
        let told = site.get(&format!("/terminals/{terminal}"));
        if told["status"] == status {
            return;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "it is not {status}: {told}");
    }
}

#[test]
fn agents_hand_off_assign_tell_answer_and_delete() {
    let Some(site) = Site::start() else { return };
    site.cao(&["launch", "--agents", "helper", "--headless", "--auto-approve", "--session-name", "team"]);
    let boss = site.get("/sessions/cao-team/terminals")[0]["id"].as_str().unwrap().to_owned();
    let mut tools = server_of(&site, &boss);

    let done =
        tools.call("handoff", &json!({"agent_profile": "helper", "message": "compute", "timeout": 120}));
    assert_eq!(done["success"], true, "{done}");
    assert!(done["output"].as_str().unwrap().contains("You said: compute"), "{done}");

    let assigned = tools.call("assign", &json!({"agent_profile": "helper", "message": "count"}));
    assert_eq!(assigned["success"], true, "{assigned}");
    let worker = assigned["terminal_id"].as_str().unwrap().to_owned();
    let arrived = mail(&site, &worker, |mail| mail.iter().any(|one| one["status"] == "delivered"));
    let text = arrived[0]["message"].as_str().unwrap();
    assert!(text.starts_with("count") && text.contains(&format!("terminal {boss}")), "{text}");
    assert_eq!(arrived[0]["sender_id"], boss.as_str());
    assert_eq!(site.get(&format!("/terminals/{worker}"))["caller_id"], boss.as_str());

    let told = tools.call("send_message", &json!({"receiver_id": worker, "message": "and now?"}));
    assert_eq!(told["success"], true, "{told}");
    let arrived = mail(&site, &worker, |mail| mail.len() == 2 && mail[1]["status"] == "delivered");
    assert!(arrived[1]["message"].as_str().unwrap().starts_with("and now?"), "{arrived:?}");
    // Back, to whom nobody names: who created it is on record.
    let back = server_of(&site, &worker).call("send_message", &json!({"message": "it is 42"}));
    assert_eq!(back["success"], true, "{back}");
    let arrived = mail(&site, &boss, |mail| mail.iter().any(|one| one["status"] == "delivered"));
    assert!(arrived[0]["message"].as_str().unwrap().starts_with("it is 42"), "{arrived:?}");
    assert_eq!(arrived[0]["sender_id"], worker.as_str());

    let asks = tools.call("assign", &json!({"agent_profile": "asker", "message": "remove it"}));
    let asker = asks["terminal_id"].as_str().unwrap_or_else(|| panic!("{asks}")).to_owned();
    status_becomes(&site, &asker, "waiting_user_answer");
    let answered = tools.call("answer_user_prompt", &json!({"terminal_id": asker, "answer": "1"}));
    assert_eq!(answered["success"], true, "{answered}");
    status_becomes(&site, &asker, "completed");
    let output = site.get(&format!("/terminals/{asker}/output?mode=last"));
    assert!(output["output"].as_str().unwrap().contains("It was allowed."), "{output}");

    let deleted = tools.call("delete_terminal", &json!({"terminal_id": worker}));
    assert_eq!(deleted["success"], true, "{deleted}");
    let left = site.get("/sessions/cao-team/terminals");
    let left: Vec<_> = left.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
    assert_eq!(left, [boss.as_str(), asker.as_str()]);
    assert_eq!(
        site.windows("cao-team"),
        [format!("helper-{}", &boss[..4]), format!("asker-{}", &asker[..4])]
    );
}

/// Has the conductor of a session use a tool of the MCP server that it starts itself; what the tool answered.
fn used(site: &Site, session: &str, tool: &str, arguments: &Value) -> Value {
    let earlier = site.answers("lead").len();
    site.cao(&["session", "send", session, &format!("use {tool} {arguments}")]);
    let answers = site.answers("lead");
    assert_eq!(answers.len(), earlier + 1, "{tool}: {answers:?}");
    answers[earlier].clone()
}

#[test]
fn agents_in_their_terminals_start_the_server_themselves_and_work_together() {
    let Some(site) = Site::start() else { return };
    site.cao(&["launch", "--agents", "lead", "--headless", "--auto-approve", "--session-name", "field"]);
    let boss = site.get("/sessions/cao-field/terminals")[0]["id"].as_str().unwrap().to_owned();
    let use_tool = |tool: &str, arguments: &Value| used(&site, "cao-field", tool, arguments);

    let work = json!({"agent_profile": "helper", "message": "compute", "timeout": 120});
    let done = use_tool("handoff", &work);
    assert_eq!(done["success"], true, "{done}");
    assert!(done["output"].as_str().unwrap().contains("You said: compute"), "{done}");

    // The worker answers without naming anybody, then by name: each time with its own tools.
    let work = json!({"agent_profile": "hand", "message": r#"use send_message {"message": "it is 42"}"#});
    let assigned = use_tool("assign", &work);
    assert_eq!(assigned["success"], true, "{assigned}");
    let worker = assigned["terminal_id"].as_str().unwrap().to_owned();
    assert_eq!(site.get(&format!("/terminals/{worker}"))["caller_id"], boss.as_str());
    let from_worker = |mail: &[Value]| -> Vec<String> {
        let theirs = mail.iter().filter(|one| one["sender_id"] == worker.as_str());
        let theirs = theirs.filter(|one| one["status"] == "delivered");
        theirs.map(|one| one["message"].as_str().unwrap().to_owned()).collect()
    };
    let arrived = from_worker(&mail(&site, &boss, |mail| from_worker(mail).len() == 1));
    assert!(arrived[0].starts_with("it is 42"), "{arrived:?}");
    let back = json!({"receiver_id": boss, "message": "and 43"});
    let told = json!({"receiver_id": worker, "message": format!("use send_message {back}")});
    assert_eq!(use_tool("send_message", &told)["success"], true);
    let arrived = from_worker(&mail(&site, &boss, |mail| from_worker(mail).len() == 2));
    assert!(arrived[1].starts_with("and 43"), "{arrived:?}");
    status_becomes(&site, &worker, "completed");
    let used: Vec<_> = site.answers("hand").iter().map(|answer| answer["success"].clone()).collect();
    assert_eq!(used, [json!(true), json!(true)]);

    let asks = use_tool("assign", &json!({"agent_profile": "asker", "message": "remove it"}));
    let asker = asks["terminal_id"].as_str().unwrap_or_else(|| panic!("{asks}")).to_owned();
    status_becomes(&site, &asker, "waiting_user_answer");
    let answered = use_tool("answer_user_prompt", &json!({"terminal_id": asker, "answer": "1"}));
    assert_eq!(answered["success"], true, "{answered}");
    status_becomes(&site, &asker, "completed");

    let deleted = use_tool("delete_terminal", &json!({"terminal_id": worker}));
    assert_eq!(deleted["success"], true, "{deleted}");
    let left = [("lead", &boss), ("asker", &asker)].map(|(profile, id)| format!("{profile}-{}", &id[..4]));
    assert_eq!(site.windows("cao-field"), left);
}

#[test]
fn agents_of_a_group_find_each_other() {
    let Some(site) = Site::start() else { return };
    let launch = ["launch", "--agents", "helper", "--headless", "--auto-approve", "--session-name", "shop"];
    site.cao(
        &[&launch[..], &["--allowed-tools", "discovery", "--allowed-tools", "@cao-mcp-server"]].concat(),
    );
    let first = site.get("/sessions/cao-shop/terminals")[0]["id"].as_str().unwrap().to_owned();
    let path = "/sessions/cao-shop/terminals?agent_profile=helper&allowed_tools=discovery";
    let second = site.call("POST", path, "{}")["id"].as_str().unwrap().to_owned();
    for (id, part) in [(&first, "api"), (&second, "web")] {
        let body = json!({"group": ["shop", part]}).to_string();
        site.call("PATCH", &format!("/terminals/{id}/group"), &body);
    }
    let notes = json!({"doing": "the cart"});
    let told = server_of(&site, &second).call("update_metadata", &json!({"metadata": notes}));
    assert_eq!(told["success"], true, "{told}");
    let found = server_of(&site, &first).call("list_siblings", &json!({"depth": 1}));
    assert_eq!(
        (&found["siblings"][0]["id"], &found["siblings"][0]["metadata"]),
        (&json!(second), &notes),
        "{found}"
    );
    assert_eq!(found["siblings"].as_array().unwrap().len(), 1);
}

#[test]
fn an_agent_delegates_only_with_the_tools_for_it() {
    let Some(site) = Site::start() else { return };
    let launch = ["launch", "--agents", "helper", "--headless", "--auto-approve", "--session-name", "bound"];
    site.cao(&[&launch[..], &["--allowed-tools", "fs_read"]].concat());
    let bound = site.get("/sessions/cao-bound/terminals")[0]["id"].as_str().unwrap().to_owned();
    let told =
        server_of(&site, &bound).call("assign", &json!({"agent_profile": "helper", "message": "count"}));
    assert_eq!(told["success"], false, "{told}");
    assert!(told.to_string().contains("not permitted"), "{told}");
    assert_eq!(site.get("/sessions/cao-bound/terminals").as_array().unwrap().len(), 1);
}
