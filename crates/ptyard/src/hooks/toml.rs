//! Entries in settings that are TOML: a block of tables at the end, between two comments.

use ptyard_providers::HookWords;
use ptyard_providers::launch::hook_edition;
use toml_edit::{ArrayOfTables, DocumentMut, Item, Table, value};

use super::Found;
use crate::config_file::Uneditable;

/// The key that holds hooks.
const KEY: &str = "hooks";

const BEGIN: &str = "# These hooks tell ptyard of turns; `ptyard hooks remove` takes them out, up to the line that says so.\n";
const END: &str = "# Here end the hooks of ptyard.\n";

/// The entries of ours in `text`.
pub(super) fn find(text: &str) -> Result<Vec<Found>, Uneditable> {
    let document = parse(text)?;
    let tables = document.get(KEY).and_then(Item::as_array_of_tables);
    Ok(tables.into_iter().flatten().filter_map(ours).collect())
}

/// `text`, in which none is, with entries that run `line`.
pub(super) fn with_entries(text: &str, words: HookWords, line: &str) -> Result<String, Uneditable> {
    if parse(text)?.get(KEY).is_some_and(|hooks| !hooks.is_array_of_tables()) {
        return Err(Uneditable::Shape { key: KEY.to_owned(), what: "hooks" });
    }
    let lead = if text.is_empty() { "" } else { "\n" };
    Ok(format!("{text}{lead}{}", block(words, line)))
}

/// `text` without entries of ours.
pub(super) fn without_entries(text: &str, words: HookWords) -> Result<String, Uneditable> {
    let mut text = text.to_owned();
    loop {
        let Some(first) = find(&text)?.into_iter().next() else { return Ok(text) };
        let block = block(words, &first.line);
        let Some(start) = text.find(&block) else { break };
        // The end of a line that was there, or may have been none.
        let lead = usize::from(text[..start].ends_with('\n'));
        text.replace_range(start - lead..start + block.len(), "");
    }
    // They were written anew by somebody else, or in another way by an earlier version.
    let mut document = parse(&text)?;
    if let Some(tables) = document.get_mut(KEY).and_then(Item::as_array_of_tables_mut) {
        tables.retain(|table| ours(table).is_none());
        if tables.is_empty() {
            document.remove(KEY);
        }
    }
    Ok(document.to_string())
}

fn block(words: HookWords, line: &str) -> String {
    let mut tables = ArrayOfTables::new();
    for event in words.events() {
        let mut table = Table::new();
        table.insert("event", value(event));
        table.insert("command", value(line));
        tables.push(table);
    }
    let mut document = DocumentMut::new();
    document.insert(KEY, Item::ArrayOfTables(tables));
    format!("{BEGIN}{document}{END}")
}

fn ours(table: &Table) -> Option<Found> {
    let text = |key: &str| table.get(key).and_then(Item::as_str);
    let line = text("command").filter(|line| hook_edition(line).is_some())?;
    Some(Found { event: text("event").unwrap_or_default().to_owned(), line: line.to_owned() })
}

fn parse(text: &str) -> Result<DocumentMut, Uneditable> {
    text.parse().map_err(|error: toml_edit::TomlError| Uneditable::Unreadable {
        language: "TOML",
        why: error.message().to_owned(),
    })
}
