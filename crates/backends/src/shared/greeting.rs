//! Starting a program through somebody else's terminal, and hearing of its end there.
//!
//! What a shell elsewhere is given on its command line is seen by everybody there, and what it prints before the
//! program runs would be taken for the program's. So the command line holds only a *greeter* with a random word in it.
//! It makes the terminal transparent, says the word, and reads a script that comes as input; that sets the variables
//! and the directory, says the word again, and runs the program. Output is the program's from then on, until the word
//! comes a last time with the program's code: the end comes with the last bytes, in their order.
//!
//! What is said is said in a control sequence that terminals ignore (OSC 7777): a person who looks on sees nothing, and
//! no program stops in the middle of one, so nothing of what it prints has to be held back.

use std::collections::BTreeMap;
use std::fmt::Write;

use ptyard_core::ErrorCode;
use ptyard_terminal::backend::{Io, StartError, StartSpec};

use super::start_error;

/// What the far side said, as far as it has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Said {
    /// The greeter is there, with this process id, and reads the script.
    Ready(u32),
    /// The program will have this process id.
    Pid(u32),
    /// The program begins; what follows is its output.
    Gone,
    /// It does not start.
    Refused(StartError),
}

/// One start through a greeter.
#[derive(Debug)]
pub(crate) struct Greeting {
    word: String,
    script: String,
    /// The directory and the program, as they are told of.
    asked: Asked,
    /// What came and was not understood yet.
    heard: Vec<u8>,
}

/// What a start may fail for, by its name.
#[derive(Debug, Default)]
struct Asked {
    cwd: String,
    program: String,
}

/// How what is said begins and ends, for the shell's `printf`.
pub(crate) const BEGIN: &str = r"\033]7777;";
pub(crate) const END: &str = r"\007";

/// Most that may come before the program does: banners and messages of the day.
const MOST_HEARD: usize = 256 << 10;

/// What the shell does when it has said its last word: that the program has ended, or does not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Afterwards {
    /// It waits for a line, so that the terminal stays until everything was heard: the place forgets what a terminal
    /// printed that is gone before it was told.
    Waits,
    /// It ends with the program's code.
    Ends,
}

/// How the far side's streams are made ready.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Far {
    /// As they were found.
    AsFound,
    /// A tty that was made as transparent as ours becomes a usual one; pipes are made one, in the order of writing.
    Usual,
    /// There is nothing but a tty. It becomes a usual one for a program that is to have one; for one on pipes it stays
    /// transparent and carries them ([`piped`]).
    TtyOnly,
}

impl Greeting {
    pub(crate) fn new(
        spec: &StartSpec,
        env: &BTreeMap<String, String>,
        then: Afterwards,
        far: Far,
    ) -> Result<Self, StartError> {
        let word = any_word()?;
        let script = script(&word, spec, env, then, far)?;
        let program = spec.argv.first().cloned().unwrap_or_default();
        let asked = Asked { cwd: spec.cwd.display().to_string(), program };
        Ok(Self { word, script, asked, heard: Vec::new() })
    }

    /// One whose shell does what `script` says of the word, instead of running the program.
    #[cfg(any(feature = "blaxel", feature = "ssh"))]
    pub(crate) fn handing_over(script: impl FnOnce(&str) -> String) -> Result<Self, StartError> {
        let word = any_word()?;
        let script = script(&word);
        Ok(Self { word, script, asked: Asked::default(), heard: Vec::new() })
    }

    /// The greeter, for `sh -c`. It holds no single quote and no line break, so that it can be quoted anywhere.
    pub(crate) fn greeter(&self) -> String {
        let Self { word, script, .. } = self;
        format!(
            "s=$(stty -g 2>/dev/null); stty raw -echo 2>/dev/null; printf \"{BEGIN}{word}:ready:%s{END}\" $$; \
             t=$(dd bs=1 count={} 2>/dev/null); [ -n \"$s\" ] && stty \"$s\" 2>/dev/null; eval \"$t\"",
            script.len()
        )
    }

    /// What the greeter reads.
    pub(crate) fn script(&self) -> &[u8] {
        self.script.as_bytes()
    }

    /// What listens for the end.
    pub(crate) fn ending(&self) -> Ending {
        Ending::of(&self.word)
    }

    /// The word by which all that is said is known.
    pub(crate) fn word(&self) -> &str {
        &self.word
    }

