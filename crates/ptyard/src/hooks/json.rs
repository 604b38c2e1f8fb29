//! Entries in settings that are JSON, with or without comments.
//!
//! Nothing is written anew: entries are put into the text, and cut out of it. What is put stands first in its container.
//! Into one that is there and empty it is put behind a single blank, so that the container is known to be the user's when
//! the entry is cut out; one that we made goes with its last entry.

use std::ops::Range;

use jsonc_parser::ast::{Array, Object, ObjectProp, Value};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use ptyard_providers::HookWords;
use ptyard_providers::launch::{hook_edition, hook_entry};
use serde_json::{Map, json};

use super::Found;
use crate::config_file::Uneditable;

/// The key that holds hooks.
const KEY: &str = "hooks";

/// What stands before an entry in a container that was there and empty.
const THERE: &str = " ";

/// The entries of ours in `text`.
pub(super) fn find(text: &str) -> Result<Vec<Found>, Uneditable> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let root = parse(text)?;
    let mut found = Vec::new();
    for event in hooks(&root).into_iter().flat_map(|hooks| &hooks.properties) {
        let list = event.value.as_array().into_iter().flat_map(|list| &list.elements);
        let lines = list.flat_map(lines_of).filter(|line| hook_edition(line).is_some());
        found
            .extend(lines.map(|line| Found { event: event.name.as_str().to_owned(), line: line.to_owned() }));
    }
    Ok(found)
}

/// `text`, in which none is, with entries that run `line`.
pub(super) fn with_entries(text: &str, words: HookWords, line: &str) -> Result<String, Uneditable> {
    if text.trim().is_empty() {
        return Ok(format!("{}{text}", alone(words, line)));
    }
    let mut text = text.to_owned();
    let entry = hook_entry(words, line);
    let root = parse(&text)?;
    let Some(there) = only(&root, KEY)? else {
        let item = format!("\"{KEY}\": {}", pretty(&for_every_event(words, &entry), 1));
        let (at, put) = put_first(&root, root.properties.is_empty(), 1, &item);
        text.insert_str(at, &put);
        return Ok(text);
    };
    there.value.as_object().ok_or_else(|| shape(KEY))?;
    // The last one first: each is put before what is there.
    for event in words.events().into_iter().rev() {
        let root = parse(&text)?;
        let Some(hooks) = hooks(&root) else { return Err(shape(KEY)) };
        let (at, put) = match only(hooks, event)? {
            Some(list) => {
                let list = list.value.as_array().ok_or_else(|| shape(event))?;
                put_first(list, list.elements.is_empty(), 3, &pretty(&entry, 3))
            }
            None => {
                let item = format!("\"{event}\": {}", pretty(&json!([entry]), 2));
                put_first(hooks, hooks.properties.is_empty(), 2, &item)
            }
        };
        text.insert_str(at, &put);
    }
    Ok(text)
}

/// `text` without entries of ours.
pub(super) fn without_entries(text: &str, words: HookWords) -> Result<String, Uneditable> {
    let mut text = text.to_owned();
    loop {
        let found = find(&text)?;
        let Some(first) = found.first() else { return Ok(text) };
        // Nothing else stood there when we wrote it.
        if let Some(rest) =
            text.strip_prefix(alone(words, &first.line).as_str()).filter(|rest| rest.trim().is_empty())
        {
            return Ok(rest.to_owned());
        }
        let root = parse(&text)?;
        let Some(cut) = first_cut(&text, &root) else { return Ok(text) };
        text.replace_range(cut, "");
    }
}

/// The whole text of a file that holds nothing else.
fn alone(words: HookWords, line: &str) -> String {
    let hooks = for_every_event(words, &hook_entry(words, line));
    let whole = match words {
        HookWords::Copilot => json!({"version": 1, KEY: hooks}),
        HookWords::Claude | HookWords::Gemini => json!({KEY: hooks}),
    };
    format!("{}\n", pretty(&whole, 0))
}

/// The entry in the list of each event.
fn for_every_event(words: HookWords, entry: &serde_json::Value) -> serde_json::Value {
    let lists = words.events().into_iter().map(|event| (event.to_owned(), json!([entry])));
    lists.collect::<Map<_, _>>().into()
}

fn parse(text: &str) -> Result<Object<'_>, Uneditable> {
    let unreadable = |why: String| Uneditable::Unreadable { language: "JSON", why };
    let options = ParseOptions {
        allow_missing_commas: false,
        allow_loose_object_property_names: false,
        allow_single_quoted_strings: false,
        ..ParseOptions::default()
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options);
    match parsed.map_err(|error| unreadable(error.to_string()))?.value {
        Some(Value::Object(root)) => Ok(root),
        _ => Err(unreadable("an object was expected".to_owned())),
    }
}

