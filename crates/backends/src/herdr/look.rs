//! A look at all panes at once: which are there, what they are called, and what herdr sees in them.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::cli::{Cli, HerdrError};
use super::seat::Seat;
use super::wire::{Pane, id, pane};

/// A pane, and the label of its tab.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) pane: Pane,
    pub(super) label: Option<String>,
}

/// What came before a look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Before {
    /// Writes with an Enter.
    pub(super) written: u64,
    /// What was told of the agent.
    pub(super) told: u64,
}

/// A look under way: what was so when it began.
#[derive(Debug)]
pub(super) struct Begun {
    /// The seats there were, with what came before.
    pub(super) seats: Vec<(Arc<Seat>, Before)>,
    /// The closes that were told before.
    pub(super) closes: u64,
}

/// Asks for all panes.
pub(super) async fn look(cli: Cli) -> Result<Vec<Found>, HerdrError> {
    let result = cli.ask(&["api", "snapshot"]).await?;
    panes(&result).ok_or_else(|| HerdrError::NotUnderstood {
        what: "api snapshot".to_owned(),
        answer: result.to_string().chars().take(200).collect(),
    })
}

/// Reads a snapshot. What is not understood in it is left out; one without lists is none.
fn panes(result: &Value) -> Option<Vec<Found>> {
    let snapshot = result.get("snapshot").unwrap_or(result);
    let (tabs, all) = (snapshot.get("tabs")?.as_array()?, snapshot.get("panes")?.as_array()?);
    let label = |tab: &Value| Some((id(tab, "tab_id")?, tab.get("label")?.as_str()?.to_owned()));
    let labels: HashMap<String, String> = tabs.iter().filter_map(label).collect();
    let found = all.iter().filter_map(pane).map(|pane| {
        let label = pane.tab.as_ref().and_then(|tab| labels.get(tab)).cloned();
        Found { pane, label }
    });
    Some(found.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn malformed_records_are_left_out_and_no_lists_are_no_answer() {
        let whole = json!({"snapshot": {
            "workspaces": [],
            "tabs": [{"tab_id": "t1", "label": "one"}, 7, {"label": "two"}, {"tab_id": "t3", "label": null}],
            "panes": [
                {"pane_id": "1-1", "tab_id": "t1", "agent_status": "done"},
                null,
                {"tab_id": "t1"},
                {"pane_id": "1-2", "tab_id": "t3", "agent_status": 5},
            ],
        }});
        let found = panes(&whole).unwrap();
        let brief: Vec<_> =
            found.iter().map(|found| (found.pane.pane.as_str(), found.label.as_deref())).collect();
        assert_eq!(brief, [("1-1", Some("one")), ("1-2", None)]);
        assert_eq!(panes(&whole["snapshot"]), Some(found), "also without the word");
        for none in [json!(null), json!([]), json!({"snapshot": null}), json!({"panes": [], "tabs": 1})] {
            assert_eq!(panes(&none), None, "{none}");
        }
    }
}
