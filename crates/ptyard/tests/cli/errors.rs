//! `docs/ERRORS.md` is written from the code: the one place that sees the server's statuses and the command line's.

use std::fmt::Write;

use ptyard::failure::exit_status;
use ptyard_core::ErrorCode;
use ptyard_server::status_of;

const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ERRORS.md");

const HEAD: &str = "\
# Errors

Every refusal carries one of these codes, the same on the command line (`--json`), over HTTP and over MCP, as
`{\"error\": {\"code\", \"message\", \"hint\", \"retryable\"}}`. The text of a code never changes; new codes may be added, so treat one
you do not know as a failure. *Retry* says whether the same request may succeed later without a change. *Exit* is the exit status of
`ptyard`: 1 refused or failed, 2 a value that is wrong in itself, 3 no server. A program's own exit code is never mixed with these: only
`ptyard exec --wait` exits with it, and only when the program ran.

This page is written by a test; after a change of the codes run `UPDATE=1 cargo test -p ptyard --test cli errors`.

";

fn page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str("| code | what happened | HTTP | exit | retry | what to do |\n|---|---|---|---|---|---|\n");
    for &code in ErrorCode::ALL {
        let hint = if code.hint().is_empty() { "the message says more" } else { code.hint() };
        writeln!(
            page,
            "| `{code}` | {} | {} | {} | {} | {} |",
            cell(code.meaning()),
            status_of(code).as_u16(),
            exit_status(code),
            if code.is_retryable() { "yes" } else { "no" },
            cell(hint),
        )
        .unwrap();
    }
    page
}

fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

#[test]
fn the_checked_in_list_of_errors_is_that_of_the_code() {
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(FILE, &page).unwrap();
    }
    let checked_in = std::fs::read_to_string(FILE).unwrap_or_default();
    let differs = checked_in.lines().zip(page.lines()).position(|(old, new)| old != new);
    assert!(
        checked_in == page,
        "docs/ERRORS.md is not what the code says (from line {}): run `UPDATE=1 cargo test -p ptyard --test cli errors` \
         and look at the difference",
        differs.unwrap_or_else(|| checked_in.lines().count().min(page.lines().count())) + 1
    );
}