fn shape(key: &str) -> Uneditable {
    Uneditable::Shape { key: key.to_owned(), what: "hooks" }
}

fn hooks<'a, 'b>(root: &'b Object<'a>) -> Option<&'b Object<'a>> {
    root.get(KEY)?.value.as_object()
}

/// The one property of that name; which of two a program reads is not known.
fn only<'a, 'b>(object: &'b Object<'a>, key: &str) -> Result<Option<&'b ObjectProp<'a>>, Uneditable> {
    let mut all = object.properties.iter().filter(|property| property.name.as_str() == key);
    match (all.next(), all.next()) {
        (_, Some(_)) => Err(Uneditable::Twice { key: key.to_owned() }),
        (first, None) => Ok(first),
    }
}

/// What an element of an event's list runs: by itself, or as a group of several.
fn lines_of<'b>(element: &'b Value<'_>) -> Vec<&'b str> {
    let Some(element) = element.as_object() else { return Vec::new() };
    let members = element.get_array(KEY).into_iter().flat_map(|members| &members.elements);
    members.filter_map(Value::as_object).chain([element]).filter_map(line_of).collect()
}

fn line_of<'b>(handler: &'b Object<'_>) -> Option<&'b str> {
    let line = handler.get_string("command").or_else(|| handler.get_string("bash"))?;
    Some(&line.value)
}

fn is_ours(handler: &Value<'_>) -> bool {
    handler.as_object().and_then(line_of).is_some_and(|line| hook_edition(line).is_some())
}

/// Whether it is a group of nothing but ours.
fn is_group_of_ours(element: &Value<'_>) -> bool {
    members(element)
        .is_some_and(|members| !members.elements.is_empty() && members.elements.iter().all(is_ours))
}

fn members<'a, 'b>(element: &'b Value<'a>) -> Option<&'b Array<'a>> {
    element.as_object()?.get_array(KEY)
}

/// Where the first entry of ours stands, with all that stands there only for it.
fn first_cut(text: &str, root: &Object<'_>) -> Option<Range<usize>> {
    let hooks_at = root.properties.iter().position(|property| property.name.as_str() == KEY)?;
    let hooks = root.properties[hooks_at].value.as_object()?;
    for (event_at, event) in hooks.properties.iter().enumerate() {
        let Some(list) = event.value.as_array() else { continue };
        for (at, element) in list.elements.iter().enumerate() {
            if is_ours(element) || is_group_of_ours(element) {
                let levels = [
                    (Container::of(text, list, &list.elements), at),
                    (Container::of(text, hooks, &hooks.properties), event_at),
                ];
                let stays = levels.into_iter().find(|(container, at)| container.stays_without(*at));
                let (container, at) =
                    stays.unwrap_or_else(|| (Container::of(text, root, &root.properties), hooks_at));
                return Some(container.cut(at));
            }
            let Some(members) = members(element) else { continue };
            if let Some(at) = members.elements.iter().position(is_ours) {
                return Some(Container::of(text, members, &members.elements).cut(at));
            }
        }
    }
    None
}

/// An object or an array in a text, and where its items stand.
struct Container<'t> {
    text: &'t str,
    open: usize,
    items: Vec<Range<usize>>,
}

impl<'t> Container<'t> {
    fn of(text: &'t str, container: &impl Ranged, items: &[impl Ranged]) -> Self {
        let items = items.iter().map(|item| item.start()..item.end()).collect();
        Self { text, open: container.start() + 1, items }
    }

    /// Whether it is there for more than this item.
    fn stays_without(&self, at: usize) -> bool {
        self.items.len() > 1 || &self.text[self.open..self.items[at].start] == THERE
    }

    /// An item, with the blanks before it and one of the commas around it.
    fn cut(&self, at: usize) -> Range<usize> {
        let Range { start, end } = self.items[at];
        let comma = |blanks: &str| {
            let behind = blanks.trim_start();
            behind.starts_with(',').then(|| blanks.len() - behind.len() + 1)
        };
        let before = self.text[..start].trim_end().len().max(self.open);
        match comma(&self.text[end..]) {
            Some(comma) => before..end + comma,
            // The last one: the comma before it goes, if nothing is said between them.
            None if at > 0 && self.text[..before].ends_with(',') => before - 1..end,
            None => before..end,
        }
    }
}

/// What is put into a container, and where: as its first item.
fn put_first(container: &impl Ranged, is_empty: bool, depth: usize, item: &str) -> (usize, String) {
    let put = if is_empty { format!("{THERE}{item}") } else { format!("\n{}{item},", indent(depth)) };
    (container.start() + 1, put)
}

fn indent(depth: usize) -> String {
    "  ".repeat(depth)
}

/// A document as it stands this deep in a file.
fn pretty(value: &serde_json::Value, depth: usize) -> String {
    format!("{value:#}").replace('\n', &format!("\n{}", indent(depth)))
}
