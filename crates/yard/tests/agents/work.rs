//! What agents answered.

use ptyard_core::turn::Status;
use ptyard_testkit::agent::Record;
use ptyard_yard::agents::LaunchSpec;
use ptyard_yard::{TerminalRef, Yard, YardConfig};

use crate::stage::{Scripted, Stage};

/// One that looks ready before it draws the end of what it said.
const LATE: &str = r#"
id = "late"
name = "Late"
version = "1.0.0"
engine = 1
[launch]
binaries = ["sh"]
args = ["-c", "printf 'U task\r\nA one\r\n> '; sleep 0.2; printf '\\033[2J\\033[HU task\r\nA one\r\nA two\r\n> '; cat"]
[ready]
settle_ms = 0
first_settle_ms = 0
[anchors]
user = '^U '
prompt = '^>'
[answer]
user = "user"
end = ["prompt"]
rest_ms = 1000
[[rules]]
id = "prompt"
status = "ready"
when = ["prompt"]
"#;

#[tokio::test]
async fn an_answer_is_read_once_all_of_it_is_drawn() {
    let home = tempfile::tempdir().unwrap();
    let state = home.path().join("state");
    std::fs::create_dir_all(state.join("providers")).unwrap();
    std::fs::write(state.join("providers/late.toml"), LATE).unwrap();
    let stage = Stage { yard: Yard::open(YardConfig::new(state)).unwrap(), home };
    // No scripted one: it keeps no record.
    let record = Record::at(stage.home.path().join("record"));
    let spec =
        LaunchSpec { provider: Some("late".to_owned()), cwd: Some(stage.work()), ..LaunchSpec::default() };
    let agent: Scripted = stage.launch_as(spec, record).await;
    stage.until(&agent, Status::Idle).await;
    let answer = stage.yard.last_answer(&TerminalRef::Id(agent.launched.id), None).await.unwrap();
    assert_eq!(answer.as_deref(), Some("A one\nA two"));
}
