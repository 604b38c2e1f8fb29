//! Usage errors in the form of all other errors: one line, and the next step.

use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::failure::Failure;

/// Whether `--json` stands among the options: asked before, or although, parsing failed.
pub(crate) fn wants_json(args: &[OsString]) -> bool {
    args.iter().skip(1).take_while(|arg| *arg != "--").any(|arg| arg == "--json")
}

/// The usage error as a failure: clap's first paragraph is the error, its tips and usage are the hint.
pub(crate) fn explain(error: &clap::Error, args: &[OsString]) -> Failure {
    if error.kind() == ErrorKind::InvalidUtf8
        && let Some(bad) = args.iter().find(|arg| arg.to_str().is_none())
    {
        return Failure::usage(
            format!(
                "the argument {bad:?} is not UTF-8: calls to the server are JSON, which holds text alone"
            ),
            r"let a shell make the bytes, for example: --shell bash -c 'rm -- $'\''caf\351'\'",
        );
    }
    let text = error.to_string();
    let mut message = String::new();
    let mut hints = Vec::new();
    for (nth, paragraph) in text.trim().split("\n\n").enumerate() {
        let line = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        if nth == 0 {
            message = line.trim_start_matches("error: ").to_owned();
        } else if let Some(tip) = line.strip_prefix("tip: ") {
            hints.push(tip.replace(" tip: ", "; "));
        } else if let Some(usage) = paragraph.trim().strip_prefix("Usage: ") {
            let forms: Vec<&str> = usage.lines().map(str::trim).collect();
            hints.push(format!("usage: {}", forms.join(" or ")));
        } else if line.starts_with('[') {
            message = format!("{message} {line}");
        }
    }
    if hints.is_empty() {
        hints.push("`ptyard --help` shows the usage".to_owned());
    }
    Failure::usage(message, hints.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::Cli;
    use clap::Parser;

    fn explained(line: &[&str]) -> String {
        let error = Cli::try_parse_from([&["ptyard"], line].concat()).unwrap_err();
        let failure = explain(&error, &[]);
        assert_eq!(failure.status(), 2);
        format!("error: {}\nhint: {}", failure.body().message, failure.body().hint)
    }

    #[test]
    fn usage_errors_are_one_line_and_a_hint() {
        let all = [
            explained(&["exec", "--ttyy", "--", "ls"]),
            explained(&["write"]),
            explained(&["frob"]),
            explained(&["screen", "1000", "--format", "png"]),
            explained(&["exec", "ls"]),
            explained(&["exec", "--env", "=1", "-c", "ls"]),
        ];
        insta::assert_snapshot!(all.join("\n\n"));
    }

    #[test]
    fn json_is_recognised_before_the_dashes_only() {
        let args = |line: &[&str]| line.iter().map(OsString::from).collect::<Vec<_>>();
        assert!(wants_json(&args(&["ptyard", "frob", "--json"])));
        assert!(!wants_json(&args(&["ptyard", "exec", "--", "--json"])));
    }
}
