//! Watching for the end of a program.
//!
//! An end is learned from the engine, which says it when it happens: a container by the request that waits for it, an
//! exec by the engine's events. The end of the output says nothing about the program, and neither does a connection
//! that breaks: then the engine is asked how things are, and only when the output is cut off too the program is `lost`.

use std::time::Duration;

use hyper::Method;
use ptyard_core::Exit;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::api::{Container, ExecState, escaped};
use super::engine::{Engine, EngineError, Lines};

/// How long to wait before an engine that cannot be reached is asked again, while output still comes.
const AGAIN: Duration = Duration::from_millis(250);

/// Connections that end within this long of each other are taken to have been cut off together.
pub(super) const TOGETHER: Duration = Duration::from_secs(1);

/// What is watched.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) enum Place {
    /// The first process of this container.
    Container(String),
    /// This exec in this container.
    Exec { container: String, exec: String },
}

/// A watch that has begun: an end that comes from now on is seen.
pub(super) struct Watching {
    engine: Engine,
    place: Place,
    lines: Lines,
}

/// How a program ended, as far as it could be heard.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Heard {
    pub(super) exit: Exit,
    /// The connections broke before: what was printed last may not have come.
    pub(super) cut_off: bool,
}

/// How a program is, when the engine is asked.
enum Now {
    Runs,
    Ended(Exit),
    /// Nobody knows it any more.
    Gone,
    Unreachable,
}

impl Watching {
    /// Begins, before the program is started.
    pub(super) async fn begin(engine: &Engine, place: Place) -> Result<Self, EngineError> {
        let lines = follow(engine, &place, "next-exit").await?;
        Ok(Self { engine: engine.clone(), place, lines })
    }

    /// Waits for the end. `output_ended` is told by the source.
    pub(super) async fn until_the_end(mut self, mut output_ended: watch::Receiver<bool>) -> Heard {
        let whole = |exit| Heard { exit, cut_off: false };
        // Whether the program closed its output itself, while the engine could be heard.
        let mut closed_before = false;
        loop {
            let told = tokio::select! {
                biased;
                told = self.lines.next() => told,
                () = is_true(&mut output_ended), if !closed_before => {
                    match tokio::time::timeout(TOGETHER, self.lines.next()).await {
                        Ok(told) => told,
                        Err(_) => {
                            closed_before = true;
                            continue;
                        }
                    }
                }
            };
            if let Some(told) = told {
                match end_of(&self.place, &told) {
                    Some(exit) => return whole(exit),
                    None => continue,
                }
            }
            // The connection broke.
            let cut_off =
                !closed_before && tokio::time::timeout(TOGETHER, is_true(&mut output_ended)).await.is_ok();
            match self.ask().await {
                Now::Ended(exit) => return Heard { exit, cut_off },
                Now::Gone => return whole(Exit::lost()),
                Now::Runs | Now::Unreachable if cut_off => return whole(Exit::lost()),
                Now::Runs | Now::Unreachable => {}
            }
            tokio::time::sleep(AGAIN).await;
            if let Ok(lines) = follow(&self.engine, &self.place, "not-running").await {
                self.lines = lines;
                // It may have ended between the two.
                if let Now::Ended(exit) = self.ask().await {
                    return whole(exit);
                }
            }
        }
    }

    async fn ask(&self) -> Now {
        let answer = match &self.place {
            Place::Container(id) => {
                let state = self.engine.get::<Container>(&format!("/containers/{id}/json")).await;
                state.map(|container| (container.state.running, Some(container.state.exit_code)))
            }
            Place::Exec { exec, .. } => {
                let state = self.engine.get::<ExecState>(&format!("/exec/{exec}/json")).await;
                state.map(|exec| (exec.running, exec.exit_code))
            }
        };
        match answer {
            Ok((false, Some(code))) => Now::Ended(Exit::exited(code)),
            Ok(_) => Now::Runs,
            Err(EngineError::Refused { .. }) => Now::Gone,
            Err(_) => Now::Unreachable,
        }
    }
}

/// Waits until it is so, or until nobody can make it so any more.
async fn is_true(told: &mut watch::Receiver<bool>) {
    let _gone = told.wait_for(|ended| *ended).await;
}

async fn follow(engine: &Engine, place: &Place, condition: &str) -> Result<Lines, EngineError> {
    match place {
        Place::Container(id) => {
            engine.follow(Method::POST, &format!("/containers/{id}/wait?condition={condition}")).await
        }
        Place::Exec { container, .. } => {
            // What happened a moment before is told too: the engine says "here I am" before it begins to listen.
            let filters =
                json!({ "type": ["container"], "event": ["exec_die", "die"], "container": [container] });
            engine
                .follow(Method::GET, &format!("/events?since=1&filters={}", escaped(&filters.to_string())))
                .await
        }
    }
}

/// The end that the engine told, if it was this program's.
fn end_of(place: &Place, told: &Value) -> Option<Exit> {
    match place {
        Place::Container(_) => {
            let code = told.get("StatusCode")?.as_i64()?;
            Some(i32::try_from(code).map_or_else(|_| Exit::lost(), Exit::exited))
        }
        Place::Exec { exec, .. } => {
            let attributes = told.get("Actor")?.get("Attributes")?;
            if attributes.get("execID")?.as_str()? != exec {
                return None;
            }
            let code = attributes.get("exitCode")?.as_str()?.parse().ok()?;
            Some(Exit::exited(code))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_programs_own_end_counts() {
        let place = Place::Exec { container: "c".to_owned(), exec: "e1".to_owned() };
        let event = |exec: &str, code: &str| json!({ "Action": "exec_die", "Actor": { "Attributes": { "execID": exec, "exitCode": code } } });
        assert_eq!(end_of(&place, &event("e1", "3")), Some(Exit::exited(3)));
        assert_eq!(end_of(&place, &event("e2", "3")), None);
        assert_eq!(end_of(&place, &event("e1", "what")), None);
        assert_eq!(end_of(&place, &json!({ "Action": "die" })), None);
        let place = Place::Container("c".to_owned());
        assert_eq!(end_of(&place, &json!({ "StatusCode": 137 })), Some(Exit::exited(137)));
        assert_eq!(end_of(&place, &json!({ "message": "x" })), None);
    }
}
