//! One terminal.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ptyard_yard::YardError;
use serde_json::{Value, json};

use super::Cao;
use super::extract::Named;
use super::refusal::Refusal;
use super::shape;

/// All about it.
pub(super) async fn show(State(cao): State<Cao>, named: Named) -> Result<Json<Value>, Refusal> {
    Ok(Json(shape::terminal(&cao.yard, &named.member).await?))
}

/// Ends its program and removes it. It goes on when the client is gone.
pub(super) async fn delete(State(cao): State<Cao>, named: Named) -> Result<Json<Value>, Refusal> {
    let ending = tokio::spawn(async move {
        cao.yard.kill(&named.at, None).await?;
        cao.yard.remove(&named.at).await?;
        Ok::<_, YardError>(())
    });
    let broke =
        |error| Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("the end broke off: {error}"));
    ending.await.map_err(broke)??;
    Ok(Json(json!({"success": true})))
}

/// Where its program is now, or was started.
pub(super) async fn working_directory(State(cao): State<Cao>, named: Named) -> Result<Json<Value>, Refusal> {
    let info = cao.yard.info(&named.at)?;
    let of_pid = |pid: u32| std::fs::read_link(format!("/proc/{pid}/cwd")).ok();
    let now = info.pid.filter(|_| info.exit.is_none()).and_then(of_pid);
    let directory = now.map_or(info.cwd, |path| path.display().to_string());
    Ok(Json(json!({"working_directory": directory})))
}

/// There is no memory, so nothing is remembered.
pub(super) async fn memory_context(_named: Named) -> &'static str {
    ""
}

/// Types what its program takes for the wish to end.
pub(super) async fn exit(State(cao): State<Cao>, named: Named) -> Result<Json<Value>, Refusal> {
    let word = match named.member.provider.as_str() {
        "antigravity_cli" | "grok_cli" => "/quit",
        _ => "/exit",
    };
    cao.yard.type_bytes(&named.at, format!("{word}\r").into_bytes()).await?;
    Ok(Json(json!({"success": true})))
}
