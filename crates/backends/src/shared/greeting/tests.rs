//! The greeter with a real shell, and what is heard, split everywhere.

use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use ptyard_core::TerminalId;
use ptyard_terminal::backend::{Io, Placing, Stdin};

use super::*;

fn spec(argv: &[&str], cwd: &str) -> StartSpec {
    StartSpec {
        id: TerminalId::from_bits(1),
        argv: argv.iter().map(|&argument| argument.to_owned()).collect(),
        cwd: cwd.into(),
        env: [("A".to_owned(), "it's \"x\" $HOME\nnext".to_owned())].into(),
        io: Io::Pipes(Stdin::Pipe),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    }
}

/// Runs a greeter over pipes, and gives everything it printed at once.
fn output_of(greeting: &Greeting) -> Vec<u8> {
    let mut shell = Command::new("sh")
        .args(["-c", &greeting.greeter()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    shell.stdin.take().unwrap().write_all(greeting.script()).unwrap();
    shell.wait_with_output().unwrap().stdout
}

fn greeting(spec: &StartSpec) -> Greeting {
    Greeting::new(spec, &spec.env, Afterwards::Ends, Far::Usual).unwrap()
}

/// What is heard, in pieces of this length: what was said, the program's output, and its code.
fn heard(mut greeting: Greeting, all: &[u8], piece: usize) -> (Vec<Said>, Vec<u8>, Option<i32>) {
    let mut ending = greeting.ending();
    let (mut said, mut output, mut code, mut gone) = (Vec::new(), Vec::new(), None, false);
    for piece in all.chunks(piece) {
        let mut rest = Vec::new();
        if gone {
            rest = piece.to_vec();
        } else {
            let mut next = greeting.hear(piece, &mut rest);
            while let Some(what) = next {
                gone = what == Said::Gone;
                said.push(what);
                next = if gone { None } else { greeting.hear(b"", &mut rest) };
            }
        }
        if gone {
            code = ending.hear(&rest, &mut output).or(code);
        }
    }
    output.extend(ending.rest());
    (said, output, code)
}

#[test]
fn a_program_is_started_with_its_variables_and_its_end_is_heard() {
    let spec = spec(&["sh", "-c", "printf '%s|%s' \"$A\" \"$(pwd)\"; exit 7"], "/usr");
    for piece in [1, 2, 7, 40, 10_000] {
        let greeting = greeting(&spec);
        let all = output_of(&greeting);
        let (said, output, code) = heard(greeting, &all, piece);
        assert!(matches!(said[..], [Said::Ready(_), Said::Pid(_), Said::Gone]), "{said:?}");
        assert_eq!(String::from_utf8_lossy(&output), "it's \"x\" $HOME\nnext|/usr");
        assert_eq!(code, Some(7));
    }
}

#[test]
fn what_cannot_start_is_refused_with_its_reason() {
    for (argv, cwd, code) in [
        (["no-such-program"], "/", ErrorCode::ProgramNotFound),
        (["true"], "/no/such", ErrorCode::CwdNotFound),
    ] {
        let greeting = greeting(&spec(&argv, cwd));
        let all = output_of(&greeting);
        let (said, output, _) = heard(greeting, &all, 5);
        assert!(matches!(said.last(), Some(Said::Refused(error)) if error.code == code), "{said:?}");
        assert_eq!(output, b"");
    }
}

proptest! {
    #[test]
    fn the_end_is_taken_out_and_nothing_else(before: Vec<u8>, after: Vec<u8>, cut in 1_usize..9, cheat: bool) {
        let greeting = greeting(&spec(&["true"], "/"));
        let mut ending = greeting.ending();
        let mut wire = before.clone();
        if cheat {
            wire.extend_from_slice(&ending.mark[..ending.mark.len() - 3]);
        }
        let mut want = wire.clone();
        wire.extend_from_slice(&ending.mark);
        wire.extend_from_slice(b"end:");
        wire.extend_from_slice(b"3\x07");
        wire.extend_from_slice(&after);
        want.extend_from_slice(&after);
        let (mut output, mut code) = (Vec::new(), None);
        for piece in wire.chunks(cut) {
            code = ending.hear(piece, &mut output).or(code);
        }
        output.extend(ending.rest());
        prop_assert_eq!(output, want);
        prop_assert_eq!(code, Some(3));
    }
}

/// Runs a script of pipes over a tty in this shell, with pipes in the tty's place, and this typed.
fn piped(shell: &[&str], spec: &StartSpec, typed: &[u8]) -> (Vec<u8>, Option<i32>, bool) {
    let mut greeting = Greeting::new(spec, &spec.env, Afterwards::Waits, Far::TtyOnly).unwrap();
    let mut child = Command::new(shell[0])
        .args(&shell[1..])
        .args(["-c", &greeting.greeter()])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(greeting.script()).unwrap();
    stdin.write_all(typed).unwrap();
    drop(stdin);
    let all = child.wait_with_output().unwrap().stdout;
    let mut ending = greeting.ending();
    let mut output = Vec::new();
    let mut said = greeting.hear(&all, &mut output);
    while !matches!(said, Some(Said::Gone)) {
        assert!(matches!(said, Some(Said::Ready(_) | Said::Pid(_))), "{shell:?}: {said:?}");
        said = greeting.hear(b"", &mut output);
    }
    let mut heard = Vec::new();
    let code = ending.hear(&output, &mut heard);
    heard.extend(ending.rest());
    (heard, code, ending.is_drained())
}

#[test]
fn pipes_over_a_tty_carry_every_byte_both_ways_in_any_shell() {
    let all: Vec<u8> = (0..=255).chain(*b"\\0101%s%%\\n -e").collect();
    for shell in ["sh", "bash", "busybox sh"] {
        let words: Vec<&str> = shell.split(' ').collect();
        if Command::new(words[0]).args(&words[1..]).args(["-c", ":"]).output().is_err() {
            eprintln!("SKIPPED: there is no {shell} here");
            continue;
        }
        let piped = |spec: &StartSpec, typed: &[u8]| piped(&words, spec, typed);
        let want = [all.clone(), all.clone(), b"end\n".to_vec()].concat();
        let mut spec = spec(&["sh", "-c", "cat; echo end; exit 7"], "/");
        let typed = [piped::line(&all), piped::line(&all), piped::CLOSE.to_vec()].concat();
        assert_eq!(piped(&spec, &typed), (want, Some(7), true), "{shell}");
        spec.io = Io::Pipes(Stdin::Null);
        assert_eq!(piped(&spec, b""), (b"end\n".to_vec(), Some(7), true), "{shell}");
        spec.argv = ["sh", "-c", "kill -KILL $$"].map(str::to_owned).into();
        assert_eq!(piped(&spec, b""), (Vec::new(), Some(137), true), "{shell}");
    }
}

#[test]
fn what_is_said_before_the_program_begins_passes_who_listens_for_its_end() {
    let greeting = greeting(&spec(&["sh", "-c", "echo out; exit 3"], "/"));
    let all = output_of(&greeting);
    for piece in [1, 7, all.len()] {
        let (mut ending, mut passed, mut code) = (greeting.ending(), Vec::new(), None);
        for piece in all.chunks(piece) {
            code = ending.hear(piece, &mut passed).or(code);
        }
        passed.extend(ending.rest());
        let passed = String::from_utf8(passed).unwrap();
        for said in [":ready:", ":pid:", ":go\x07out\n"] {
            assert!(passed.contains(said), "{said} is missing in {passed:?}");
        }
        assert!(!passed.contains(":end:"), "{passed:?}");
        assert_eq!(code, Some(3));
    }
}