    /// Takes what came; says what it means, once per meaning, and leaves in `rest` what came behind the last word.
    pub(crate) fn hear(&mut self, bytes: &[u8], rest: &mut Vec<u8>) -> Option<Said> {
        self.heard.extend_from_slice(bytes);
        let word = format!("\x1b]7777;{}:", self.word).into_bytes();
        let at = find(&self.heard, &word);
        let Some(at) = at else {
            if self.heard.len() > MOST_HEARD {
                return Some(Said::Refused(self.silence()));
            }
            return None;
        };
        let behind = at + word.len();
        let end = behind + find(&self.heard[behind..], b"\x07")?;
        let said = String::from_utf8_lossy(&self.heard[behind..end]).into_owned();
        let after = self.heard.split_off(end + 1);
        match said.split_once(':') {
            Some(("ready", pid)) => {
                self.heard = after;
                Some(pid.parse().map_or_else(|_| Said::Refused(self.silence()), Said::Ready))
            }
            Some(("pid", pid)) => {
                self.heard = after;
                Some(pid.parse().map_or_else(|_| Said::Refused(self.silence()), Said::Pid))
            }
            _ if said == "go" => {
                self.heard.clear();
                rest.extend_from_slice(&after);
                Some(Said::Gone)
            }
            _ => {
                self.heard = after;
                let code = match said.as_str() {
                    "cwd" => ErrorCode::CwdNotFound,
                    "missing" => ErrorCode::ProgramNotFound,
                    "denied" => ErrorCode::ProgramNotExecutable,
                    "bare" => ErrorCode::Unsupported,
                    _ => ErrorCode::SpawnFailed,
                };
                Some(Said::Refused(start_error(code, self.asked.meaning(code))))
            }
        }
    }

    /// What was said instead of the word.
    pub(crate) fn silence(&self) -> StartError {
        let heard = String::from_utf8_lossy(&self.heard);
        let heard: String = heard.chars().filter(|c| !c.is_control() || *c == '\n').collect();
        start_error(ErrorCode::BackendUnreachable, heard.trim().to_owned())
    }
}

impl Asked {
    fn meaning(&self, code: ErrorCode) -> String {
        let Self { cwd, program } = self;
        match code {
            ErrorCode::CwdNotFound => format!("{cwd}: it cannot be entered there"),
            ErrorCode::ProgramNotFound => format!("{program}: not found there"),
            ErrorCode::ProgramNotExecutable => format!("{program}: it cannot be executed there"),
            ErrorCode::Unsupported => {
                "programs are carried by python3, which is not found there; use an image that has it"
                    .to_owned()
            }
            _ => format!("{program}: the shell there cannot start it"),
        }
    }
}

/// A word that nobody else says.
pub(crate) fn any_word() -> Result<String, StartError> {
    let mut random = [0; 16];
    getrandom::fill(&mut random)
        .map_err(|error| start_error(ErrorCode::Internal, format!("no random bytes: {error}")))?;
    Ok(random.iter().fold("ptyard-".to_owned(), |mut word, byte| {
        let _infallible = write!(word, "{byte:02x}");
        word
    }))
}

pub(crate) fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

/// Text as one word for a POSIX shell.
pub(crate) fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

