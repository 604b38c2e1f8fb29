//! The carrier there, without a channel.

use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use ptyard_core::TerminalId;
use ptyard_terminal::backend::{Io, Placing, StartSpec, Stdin};
use ptyard_testkit::until;

use super::*;

/// Begins this script under a carrier, as the shell of a channel would; the channel, and the program's process.
#[expect(clippy::zombie_processes, reason = "who calls this waits for it")]
fn begun(script: &str) -> (Child, u32) {
    let mut random = [0; 16];
    getrandom::fill(&mut random).unwrap();
    let id = TerminalId::from_bits(u128::from_ne_bytes(random));
    let spec = StartSpec {
        id,
        argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
        cwd: "/".into(),
        env: [("PTYARD_TERMINAL".to_owned(), id.to_string())].into(),
        io: Io::Pipes(Stdin::Null),
        ceilings: Default::default(),
        title: None,
        placing: Placing::Exact,
    };
    let mut greeting = Greeting::handing_over(|word| program::script(CARRIER, word, &[BEGIN, word])).unwrap();
    let mut shell = Command::new("sh");
    shell.args(["-c", &greeting.greeter()]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut shell = shell.spawn().unwrap();
    let (mouth, ear) = (shell.stdin.as_mut().unwrap(), shell.stdout.as_mut().unwrap());
    let order = program::order(&spec, Duration::from_secs(60));
    let mut words = [greeting.script().to_vec(), order.into_bytes()].into_iter();
    let (mut program, mut room, mut rest) = (0, [0; 256], Vec::new());
    loop {
        let read = ear.read(&mut room).unwrap();
        assert!(read > 0, "{:?}", greeting.silence());
        let mut said = greeting.hear(&room[..read], &mut rest);
        while let Some(what) = said {
            match what {
                Said::Ready(_) => mouth.write_all(&words.next().unwrap()).unwrap(),
                Said::Pid(pid) => program = pid,
                Said::Gone => return (shell, program),
                Said::Refused(error) => panic!("{error}"),
            }
            said = greeting.hear(b"", &mut rest);
        }
    }
}

#[tokio::test]
async fn a_program_whose_start_nobody_heard_of_is_ended() {
    let (mut shell, program) = begun("trap '' HUP; sleep 600; sleep 600");
    let program = Path::new("/proc").join(program.to_string());
    assert!(program.exists());
    drop((shell.stdin.take(), shell.stdout.take()));
    shell.wait().unwrap();
    until("the program is gone", || !program.exists()).await;
}
