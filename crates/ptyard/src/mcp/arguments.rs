//! Arguments of a tool call, read with the tolerance that models need and errors that they can act on.

use serde_json::{Map, Value};

/// The arguments of one call.
#[derive(Debug)]
pub(super) struct Arguments(Map<String, Value>);

/// An argument is missing or not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct BadArgument(String);

impl BadArgument {
    /// An argument that must be given.
    pub(super) fn missing(name: &str) -> Self {
        Self(format!("`{name}` is required"))
    }
}

type Read<T> = Result<T, BadArgument>;

impl Arguments {
    pub(super) fn new(given: Map<String, Value>) -> Self {
        Self(given)
    }

    /// A value that was given; null is as if it was not.
    fn get(&self, name: &str) -> Option<&Value> {
        self.0.get(name).filter(|value| !value.is_null())
    }

    pub(super) fn text(&self, name: &str) -> Read<Option<String>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong(name, "a string", other)),
        }
    }

    /// A text that must be given and must not be empty.
    pub(super) fn required_text(&self, name: &str) -> Read<String> {
        match self.text(name)? {
            None => Err(BadArgument::missing(name)),
            Some(text) if text.is_empty() => Err(BadArgument(format!("`{name}` must not be empty"))),
            Some(text) => Ok(text),
        }
    }

    /// The id of a terminal: models send short ids as numbers and as strings. An empty one is as if it was not given.
    pub(super) fn id(&self, name: &str) -> Read<Option<String>> {
        match self.get(name) {
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|text| !text.is_empty())),
            Some(Value::Number(_)) => Ok(self.number(name, 0)?.map(|number| number.to_string())),
            None => Ok(None),
            Some(other) => Err(wrong(name, "the id of a terminal", other)),
        }
    }

    /// Strings; a single one counts as a list of one.
    pub(super) fn required_texts(&self, name: &str) -> Read<Vec<String>> {
        match self.get(name) {
            None => Err(BadArgument::missing(name)),
            Some(Value::String(text)) => Ok(vec![text.clone()]),
            Some(Value::Array(items)) if !items.is_empty() => items
                .iter()
                .map(|item| {
                    item.as_str().map(str::to_owned).ok_or_else(|| wrong(name, "a list of strings", item))
                })
                .collect(),
            Some(other) => Err(wrong(name, "a list of strings", other)),
        }
    }

    pub(super) fn flag(&self, name: &str, default: bool) -> Read<bool> {
        match self.get(name) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(Value::String(text)) if text == "true" => Ok(true),
            Some(Value::String(text)) if text == "false" => Ok(false),
            Some(other) => Err(wrong(name, "true or false", other)),
        }
    }

    /// Arguments in an argument, none but those of `names`.
    pub(super) fn object(&self, name: &str, names: &[&str]) -> Read<Option<Self>> {
        match self.get(name) {
            None => Ok(None),
            Some(Value::Object(given)) => match given.keys().find(|key| !names.contains(&key.as_str())) {
                None => Ok(Some(Self(given.clone()))),
                Some(other) => {
                    Err(BadArgument(format!("`{name}` has no `{other}`, it can have {}", names.join(", "))))
                }
            },
            Some(other) => Err(wrong(name, "an object", other)),
        }
    }

    /// A number of at least `min`. Numbers in strings and whole floats are taken: models send both.
    pub(super) fn number(&self, name: &str, min: u64) -> Read<Option<u64>> {
        let Some(given) = self.get(name) else { return Ok(None) };
        let number = match given {
            Value::Number(number) => {
                number.as_i128().or_else(|| number.as_f64().filter(|f| f.fract() == 0.0).map(|f| f as i128))
            }
            Value::String(text) => text.trim().parse::<i128>().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| wrong(name, "an integer", given))?;
        if number < i128::from(min) {
            return Err(BadArgument(format!("`{name}` is {number}, it must be at least {min}")));
        }
        // More than there can be means as much as there can be.
        Ok(Some(u64::try_from(number).unwrap_or(u64::MAX)))
    }

    pub(super) fn required_number(&self, name: &str, min: u64) -> Read<u64> {
        self.number(name, min)?.ok_or_else(|| BadArgument::missing(name))
    }
}

fn wrong(name: &str, expected: &str, given: &Value) -> BadArgument {
    let mut shown = given.to_string();
    if shown.len() > 80 {
        shown = shown.chars().take(80).collect::<String>() + "…";
    }
    BadArgument(format!("`{name}` must be {expected}, it is {shown}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn arguments(given: Value) -> Arguments {
        let Value::Object(given) = given else { panic!("not an object") };
        Arguments::new(given)
    }

    #[test]
    fn null_is_as_if_not_given() {
        let given = arguments(json!({"workdir": null, "n": null, "f": null}));
        assert_eq!(given.text("workdir"), Ok(None));
        assert_eq!(given.number("n", 1), Ok(None));
        assert_eq!(given.flag("f", true), Ok(true));
        assert_eq!(given.required_text("workdir").unwrap_err().to_string(), "`workdir` is required");
    }

    #[test]
    fn numbers_are_taken_in_the_forms_models_send() {
        let given = arguments(json!({"a": 19523, "b": "19523", "c": 19523.0}));
        for name in ["a", "b", "c"] {
            assert_eq!(given.number(name, 0), Ok(Some(19523)));
        }
    }

    #[test]
    fn a_terminal_is_named_by_a_number_or_a_text() {
        let given = arguments(json!({"a": 19523, "b": " worker ", "c": "", "d": null, "e": [1]}));
        assert_eq!(given.id("a"), Ok(Some("19523".to_owned())));
        assert_eq!(given.id("b"), Ok(Some("worker".to_owned())));
        assert_eq!((given.id("c"), given.id("d")), (Ok(None), Ok(None)));
        assert_eq!(given.id("e").unwrap_err().to_string(), "`e` must be the id of a terminal, it is [1]");
    }

    #[test]
    fn an_object_holds_what_it_may_and_nothing_else() {
        let given = arguments(json!({"limits": {"wall_ms": 5}, "n": 1, "none": null}));
        let limits = given.object("limits", &["wall_ms"]).unwrap().unwrap();
        assert_eq!(limits.number("wall_ms", 1), Ok(Some(5)));
        let told = |name: &str| given.object(name, &["idle_ms", "x"]).unwrap_err().to_string();
        assert_eq!(told("limits"), "`limits` has no `wall_ms`, it can have idle_ms, x");
        assert_eq!(told("n"), "`n` must be an object, it is 1");
        assert!(given.object("none", &[]).unwrap().is_none());
    }

    #[test]
    fn errors_say_what_was_given_and_what_is_wanted() {
        let given = arguments(json!({"n": -1, "x": [1], "f": "yes", "t": 3, "z": 0, "u": [1]}));
        let errors = [
            given.number("n", 0).unwrap_err(),
            given.number("x", 0).unwrap_err(),
            given.number("z", 1).unwrap_err(),
            given.flag("f", true).unwrap_err(),
            given.text("t").unwrap_err(),
            given.required_texts("u").unwrap_err(),
        ];
        let told: Vec<String> = errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "`n` is -1, it must be at least 0",
                "`x` must be an integer, it is [1]",
                "`z` is 0, it must be at least 1",
                "`f` must be true or false, it is \"yes\"",
                "`t` must be a string, it is 3",
                "`u` must be a list of strings, it is 1",
            ]
        );
    }
}
