//! Sessions and who is in them.

use ptyard_core::ErrorCode;
use ptyard_core::turn::Status;
use ptyard_yard::YardConfig;
use ptyard_yard::agents::LaunchSpec;

use crate::stage::{self, Stage};

const REPORTING: &str = "status.osc7501 = 'always'";

#[tokio::test]
async fn a_worker_joins_the_session_of_its_creator() {
    let stage = Stage::new();
    let (spec, record) = stage.scripted(REPORTING);
    let boss = stage.launch_as(LaunchSpec { session: Some("team".to_owned()), ..spec }, record).await;
    let (spec, record) = stage.scripted(REPORTING);
    // No provider: that of its creator.
    let spec = LaunchSpec { creator: Some(boss.launched.id).into(), provider: None, ..spec };
    let worker = stage.launch_as(spec, record).await;
    assert_eq!((worker.launched.member.session.as_str(), worker.launched.member.depth), ("team", 1));
    let session = stage.yard.session("team").unwrap();
    assert_eq!((session.conductor, session.members.len()), (Some(boss.launched.id), 2));
    stage.until(&worker, Status::Idle).await;

    stage.yard.shut_down_session("team", None).await.unwrap();
    assert_eq!(stage.yard.session("team").unwrap_err().code(), ErrorCode::UnknownSession);
    assert!(stage.yard.list().is_empty());
}

#[tokio::test]
async fn sessions_outlive_the_server() {
    let stage = Stage::new();
    let (spec, record) = stage.scripted(REPORTING);
    let boss = stage.launch_as(LaunchSpec { session: Some("team".to_owned()), ..spec }, record).await;
    let state = stage.home.path().join("state");
    stage.yard.shutdown().await;
    drop(stage.yard);
    let yard = stage::open(YardConfig::new(state)).await;
    let session = yard.session("team").unwrap();
    assert_eq!(session.conductor, Some(boss.launched.id));
    assert_eq!(session.members[0].provider, "generic");
}

#[tokio::test]
async fn bad_names_of_sessions_are_refused_and_leave_nothing() {
    let stage = Stage::new();
    let (spec, _) = stage.scripted(REPORTING);
    let refused =
        stage.yard.launch(LaunchSpec { session: Some("a b".to_owned()), ..spec }).await.unwrap_err();
    assert_eq!(refused.code(), ErrorCode::InvalidArgument);
    assert!(stage.yard.list().is_empty() && stage.yard.sessions().is_empty());
}
