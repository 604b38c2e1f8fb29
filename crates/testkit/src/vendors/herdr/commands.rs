//! What the command line asks for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::mpsc;

use super::Shared;
use super::state::{Tab, Workspace, line};
use crate::vendors::program::{Event, Io, Order, Program, Told};
use crate::vendors::sandbox::Sandbox;

/// A pane's size.
const SIZE: (u16, u16) = (90, 28);

fn word(params: &Value, key: &str) -> Option<String> {
    params[key].as_str().map(str::to_owned)
}

fn positional(params: &Value, at: usize) -> Result<&str, String> {
    params["args"][at].as_str().ok_or_else(|| "an argument is missing".to_owned())
}

impl Shared {
    pub(super) async fn command(self: &Arc<Self>, method: &str, params: &Value) -> Result<Value, String> {
        match method {
            "api.snapshot" => {
                self.snapshots.send_modify(|count| *count += 1);
                let mut held = self.held.subscribe();
                let _open = held.wait_for(|held| !held).await.map(drop);
                let answer = {
                    let state = self.state();
                    state.odd_snapshot.clone().unwrap_or_else(|| json!({ "snapshot": state.snapshot() }))
                };
                self.made.send_modify(|count| *count += 1);
                let mut late = self.late.subscribe();
                let _open = late.wait_for(|late| !late).await.map(drop);
                Ok(answer)
            }
            "workspace.list" => Ok(json!({ "workspaces": self.state().workspace_list() })),
            "workspace.create" => self.make_workspace(params),
            "tab.create" => self.make_tab(params),
            "pane.run" => {
                let program = self.program(positional(params, 0)?)?;
                let text = format!("{}\r", positional(params, 1)?);
                program.write(text.as_bytes()).await.map_err(|error| error.to_string())?;
                Ok(json!({}))
            }
            "pane.close" => {
                let pane = positional(params, 0)?.to_owned();
                let program = self.program(&pane)?;
                self.close(|tab| Arc::ptr_eq(&tab.program, &program));
                Ok(json!({}))
            }
            _ => Err(format!("{method}: there is no such command")),
        }
    }

    fn program(&self, pane: &str) -> Result<Arc<Program>, String> {
        let state = self.state();
        let all = state.workspaces.iter().flat_map(|one| (0..one.tabs.len()).map(move |at| (one, at)));
        let mut found = all.filter(|(one, at)| one.pane_id(*at) == pane);
        let (one, at) = found.next().ok_or_else(|| format!("{pane}: there is no such pane"))?;
        Ok(Arc::clone(&one.tabs[at].program))
    }

    /// Makes a workspace with one tab.
    pub(super) fn make_workspace(self: &Arc<Self>, params: &Value) -> Result<Value, String> {
        let id = {
            let mut state = self.state();
            let id = state.id();
            let label = word(params, "label").unwrap_or_default();
            state.workspaces.push(Workspace { id: id.clone(), label, tabs: Vec::new() });
            id
        };
        let cwd = word(params, "cwd").unwrap_or_else(|| "/".to_owned());
        self.make_tab(&json!({ "workspace": id, "label": "1", "cwd": cwd }))
    }

    /// Makes a tab with a shell.
    pub(super) fn make_tab(self: &Arc<Self>, params: &Value) -> Result<Value, String> {
        let cwd = word(params, "cwd").unwrap_or_else(|| "/".to_owned());
        let mut env: BTreeMap<String, String> =
            std::env::vars().filter(|(name, _)| matches!(name.as_str(), "PATH" | "HOME" | "LANG")).collect();
        env.insert("TERM".to_owned(), "xterm-256color".to_owned());
        env.insert("PS1".to_owned(), "pane$ ".to_owned());
        let order = Order {
            argv: vec!["sh".to_owned()],
            cwd: Some(cwd.clone()),
            env,
            io: Io::Tty(SIZE.0, SIZE.1),
            told: Told::BehindOutput,
        };
        let sandbox = Sandbox::new();
        let (program, events) = Program::start(&order, &sandbox.mark()).map_err(|error| error.to_string())?;
        let program = Arc::new(program);
        let printed = Arc::new(Mutex::new(Vec::new()));
        let made = {
            let mut state = self.state();
            let (id, terminal) = (state.id(), format!("term-{}", state.id()));
            let wanted = word(params, "workspace");
            let at = state.workspaces.iter().position(|one| Some(&one.id) == wanted.as_ref());
            let workspace = &mut state.workspaces[at.ok_or("there is no such workspace")?];
            workspace.tabs.push(Tab {
                id,
                label: word(params, "label").unwrap_or_default(),
                terminal,
                status: "unknown".to_owned(),
                cwd,
                program: Arc::clone(&program),
                printed: Arc::clone(&printed),
                _sandbox: sandbox,
            });
            workspace.pane(workspace.tabs.len() - 1)
        };
        self.changed.notify_waiters();
        tokio::spawn(follow(Arc::clone(self), program, events, printed));
        let _nobody = self.lines.send(line(&json!({ "event": "pane_updated", "data": { "pane": made } })));
        Ok(json!({ "root_pane": made }))
    }

    /// Closes a tab, with all that runs in it, and tells so.
    pub(super) fn close(&self, is_it: impl Fn(&Tab) -> bool) -> bool {
        let closed = self.state().close(is_it);
        let Some((tab, told)) = closed else { return false };
        drop(tab);
        let _nobody = self.lines.send(told);
        self.changed.notify_waiters();
        true
    }
}

/// Keeps what a pane prints, and closes it when its shell has ended.
async fn follow(
    shared: Arc<Shared>,
    program: Arc<Program>,
    mut events: mpsc::Receiver<Event>,
    printed: Arc<Mutex<Vec<u8>>>,
) {
    while let Some(event) = events.recv().await {
        if let Event::Output(_, bytes) = event {
            printed.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&bytes);
            shared.changed.notify_waiters();
        }
    }
    shared.close(|tab| Arc::ptr_eq(&tab.program, &program));
}
