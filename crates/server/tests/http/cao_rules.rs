//! What CAO's clients rely on and no schema of theirs says.

use futures_util::StreamExt;
use hyper::Method;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::cao::{call, call_from, get, start};
use crate::site::{Site, soon};

/// An agent that does what a shell does, and says when it works and when it is done.
const WORKER: &str = r#"
import os, subprocess, sys

def say(state, prompt=""):
    print(f"\033]7501;state={state}\033\\" + prompt, end="", flush=True)

say("idle", "> ")
for line in sys.stdin:
    say("working")
    match line.split():
        case ["cd", directory]:
            os.chdir(directory)
        case ["exit", code]:
            sys.exit(int(code))
        case ["ask"]:
            say("blocked:kind=permission", "sure? ")
            print("answered " + input())
        case _:
            subprocess.run(line, shell=True)
    say("done", "> ")
"#;

/// A site with a profile whose agents are of that kind.
fn site() -> Site {
    let site = crate::cao::site();
    let manifest = format!(
        "id = 'worker'\nname = 'Worker'\nversion = '1.0.0'\nengine = 1\n[launch]\nbinaries = ['/usr/bin/python3', 'python3']\n\
         args = ['-c', {}]\n[ready]\nsettle_ms = 0\nfirst_settle_ms = 0\nquiet_ms = 300\nunseen_work_ms = 0\n",
        json!(WORKER)
    );
    let providers = site.dir.path().join("providers");
    std::fs::create_dir_all(&providers).unwrap();
    std::fs::write(providers.join("worker.toml"), manifest).unwrap();
    let profile = "---\nname: worker\ndescription: Works\nprovider: worker\n---\n";
    std::fs::write(site.dir.path().join("cao/agent-store/worker.md"), profile).unwrap();
    site
}

/// A session with one worker; what it is called.
async fn session(site: &Site, name: &str) -> String {
    let path = format!("/sessions?agent_profile=worker&session_name={name}&working_directory=/tmp");
    let (status, made) = start(site, &path).await;
    assert_eq!(status, 201, "{made}");
    made["id"].as_str().unwrap().to_owned()
}

async fn post(site: &Site, path: &str, body: Value) -> (u16, Value) {
    let answer = call_from(site, Method::POST, path, &body, None).await;
    (answer.status.as_u16(), serde_json::from_slice(&answer.body).unwrap())
}

/// What is told of a terminal, once it is told as this.
async fn until_status(site: &Site, id: &str, status: &str) -> Value {
    soon("the status", async {
        loop {
            let told = get(site, &format!("/terminals/{id}")).await;
            if told["status"] == status {
                return told;
            }
            tokio::task::yield_now().await;
        }
    })
    .await
}

