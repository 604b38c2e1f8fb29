//! The environment of a program: stated variables, sane defaults, and nothing else of the server's.

use std::collections::BTreeMap;

use ptyard_core::TerminalId;

use crate::backend::Io;
use crate::sys::passwd::{self, Account};

use super::lookup::DEFAULT_PATH;

/// The variable by which a program knows the terminal it runs in.
pub const TERMINAL_VARIABLE: &str = "PTYARD_TERMINAL";

/// Variables that a program gets from its caller, else from the server: who and where it is, nothing that
/// authorises.
const INHERITED: &[&str] =
    &["PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "TZ", "TMPDIR", "XDG_RUNTIME_DIR"];

/// The locale's categories are inherited like [`INHERITED`].
const LOCALE_PREFIX: &str = "LC_";

/// Variables that a program gets only from its caller: the path of an agent's socket lets whoever has it use the
/// keys, so the server's own never goes to a program.
const CALLERS_ONLY: &[&str] = &["SSH_AUTH_SOCK"];

/// Set for every program, so that none stops at a pager or in an editor that nobody knows is open.
///
/// An editor that does nothing takes a prepared text as it is, and refuses an empty one.
const QUIET: &[(&str, &str)] =
    &[("PAGER", "cat"), ("GIT_PAGER", "cat"), ("MANPAGER", "cat"), ("GIT_EDITOR", "true")];

/// Set for programs on a tty. Whoever looks at it has our emulator or a better one; both know these sequences.
const ON_TTY: &[(&str, &str)] = &[("TERM", "xterm-256color"), ("COLORTERM", "truecolor")];

/// Set for programs on pipes: there is nobody to answer a question.
const ON_PIPES: &[(&str, &str)] = &[("TERM", "dumb"), ("GIT_TERMINAL_PROMPT", "0")];

/// The whole environment of the program of terminal `id`.
///
/// `caller` is the environment of whoever asked, of which a stated few variables are taken; the server's stand in for
/// those it lacks, and the account database for what both lack. `given` are variables somebody chose for this
/// program: they override everything, and an empty value stays an empty value. The marker
/// [`TERMINAL_VARIABLE`] cannot be overridden: it must be true.
#[must_use]
pub fn clean_environment(
    id: TerminalId,
    caller: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
    io: Io,
) -> BTreeMap<String, String> {
    // What is not UTF-8 cannot be passed on, and is not needed for any of the names above.
    let server = std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect();
    let uid = rustix::process::getuid().as_raw();
    let account = passwd::account(uid).unwrap_or_else(|| nobody(uid));
    compose(id, caller, given, io, &server, &account)
}

/// What a program in a place elsewhere gets in addition to what it finds there: that nobody sees a pager or editor it
/// opens, what kind of terminal looks at it, and `given`.
#[must_use]
pub fn environment_elsewhere(
    id: TerminalId,
    given: &BTreeMap<String, String>,
    io: Io,
) -> BTreeMap<String, String> {
    let on_this = match io {
        Io::Tty(_) => ON_TTY,
        Io::Pipes(_) => ON_PIPES,
    };
    let stated = QUIET.iter().chain(on_this).map(|&(name, value)| (name.to_owned(), value.to_owned()));
    let mut env: BTreeMap<_, _> = stated.collect();
    env.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    env.insert(TERMINAL_VARIABLE.to_owned(), id.to_string());
    env
}

/// What stands in for an account that the database does not have, as in a container run with a chosen uid.
fn nobody(uid: u32) -> Account {
    Account { name: uid.to_string(), home: "/".to_owned(), shell: String::new() }
}

fn compose(
    id: TerminalId,
    caller: &BTreeMap<String, String>,
    given: &BTreeMap<String, String>,
    io: Io,
    server: &BTreeMap<String, String>,
    account: &Account,
) -> BTreeMap<String, String> {
    let mut env = BTreeMap::new();
    let mut set = |name: &str, value: &str| {
        // An empty value of these is no better than none: it would only hide the default.
        if !value.is_empty() {
            env.insert(name.to_owned(), value.to_owned());
        }
    };
    set("PATH", DEFAULT_PATH);
    set("HOME", &account.home);
    set("USER", &account.name);
    set("LOGNAME", &account.name);
    set("SHELL", if account.shell.is_empty() { "/bin/sh" } else { &account.shell });
    set("LANG", "C.UTF-8");
    for (name, value) in server.iter().chain(caller) {
        if INHERITED.contains(&name.as_str()) || name.starts_with(LOCALE_PREFIX) {
            set(name, value);
        }
    }
    for &name in CALLERS_ONLY {
        set(name, caller.get(name).map_or("", String::as_str));
    }
    let on_this = match io {
        Io::Tty(_) => ON_TTY,
        Io::Pipes(_) => ON_PIPES,
    };
    for (name, value) in QUIET.iter().chain(on_this) {
        set(name, value);
    }
    env.extend(given.iter().map(|(name, value)| (name.clone(), value.clone())));
    env.insert(TERMINAL_VARIABLE.to_owned(), id.to_string());
    env
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Stdin;
    use ptyard_core::Size;

    const ID: TerminalId = TerminalId::from_bits(7);
    const TTY: Io = Io::Tty(Size::DEFAULT);

    fn vars(list: &[(&str, &str)]) -> BTreeMap<String, String> {
        list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect()
    }

    fn account() -> Account {
        Account { name: "ada".to_owned(), home: "/home/ada".to_owned(), shell: "/bin/zsh".to_owned() }
    }

    #[test]
    fn case_v01_a_server_without_an_environment_still_gives_a_sane_one() {
        let none = BTreeMap::new();
        let env = compose(ID, &none, &none, TTY, &none, &account());
        let expected = vars(&[
            ("COLORTERM", "truecolor"),
            ("GIT_EDITOR", "true"),
            ("GIT_PAGER", "cat"),
            ("HOME", "/home/ada"),
            ("LANG", "C.UTF-8"),
            ("LOGNAME", "ada"),
            ("MANPAGER", "cat"),
            ("PAGER", "cat"),
            ("PATH", DEFAULT_PATH),
            ("PTYARD_TERMINAL", &ID.to_string()),
            ("SHELL", "/bin/zsh"),
            ("TERM", "xterm-256color"),
            ("USER", "ada"),
        ]);
        assert_eq!(env, expected);
    }

    #[test]
    fn no_secret_of_the_server_or_the_caller_reaches_a_program() {
        let server = vars(&[("OPENAI_API_KEY", "sk"), ("SSH_AUTH_SOCK", "/s"), ("LD_PRELOAD", "x.so")]);
        let caller = vars(&[("AWS_SECRET_ACCESS_KEY", "k"), ("PTYARD_TOKEN", "t")]);
        let env = compose(ID, &caller, &BTreeMap::new(), TTY, &server, &account());
        for name in server.keys().chain(caller.keys()) {
            assert!(!env.contains_key(name), "{name}");
        }
    }

    #[test]
    fn case_v02_the_callers_variables_go_before_the_servers() {
        let server = vars(&[("PATH", "/server"), ("LC_ALL", "de_DE.UTF-8"), ("TZ", "UTC")]);
        let caller = vars(&[("PATH", "/mybin:/server"), ("SSH_AUTH_SOCK", "/agent"), ("TZ", "")]);
        let env = compose(ID, &caller, &BTreeMap::new(), TTY, &server, &account());
        assert_eq!(env["PATH"], "/mybin:/server");
        assert_eq!(env["LC_ALL"], "de_DE.UTF-8");
        assert_eq!(env["SSH_AUTH_SOCK"], "/agent");
        assert_eq!(env["TZ"], "UTC");
    }

    #[test]
    fn what_was_given_overrides_everything_and_empty_stays_empty() {
        let given = vars(&[("PAGER", ""), ("TERM", "vt100"), ("SECRET", "mine"), ("PTYARD_TERMINAL", "lie")]);
        let none = BTreeMap::new();
        let env = compose(ID, &none, &given, TTY, &none, &account());
        assert_eq!((env["PAGER"].as_str(), env["TERM"].as_str()), ("", "vt100"));
        assert_eq!(env["SECRET"], "mine");
        assert_eq!(env["PTYARD_TERMINAL"], ID.to_string());
    }

    #[test]
    fn a_program_on_pipes_is_told_that_nobody_looks() {
        let none = BTreeMap::new();
        let env = compose(ID, &none, &none, Io::Pipes(Stdin::Null), &none, &nobody(4711));
        assert_eq!((env["TERM"].as_str(), env["GIT_TERMINAL_PROMPT"].as_str()), ("dumb", "0"));
        assert_eq!((env["HOME"].as_str(), env["SHELL"].as_str()), ("/", "/bin/sh"));
        assert!(!env.contains_key("COLORTERM"));
    }
}
