//! Workspaces, tabs and panes.

use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use crate::vendors::program::Program;
use crate::vendors::sandbox::Sandbox;

#[derive(Default)]
pub(super) struct State {
    pub(super) workspaces: Vec<Workspace>,
    /// Every close there was, as lines.
    closes: Vec<u8>,
    given: u64,
    pub(super) ids_only: bool,
    pub(super) odd_snapshot: Option<Value>,
}

pub(super) struct Workspace {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) tabs: Vec<Tab>,
}

/// A tab with its one pane.
pub(super) struct Tab {
    pub(super) id: String,
    pub(super) label: String,
    pub(super) terminal: String,
    pub(super) status: String,
    pub(super) cwd: String,
    pub(super) program: Arc<Program>,
    pub(super) printed: Arc<Mutex<Vec<u8>>>,
    /// Everything in it ends with it.
    pub(super) _sandbox: Sandbox,
}

pub(super) fn line(value: &Value) -> Vec<u8> {
    format!("{value}\n").into_bytes()
}

impl State {
    /// An id that is given once.
    pub(super) fn id(&mut self) -> String {
        self.given += 1;
        self.given.to_string()
    }

    fn find(&self, label: &str) -> Option<(&Workspace, usize)> {
        self.workspaces.iter().find_map(|workspace| {
            let at = workspace.tabs.iter().position(|tab| tab.label == label)?;
            Some((workspace, at))
        })
    }

    pub(super) fn labels(&self) -> Vec<String> {
        self.workspaces.iter().flat_map(|one| &one.tabs).map(|tab| tab.label.clone()).collect()
    }

    pub(super) fn pane_id(&self, label: &str) -> Option<String> {
        let (workspace, at) = self.find(label)?;
        Some(workspace.pane_id(at))
    }

    pub(super) fn program(&self, label: &str) -> Option<Arc<Program>> {
        let (workspace, at) = self.find(label)?;
        Some(Arc::clone(&workspace.tabs[at].program))
    }

    pub(super) fn printed(&self, label: &str) -> Vec<u8> {
        let Some((workspace, at)) = self.find(label) else { return Vec::new() };
        workspace.tabs[at].printed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Its pane's agent does this now; the event that tells it.
    pub(super) fn sees(&mut self, label: &str, status: &str) -> Option<Vec<u8>> {
        let ids_only = self.ids_only;
        for workspace in &mut self.workspaces {
            let Some(at) = workspace.tabs.iter().position(|tab| tab.label == label) else { continue };
            status.clone_into(&mut workspace.tabs[at].status);
            let pane = if ids_only {
                json!({ "pane_id": workspace.pane_id(at), "agent_status": status })
            } else {
                workspace.pane(at)
            };
            return Some(line(&json!({ "event": "pane_updated", "data": { "pane": pane } })));
        }
        None
    }

    /// Takes a tab away; what subscribers are told of it.
    pub(super) fn close(&mut self, is_it: impl Fn(&Tab) -> bool) -> Option<(Tab, Vec<u8>)> {
        for place in 0..self.workspaces.len() {
            let workspace = &mut self.workspaces[place];
            let Some(at) = workspace.tabs.iter().position(&is_it) else { continue };
            let pane_id = workspace.pane_id(at);
            let tab = workspace.tabs.remove(at);
            let data = json!({ "pane_id": pane_id, "workspace_id": workspace.id });
            let mut told = line(&json!({ "event": "pane_closed", "data": data }));
            if workspace.tabs.is_empty() {
                let data = json!({ "workspace_id": workspace.id });
                told.extend(line(&json!({ "event": "workspace_closed", "data": data })));
                self.workspaces.remove(place);
            }
            self.closes.extend_from_slice(&told);
            return Some((tab, told));
        }
        None
    }

    pub(super) fn history(&self) -> Vec<u8> {
        self.closes.clone()
    }

    pub(super) fn snapshot(&self) -> Value {
        let tabs: Vec<Value> = self.workspaces.iter().flat_map(Workspace::tab_list).collect();
        let all = |one: &Workspace| (0..one.tabs.len()).map(|at| one.pane(at)).collect::<Vec<_>>();
        let mut panes: Vec<Value> = self.workspaces.iter().flat_map(all).collect();
        if self.ids_only {
            for pane in panes.iter_mut().filter_map(Value::as_object_mut) {
                pane.remove("terminal_id");
            }
        }
        json!({ "workspaces": self.workspace_list(), "tabs": tabs, "panes": panes })
    }

    pub(super) fn workspace_list(&self) -> Value {
        let one = |one: &Workspace| json!({ "workspace_id": one.id, "label": one.label });
        self.workspaces.iter().map(one).collect()
    }
}

impl Workspace {
    /// Panes are called by their places.
    pub(super) fn pane_id(&self, at: usize) -> String {
        format!("{}-{}", self.id, at + 1)
    }

    pub(super) fn pane(&self, at: usize) -> Value {
        let tab = &self.tabs[at];
        json!({
            "pane_id": self.pane_id(at),
            "tab_id": tab.id,
            "workspace_id": self.id,
            "terminal_id": tab.terminal,
            "agent_status": tab.status,
            "cwd": tab.cwd,
        })
    }

    fn tab_list(&self) -> Vec<Value> {
        let one = |tab: &Tab| json!({ "tab_id": tab.id, "label": tab.label, "workspace_id": self.id });
        self.tabs.iter().map(one).collect()
    }
}
