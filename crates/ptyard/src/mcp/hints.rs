//! What a model can do about a refusal, in the words of the tools: the command line's hints name options that no tool has.

use ptyard_core::ErrorCode;

use super::tools::Family;

/// The next step after `code`; empty when there is none that a model could take.
pub(super) const fn of(code: ErrorCode, family: Family) -> &'static str {
    use ErrorCode as C;
    match code {
        C::UnknownTerminal if matches!(family, Family::Team) => "`list_agents` shows the agents that exist",
        C::TerminalExited if matches!(family, Family::Team) => {
            "it gets no mail any more; start another one with `assign` or `handoff`"
        }
        C::UnknownProfile => "`list_profiles` shows the profiles",
        C::UnknownSession => "`list_agents` with `all` shows the sessions",
        C::UnknownHandoff => "`handoff_result` without an id lists yours",
        C::NoReceiver => "give `receiver_id`; `list_agents` shows the agents",
        C::SelfSend => "give another `receiver_id`",
        C::NotAsking => "`get_status` tells what it does; `send_message` leaves it a message",
        C::InboxFull => "wait until it has read some",
        C::UnknownTerminal => "`list` shows the sessions that exist",
        C::TerminalExited => "start the command again with `exec_command`",
        C::TerminalRunning => "`kill` ends it first",
        C::NoStdin | C::NotATty => "start the command with `tty=true` in `exec_command`",
        C::StdinClosed => "nothing can be typed any more; start the command again",
        C::RawMode => {
            "the program reads raw keys: send the key it ends on with `send_keys` (`C-d`), or `kill` it"
        }
        C::ProgramNotFound => "give a path, or set PATH in `cmd`",
        C::CwdNotFound => "nothing was run; create the directory or give another `workdir`",
        C::LimitUnavailable => "leave it out of `limits`",
        C::TooManyTerminals => "end some with `kill`",
        C::InputTooLarge => "send it in parts",
        C::UnsupportedCondition => "`until` takes exit, quiet:MS, regex:RE, prompt and status:NAME",
        // Whoever runs the server can do something about these, the model cannot.
        C::InvalidRequest
        | C::NotFound
        | C::StateUnwritable
        | C::StateLocked
        | C::StateForeign
        | C::StoreDamaged
        | C::StoreNewer
        | C::IncompatibleKeeper
        | C::IncompatibleState
        | C::Replaced
        | C::BackendUnreachable
        | C::BackendNotSetUp
        | C::BackendUnauthorized
        | C::PlaceNotFound
        | C::UnknownMessage
        | C::MessageSettled
        | C::InvalidProfile
        | C::UnknownFlow
        | C::FlowTaken
        | C::FlowRunning
        | C::InvalidSchedule
        | C::OutputEvicted
        | C::OffsetBeyondEnd
        | C::Unauthorized
        | C::Forbidden
        | C::NoServer
        | C::Incompatible => "",
        _ => code.hint(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_hint_names_what_only_another_face_has() {
        for &code in ErrorCode::ALL {
            for family in [Family::Programs, Family::Team] {
                let hint = of(code, family);
                for other in ["ptyard ", "--", "GET ", "POST ", "`info`", "stdin="] {
                    assert!(!hint.contains(other), "{code}: {hint}");
                }
            }
        }
    }
}
