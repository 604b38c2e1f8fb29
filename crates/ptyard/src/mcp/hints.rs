//! What a model can do about a refusal, in the words of the tools: the command line's hints name options that no tool has.

use ptyard_core::ErrorCode;

/// The next step after `code`; empty when there is none that a model could take.
pub(super) const fn of(code: ErrorCode) -> &'static str {
    use ErrorCode as C;
    match code {
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
        | C::PlaceNotFound
        | C::UnknownMessage
        | C::MessageSettled
        | C::InboxFull
        | C::UnknownProfile
        | C::InvalidProfile
        | C::UnknownSession
        | C::UnknownHandoff
        | C::UnknownFlow
        | C::FlowTaken
        | C::FlowRunning
        | C::InvalidSchedule
        | C::NotAsking
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
            let hint = of(code);
            for other in ["ptyard ", "--", "GET ", "POST ", "`info`", "stdin="] {
                assert!(!hint.contains(other), "{code}: {hint}");
            }
        }
    }
}