fn script(
    word: &str,
    spec: &StartSpec,
    env: &BTreeMap<String, String>,
    then: Afterwards,
    far: Far,
) -> Result<String, StartError> {
    let mut script = match (far, spec.io) {
        (Far::AsFound, _) => String::new(),
        (Far::TtyOnly, Io::Pipes(_)) => "stty raw -echo 2>/dev/null\n".to_owned(),
        (Far::Usual | Far::TtyOnly, Io::Tty(_)) => {
            "stty sane 2>/dev/null; stty iutf8 2>/dev/null\n".to_owned()
        }
        (Far::Usual, Io::Pipes(_)) => "exec 2>&1\n".to_owned(),
    };
    for (name, value) in env {
        let is_name = !name.is_empty()
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        if !is_name || value.contains('\0') {
            let message = format!(
                "{name:?} cannot be a variable of a shell: its name has letters, digits and `_`, and its value no NUL"
            );
            return Err(start_error(ErrorCode::InvalidArgument, message));
        }
        script += &format!("export {name}={}\n", quoted(value));
    }
    let waits = match then {
        Afterwards::Waits => "IFS= read -r s; ",
        Afterwards::Ends => "",
    };
    if !spec.cwd.as_os_str().is_empty() {
        let cwd = quoted(&spec.cwd.to_string_lossy());
        script +=
            &format!("cd {cwd} 2>/dev/null || {{ printf '{BEGIN}{word}:cwd{END}'; {waits}exit 126; }}\n");
    }
    let argv: Vec<String> = spec.argv.iter().map(|argument| quoted(argument)).collect();
    let Some(program) = argv.first() else {
        return Err(start_error(ErrorCode::InvalidArgument, "the argument list is empty"));
    };
    if argv.iter().any(|argument| argument.contains('\0')) {
        return Err(start_error(ErrorCode::InvalidArgument, "an argument holds a NUL character"));
    }
    script += &format!(
        "command -v {program} >/dev/null 2>&1 || {{ printf '{BEGIN}{word}:missing{END}'; {waits}exit 127; }}\n"
    );
    let argv = argv.join(" ");
    if let (Far::TtyOnly, Io::Pipes(stdin)) = (far, spec.io) {
        return Ok(script + &piped::script(word, &argv, stdin));
    }
    let end = format!("printf '{BEGIN}{word}:end:%s{END}' $code; ");
    // For whoever was not there when it was said it is said again; the line that asks for it is no output.
    let end = match then {
        Afterwards::Waits => {
            format!("while {end}stty -echo 2>/dev/null; IFS= read -r s; do :; done; ")
        }
        Afterwards::Ends => end,
    };
    // An interrupt typed into the terminal reaches the shell too, which is to outlive it; the child gets the usual
    // handling back. The child is one of its own, so that its process is known and it alone becomes the program; what
    // shells have to say about its end is no output.
    script += &format!(
        "trap : HUP INT QUIT TERM TSTP; unset s t; exec 5>&2 2>/dev/null\n\
         (exec 2>&5 5>&-; exec sh -c 'printf \"{BEGIN}{word}:pid:%s{END}{BEGIN}{word}:go{END}\" $$; exec \"$@\"' sh {argv})\n\
         code=$?; {end}exit $code\n"
    );
    Ok(script)
}

/// Listens for the end in a program's output, and takes it out.
#[derive(Debug)]
pub(crate) struct Ending {
    mark: Vec<u8>,
    /// What may be the beginning of it: at the most a mark and what is said in it.
    held: Vec<u8>,
    drained: bool,
}

/// Longest that is said after a mark: `end:` and a code.
const MOST_SAID: usize = 8;

impl Ending {
    /// What listens for the end of a program whose shell was given this word.
    pub(crate) fn of(word: &str) -> Self {
        Self { mark: format!("\x1b]7777;{word}:").into_bytes(), held: Vec::new(), drained: false }
    }

    /// Takes output; puts what is the program's into `output`, and says the code when it has come. What is said again is
    /// taken out again.
    pub(crate) fn hear(&mut self, bytes: &[u8], output: &mut Vec<u8>) -> Option<i32> {
        self.held.extend_from_slice(bytes);
        let mut code = None;
        while let Some(at) = find(&self.held, &self.mark) {
            output.extend(self.held.drain(..at));
            let behind = &self.held[self.mark.len()..];
            let length = match behind.iter().position(|&byte| byte == 7) {
                Some(length) if length <= MOST_SAID => length,
                None if behind.len() <= MOST_SAID => return code,
                // Somebody else's.
                _ => {
                    output.extend(self.held.drain(..self.mark.len()));
                    continue;
                }
            };
            let said = String::from_utf8_lossy(&behind[..length]);
            let said_code = said.strip_prefix("end:");
            if said_code.is_none() && said != DRAINED {
                // What is said before the program begins is for somebody else.
                output.extend(self.held.drain(..self.mark.len()));
                continue;
            }
            self.drained |= said == DRAINED;
            code = code.or(said_code.and_then(|code| code.parse().ok()));
            self.held.drain(..self.mark.len() + length + 1);
        }
        let length = self.held.len();
        let kept = (length.saturating_sub(self.mark.len() - 1)..length)
            .find(|&from| self.mark.starts_with(&self.held[from..]))
            .unwrap_or(length);
        output.extend(self.held.drain(..kept));
        code
    }

    /// Whether pipes that a tty carries were closed by all who held them.
    #[cfg_attr(not(feature = "socket"), expect(dead_code, reason = "only who carries pipes asks"))]
    pub(crate) const fn is_drained(&self) -> bool {
        self.drained
    }

    /// What was held back, when nothing more comes.
    pub(crate) fn rest(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.held)
    }
}

/// What is said when pipes were closed by all who held them.
const DRAINED: &str = "eof";

pub(crate) mod piped;
#[cfg(test)]
mod tests;
