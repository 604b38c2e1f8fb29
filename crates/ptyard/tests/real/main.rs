//! Real agent CLIs under ptyard, against a model of our own on loopback.
//!
//! Each test runs itself again in a network namespace with loopback only, with a home of its own, and does what a person
//! would do: `ptyard launch`, `send`, `status`, `answer`. What cannot be had here (npm's registry, a namespace) is told on
//! stderr, whatever captures the output of tests, and its tests are skipped.
//!
//! Codex and OpenCode run in every gate. The others run when they are asked for:
//!
//! ```console
//! $ cargo test -p ptyard --test real -- --ignored
//! ```

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails, helpers included")]

mod cli;
mod place;
mod scenes;
mod yard;

/// One test for each scene of a CLI.
macro_rules! scenes {
    ($cli:ident, $agent:expr, $(#[$attr:meta])* [$($scene:ident),* $(,)?]) => {
        mod $cli {
            $(
                #[test]
                $(#[$attr])*
                fn $scene() {
                    let name = concat!(stringify!($cli), "::", stringify!($scene));
                    crate::place::inside($agent, name, || crate::scenes::$scene($agent));
                }
            )*
        }
    };
}

scenes!(codex, crate::cli::CODEX, [it_answers]);
scenes!(opencode, crate::cli::OPENCODE, [it_answers]);
scenes!(
    claude,
    crate::cli::CLAUDE,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [it_answers]
);