#[tokio::test]
async fn a_step_says_how_it_ended_and_by_which_terminal() {
    let site = site();
    let step = async |fields: Value| {
        let mut body = json!({"agent": "worker", "provider": "worker"});
        body.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        post(&site, "/terminals/run-step", body).await
    };
    let status_of = async |told: &Value| {
        let id = told["terminal_id"].as_str().unwrap_or_else(|| panic!("{told}"));
        call(&site, Method::GET, &format!("/terminals/{id}")).await.0
    };
    let (status, done) = step(json!({"prompt": "echo step-$((6*7))"})).await;
    assert_eq!(status, 200, "{done}");
    assert!(done["last_message"].as_str().unwrap().contains("step-42"), "{done}");
    assert_eq!((&done["status"], &done["replayed"]), (&json!("completed"), &json!(false)));
    soon("the end of the worker", async {
        while status_of(&done).await != 404 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    let (status, kept) = step(json!({"prompt": "true; echo kept", "teardown": false})).await;
    assert_eq!((status, status_of(&kept).await), (200, 200), "{kept}");

    let (status, late) = step(json!({"prompt": "sleep 600", "timeout": 0.5})).await;
    assert_eq!((status, &late["detail"]["kind"]), (504, &json!("timeout")), "{late}");
    assert!(late["detail"]["message"].as_str().unwrap().contains("ptyard result h"), "{late}");
    assert_eq!(status_of(&late["detail"]).await, 200, "it goes on");
    let (status, broken) = step(json!({"prompt": "exit 3"})).await;
    assert_eq!((status, &broken["detail"]["kind"]), (502, &json!("error")), "{broken}");
    assert!(broken["detail"]["terminal_id"].is_string() && broken["detail"]["message"].is_string());

    for (fields, refused) in [
        (json!({"prompt": "x", "timeout": 0}), 422),
        (json!({"prompt": "x", "timeout": 86_401}), 422),
        (json!({"prompt": "x", "timeout": "soon"}), 422),
        (json!({"prompt": "x", "session_name": "cao-none"}), 404),
        (json!({"prompt": "x", "reuse_terminal_id": "0a1b2c3d"}), 400),
        (json!({"prompt": "x", "use_worktree": true}), 400),
    ] {
        let (status, told) = step(fields.clone()).await;
        assert_eq!((status, told["detail"].is_null()), (refused, false), "{fields}: {told}");
    }
    site.close().await;
}

#[tokio::test]
async fn first_words_are_taken_where_the_start_is_deferred_and_told_as_work() {
    let site = site();
    let boss = session(&site, "team").await;
    let path = format!("/sessions/cao-team/terminals?agent_profile=worker&caller_id={boss}");
    let words = json!({"initial_message": "true", "initial_message_orchestration_type": "assign"});
    for not_deferred in [path.clone(), format!("{path}&defer_init=false")] {
        let (status, told) = post(&site, &not_deferred, words.clone()).await;
        assert_eq!((status, told["detail"].is_string()), (400, true), "{told}");
    }
    assert_eq!(get(&site, "/sessions/cao-team/terminals").await.as_array().unwrap().len(), 1);
    let (status, made) = post(&site, &format!("{path}&defer_init=true"), words).await;
    assert_eq!((status, &made["caller_id"]), (201, &json!(boss)), "{made}");
    let id = made["id"].as_str().unwrap();
    let mail = get(&site, &format!("/terminals/{id}/inbox/messages")).await;
    assert_eq!((&mail[0]["message"], &mail[0]["sender_id"]), (&json!("true"), &json!(boss)));
    let told = until_status(&site, id, "completed").await;
    assert_eq!(told["initial_delivery"]["state"], "delivered", "{told}");
    let own = site.get::<Value>("/v1/sessions").await;
    let worker = own[0]["members"][1]["id"].as_str().unwrap();
    let own = site.get::<Value>(&format!("/v1/terminals/{worker}/inbox?all=true")).await;
    assert_eq!(own[0]["kind"], "assign", "{own}");
    // A terminal to which nothing was said has nothing that could arrive.
    assert_eq!(get(&site, &format!("/terminals/{boss}")).await["initial_delivery"], json!(null));
    site.close().await;
}

#[tokio::test]
async fn an_inbox_is_told_from_its_oldest_message_on_ten_at_a_time() {
    let site = site();
    let id = session(&site, "mail").await;
    for number in 0..12 {
        let path = format!("/terminals/{id}/inbox/messages?sender_id=ui&message=true%20{number}");
        assert_eq!(call(&site, Method::POST, &path).await.0, 200);
    }
    let list = async |query: &str| {
        let mail = get(&site, &format!("/terminals/{id}/inbox/messages{query}")).await;
        mail.as_array()
            .unwrap()
            .iter()
            .map(|one| one["message"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    let all: Vec<String> = (0..12).map(|number| format!("true {number}")).collect();
    assert_eq!(list("").await, all[..10]);
    assert_eq!(list("?limit=100").await, all);
    for bad in [0, 101] {
        let (status, told) =
            call(&site, Method::GET, &format!("/terminals/{id}/inbox/messages?limit={bad}")).await;
        assert_eq!((status, &told["detail"][0]["loc"]), (422, &json!(["query", "limit"])), "{told}");
    }
    // Each message is of one of the words that its clients know.
    soon("all mail", async {
        while list("?limit=100&status=delivered").await != all {
            let counts =
                (list("?limit=100&status=pending").await.len(), list("?limit=100&status=failed").await.len());
            assert!(counts.0 <= 12 && counts.1 == 0, "{counts:?}");
        }
    })
    .await;
    assert_eq!(list("?limit=100&status=pending").await, [""; 0]);
    site.close().await;
}

#[tokio::test]
async fn a_terminal_tells_where_it_is_is_typed_into_and_ends_once() {
    let site = site();
    let id = session(&site, "life").await;
    let terminal = format!("/terminals/{id}");
    assert_eq!(until_status(&site, &id, "idle").await["session_name"], "cao-life");
    // What is typed stands in the query, and nowhere else.
    assert_eq!(post(&site, &format!("{terminal}/input"), json!({"message": "cd /usr"})).await.0, 422);
    assert_eq!(
        post(&site, &format!("{terminal}/inbox/messages"), json!({"sender_id": "ui", "message": "x"}))
            .await
            .0,
        422
    );
    assert_eq!(get(&site, &format!("{terminal}/working-directory")).await["working_directory"], "/tmp");
    assert_eq!(
        call(&site, Method::POST, &format!("{terminal}/input?message=cd%20/usr")).await,
        (200, json!({"success": true}))
    );
    until_status(&site, &id, "completed").await;
    assert_eq!(
        get(&site, &format!("{terminal}/working-directory")).await["working_directory"],
        "/usr",
        "where it is now"
    );
    let context =
        call_from(&site, Method::GET, &format!("{terminal}/memory-context"), &Value::Null, None).await;
    assert_eq!((context.status.as_u16(), context.body.len()), (200, 0));
    for bad in ["offset=0&length=0", "offset=0&length=1048577", "length=1", "offset=-1&length=1"] {
        assert_eq!(call(&site, Method::GET, &format!("{terminal}/output/range?{bad}")).await.0, 422, "{bad}");
    }
    let (status, typed) = call(&site, Method::POST, &format!("{terminal}/exit")).await;
    assert_eq!((status, typed), (200, json!({"success": true})));
    soon("the typed word", async {
        while !get(&site, &format!("{terminal}/output?mode=full")).await["output"]
            .as_str()
            .unwrap()
            .contains("/exit")
        {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(call(&site, Method::POST, &format!("{terminal}/key?key=C-d")).await.0, 200);
    until_status(&site, &id, "error").await;
    let (status, told) = call(&site, Method::POST, &format!("{terminal}/input?message=x")).await;
    assert_eq!((status, told["detail"].is_string()), (409, true), "{told}");
    assert_eq!(call(&site, Method::DELETE, &terminal).await, (200, json!({"success": true})));
    assert_eq!(call(&site, Method::DELETE, &terminal).await.0, 404);
    assert_eq!(call(&site, Method::GET, &terminal).await.0, 404);
    site.close().await;
}

#[tokio::test]
async fn a_session_is_made_by_one_of_two_under_its_full_name() {
    let site = site();
    let path = "/sessions?agent_profile=worker&session_name=race";
    let both = tokio::join!(start(&site, path), start(&site, path));
    let mut statuses = [both.0.0, both.1.0];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 400]);
    let sessions = get(&site, "/sessions").await;
    assert_eq!((&sessions[0]["name"], &sessions[1]), (&json!("cao-race"), &json!(null)), "{sessions}");
    assert_eq!(get(&site, "/sessions/cao-race").await["terminals"].as_array().unwrap().len(), 1);
    assert_eq!(call(&site, Method::GET, "/sessions/race").await.0, 404, "the prefix is part of it");
    let (status, unnamed) = start(&site, "/sessions?agent_profile=worker").await;
    let name = unnamed["session_name"].as_str().unwrap();
    let digits = name.strip_prefix("cao-").unwrap_or_else(|| panic!("{unnamed}"));
    assert!(
        status == 201 && digits.len() == 8 && digits.bytes().all(|byte| byte.is_ascii_hexdigit()),
        "{name}"
    );
    site.close().await;
}

#[tokio::test]
async fn pages_of_other_origins_open_no_terminal() {
    let site = site();
    let id = session(&site, "shut").await;
    let address = site.cao.unwrap();
    let open = async |origin: &str| {
        let mut request = format!("ws://{address}/terminals/{id}/ws").into_client_request().unwrap();
        request.headers_mut().insert("origin", origin.parse().unwrap());
        let stream = TcpStream::connect(address).await.unwrap();
        soon("the stream", tokio_tungstenite::client_async(request, stream)).await.map(drop)
    };
    assert!(open("http://evil.example").await.is_err());
    assert!(open(&format!("http://{address}")).await.is_ok());
    site.close().await;
}

#[tokio::test]
async fn an_agent_that_asks_is_answered_and_gets_no_work() {
    let site = site();
    let id = session(&site, "asks").await;
    until_status(&site, &id, "idle").await;
    let input =
        async |query: &str| call(&site, Method::POST, &format!("/terminals/{id}/input?{query}")).await;
    assert_eq!(input("message=ask").await.0, 200);
    until_status(&site, &id, "waiting_user_answer").await;
    for kind in ["assign", "handoff"] {
        let (status, told) = input(&format!("message=true&orchestration_type={kind}")).await;
        assert_eq!((status, told["detail"].is_string()), (409, true), "{told}");
    }
    assert_eq!(input("message=yes").await, (200, json!({"success": true})));
    until_status(&site, &id, "completed").await;
    let output = get(&site, &format!("/terminals/{id}/output?mode=full")).await;
    assert!(output["output"].as_str().unwrap().contains("answered yes"), "{output}");
    site.close().await;
}

#[tokio::test]
async fn a_viewer_is_first_shown_what_stands_there() {
    let site = site();
    let id = session(&site, "shown").await;
    until_status(&site, &id, "idle").await;
    let words = format!("/terminals/{id}/input?message=echo%20shown-$((6*7))");
    assert_eq!(call(&site, Method::POST, &words).await.0, 200);
    until_status(&site, &id, "completed").await;
    let address = site.cao.unwrap();
    let stream = TcpStream::connect(address).await.unwrap();
    let opened = tokio_tungstenite::client_async(format!("ws://{address}/terminals/{id}/ws"), stream);
    let (mut socket, _) = soon("the stream", opened).await.unwrap();
    let first = soon("the screen", socket.next()).await.unwrap().unwrap().into_data();
    assert!(String::from_utf8_lossy(&first).contains("shown-42"), "{first:?}");
    site.close().await;
}

#[tokio::test]
async fn the_last_answer_is_what_was_said_to_the_last_words() {
    let site = site();
    let id = session(&site, "last").await;
    until_status(&site, &id, "idle").await;
    let output = async |mode: &str| {
        let told = get(&site, &format!("/terminals/{id}/output?mode={mode}")).await;
        assert_eq!(told["mode"], mode);
        told["output"].as_str().unwrap().to_owned()
    };
    for number in [41, 42] {
        let words = format!("/terminals/{id}/input?message=echo%20answer-$(({number}%2B0))");
        assert_eq!(call(&site, Method::POST, &words).await.0, 200);
        until_status(&site, &id, "completed").await;
        let last = output("last").await;
        assert_eq!(
            (last.matches("answer-").count(), last.contains(&format!("answer-{number}"))),
            (1, true),
            "{last}"
        );
    }
    let full = output("full").await;
    assert!(full.contains("answer-41") && full.contains("answer-42"), "{full}");
    assert_eq!(call(&site, Method::GET, &format!("/terminals/{id}/output?mode=most")).await.0, 422);
    site.close().await;
}
