//! What can stand in an environment.

use std::collections::BTreeMap;

use crate::error::YardError;

/// Refuses what cannot; `field` is what the caller calls it.
///
/// # Errors
/// [`YardError::InvalidArgument`] with the name of the variable, never its value.
pub fn check_variables(field: &str, variables: &BTreeMap<String, String>) -> Result<(), YardError> {
    let is_bad = |(name, value): &(&String, &String)| {
        name.is_empty() || name.contains(['=', '\0']) || value.contains('\0')
    };
    match variables.iter().find(is_bad) {
        None => Ok(()),
        Some((name, _value)) => Err(YardError::InvalidArgument(format!(
            "{field} holds {name:?}, which cannot be a variable: names are not empty and hold no `=`, and nothing \
             holds NUL"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_no_environment_can_hold_is_refused_by_its_name_alone() {
        let of =
            |name: &str, value: &str| check_variables("env", &[(name.to_owned(), value.to_owned())].into());
        for (name, value) in [("", "secret"), ("A=B", "secret"), ("A\0", "secret"), ("A", "secret\0")] {
            let said = of(name, value).unwrap_err().to_string();
            assert!(said.contains(&format!("{name:?}")) && !said.contains("secret"), "{said}");
        }
        for (name, value) in [("A", ""), ("a b", "x=y"), ("ä", "ü")] {
            assert!(of(name, value).is_ok(), "{name}");
        }
    }
}
