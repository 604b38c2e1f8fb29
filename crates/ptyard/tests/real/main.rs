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
mod host;
mod place;
mod scenes;
mod yard;

/// One test for each scene of a CLI.
macro_rules! scenes {
    ($cli:ident, $agent:expr, $room:ident, #[$attr:meta] [$($scene:ident),* $(,)?]) => {
        mod $cli {
            $(
                #[test]
                #[$attr]
                fn $scene() {
                    let name = concat!(stringify!($cli), "::", stringify!($scene));
                    crate::place::inside($agent, name, || crate::$room::$scene($agent));
                }
            )*
        }
    };
}

scenes!(
    codex,
    crate::cli::CODEX,
    scenes,
    #[cfg(target_os = "linux")]
    [
        a_message_is_worked_on_and_answered,
        a_trusted_folder_is_not_asked_about,
        installed_hooks_tell_which_text_was_taken,
        a_question_is_answered_by_a_person_and_mail_waits,
        three_messages_are_delivered_one_per_turn,
        thirty_lines_arrive_as_they_are,
        an_interrupted_turn_is_over,
        a_failed_request_ends_the_turn,
        an_exit_is_told,
        a_crash_is_told,
        a_server_that_dies_in_a_turn_loses_nothing,
    ]
);

// It takes seconds to come up, so a gate shows of it what its own ways of drawing can break.
scenes!(
    opencode,
    crate::cli::OPENCODE,
    scenes,
    #[cfg(target_os = "linux")]
    [
        its_server_tells_while_it_works,
        a_question_is_answered_by_a_person_and_mail_waits,
        three_messages_are_delivered_one_per_turn,
        thirty_lines_arrive_as_they_are,
        a_server_that_dies_in_a_turn_loses_nothing,
    ]
);

scenes!(
    opencode_more,
    crate::cli::OPENCODE,
    scenes,
    #[ignore = "slow: -- --ignored"]
    [
        a_message_is_worked_on_and_answered,
        an_interrupted_turn_is_over,
        a_failed_request_ends_the_turn,
        an_exit_is_told,
        a_crash_is_told,
    ]
);

scenes!(
    claude,
    crate::cli::CLAUDE,
    scenes,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [
        a_message_is_worked_on_and_answered,
        a_hook_tells_which_text_was_taken,
        installed_hooks_beside_its_own_change_nothing,
        a_question_is_answered_by_a_person_and_mail_waits,
        three_messages_are_delivered_one_per_turn,
        thirty_lines_arrive_as_they_are,
        an_interrupted_turn_is_over,
        a_failed_request_ends_the_turn,
        an_exit_is_told,
        a_crash_is_told,
        a_server_that_dies_in_a_turn_loses_nothing,
    ]
);

scenes!(
    qwen,
    crate::cli::QWEN,
    scenes,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [
        a_message_is_worked_on_and_answered,
        installed_hooks_tell_of_its_turns,
        a_question_is_answered_by_a_person_and_mail_waits,
        three_messages_are_delivered_one_per_turn,
    ]
);

scenes!(
    gemini,
    crate::cli::GEMINI,
    scenes,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [a_message_is_worked_on_and_answered, installed_hooks_tell_of_its_turns]
);

scenes!(
    copilot,
    crate::cli::COPILOT,
    scenes,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [a_message_is_worked_on_and_answered, installed_hooks_tell_of_its_turns]
);

scenes!(
    kimi,
    crate::cli::KIMI,
    scenes,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [a_message_is_worked_on_and_answered, installed_hooks_tell_of_its_turns]
);

scenes!(
    codex_as_a_client,
    crate::cli::CODEX,
    host,
    #[cfg(target_os = "linux")]
    [a_client_starts_a_program_and_types_into_it, two_agents_send_each_other_messages]
);

scenes!(
    opencode_as_a_client,
    crate::cli::OPENCODE,
    host,
    #[cfg(target_os = "linux")]
    [a_client_starts_a_program_and_types_into_it, two_agents_send_each_other_messages]
);

scenes!(
    claude_as_a_client,
    crate::cli::CLAUDE,
    host,
    #[ignore = "fetches more than a gate may: -- --ignored"]
    [a_client_starts_a_program_and_types_into_it, two_agents_send_each_other_messages]
);
