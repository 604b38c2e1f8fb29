//! Front matter: where it stands, and its fields as YAML.

use saphyr::{LoadableYamlNode as _, MarkedYaml, Scalar, ScanError, YamlData};

use super::{Notice, ProfileError};

/// Deepest nesting of a value.
const DEEPEST: usize = 32;

/// A file cut in two.
pub(super) struct Cut<'a> {
    /// The front matter, with an empty line in place of the fence, so that lines count as in the file. `None` when the
    /// file begins with something else.
    pub(super) fields: Option<String>,
    /// What comes after it.
    pub(super) body: &'a str,
}

/// Finds the front matter.
pub(super) fn cut(text: &str) -> Result<Cut<'_>, ProfileError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut lines = text.split_inclusive('\n');
    let fence = lines.next().unwrap_or_default();
    if fence.trim_end() != "---" {
        return Ok(Cut { fields: None, body: text });
    }
    let mut at = fence.len();
    for line in lines {
        if matches!(line.trim_end(), "---" | "...") {
            let fields = format!("\n{}", &text[fence.len()..at].replace('\r', ""));
            return Ok(Cut { fields: Some(fields), body: &text[at + line.len()..] });
        }
        at += line.len();
    }
    Err(ProfileError::NoEnd)
}

/// One field.
pub(super) struct Field {
    /// Its name.
    pub(super) key: String,
    /// Line of its name, from 1.
    pub(super) line: usize,
    /// Its value.
    pub(super) value: serde_json::Value,
}

/// Reads the fields. A line that strict YAML refuses and people write all the same (`description: Use it: often`,
/// `tools: @fs`) is quoted and read again.
pub(super) fn fields(text: &str, notices: &mut Vec<Notice>) -> Result<Vec<Field>, ProfileError> {
    match read(text) {
        Ok(fields) => Ok(fields),
        Err(Refusal::Shape(error)) => Err(error),
        Err(Refusal::Scan(error)) => {
            let mut mended = Vec::new();
            let quoted: Vec<String> = text
                .lines()
                .enumerate()
                .map(|(at, line)| {
                    quoted(line).inspect(|_| mended.push(at + 1)).unwrap_or_else(|| line.to_owned())
                })
                .collect();
            // What is told is what is wrong with the file as it was written.
            let first = ProfileError::Yaml { line: error.marker().line(), message: error.info().to_owned() };
            let fields = read(&quoted.join("\n")).map_err(|_| first)?;
            notices.extend(mended.into_iter().map(|line| Notice {
                line,
                text: "taken as plain text; quotes around the value would make it YAML".to_owned(),
            }));
            Ok(fields)
        }
    }
}

enum Refusal {
    Scan(ScanError),
    Shape(ProfileError),
}

fn read(text: &str) -> Result<Vec<Field>, Refusal> {
    let documents = MarkedYaml::load_from_str(text).map_err(Refusal::Scan)?;
    let Some(document) = documents.first() else { return Ok(Vec::new()) };
    let line = document.span.start.line();
    let shape =
        |line, message: &str| Refusal::Shape(ProfileError::Yaml { line, message: message.to_owned() });
    let fields = match &document.data {
        YamlData::Mapping(fields) => fields,
        YamlData::Value(Scalar::Null) | YamlData::BadValue => return Ok(Vec::new()),
        _ => return Err(shape(line, "the front matter must be fields, `name: value`")),
    };
    let mut read = Vec::new();
    for (key, value) in fields {
        let line = key.span.start.line();
        let key = match value_of(key, DEEPEST) {
            Some(serde_json::Value::String(key)) => key,
            Some(other) => other.to_string(),
            None => return Err(shape(line, "this is no name of a field")),
        };
        let value = value_of(value, DEEPEST).ok_or_else(|| shape(line, "the value is nested too deeply"))?;
        read.push(Field { key, line, value });
    }
    Ok(read)
}

fn value_of(node: &MarkedYaml<'_>, depth: usize) -> Option<serde_json::Value> {
    use serde_json::Value;
    let depth = depth.checked_sub(1)?;
    Some(match &node.data {
        YamlData::Value(Scalar::Boolean(value)) => Value::Bool(*value),
        YamlData::Value(Scalar::Integer(value)) => Value::from(*value),
        YamlData::Value(Scalar::FloatingPoint(value)) => Value::from(value.into_inner()),
        YamlData::Value(Scalar::String(value)) => Value::from(value.as_ref()),
        YamlData::Representation(text, ..) => Value::from(text.as_ref()),
        YamlData::Sequence(items) => {
            Value::Array(items.iter().map(|item| value_of(item, depth)).collect::<Option<_>>()?)
        }
        YamlData::Mapping(fields) => {
            let field = |(key, value)| {
                let key = match value_of(key, depth)? {
                    Value::String(key) => key,
                    other => other.to_string(),
                };
                Some((key, value_of(value, depth)?))
            };
            Value::Object(fields.iter().map(field).collect::<Option<_>>()?)
        }
        YamlData::Tagged(_, node) => value_of(node, depth)?,
        YamlData::Value(Scalar::Null) | YamlData::Alias(_) | YamlData::BadValue => Value::Null,
    })
}

/// A field on a line of its own with a plain value that YAML may trip over, its value quoted.
fn quoted(line: &str) -> Option<String> {
    let (key, value) = line.split_once(": ")?;
    let value = value.trim();
    let plain_key =
        !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    // A value that is quoted, a block, a list or a map already is left to YAML.
    let trips = value.contains(": ")
        || value.contains(" #")
        || value.ends_with(':')
        || value.starts_with(['@', '`', '%', '*', '!', '&']);
    (plain_key && trips && !value.starts_with(['"', '\'', '|', '>', '[', '{']))
        .then(|| format!("{key}: '{}'", value.replace('\'', "''")))
}
