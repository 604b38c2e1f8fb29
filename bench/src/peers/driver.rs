//! Another program in a process that is told what to do: one JSON request a line, one JSON answer a line.

use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};

use crate::Outcome;

/// A driver that runs.
pub(crate) struct Driver {
    child: Child,
    stdin: ChildStdin,
    answers: Lines<BufReader<ChildStdout>>,
}

impl Driver {
    /// Starts one, and waits for its first answer.
    pub(crate) async fn start(mut command: Command) -> Outcome<(Self, Value)> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let stdin = child.stdin.take().ok_or("the driver has no stdin")?;
        let stdout = child.stdout.take().ok_or("the driver has no stdout")?;
        let mut driver = Self { child, stdin, answers: BufReader::new(stdout).lines() };
        let first = driver.answer().await?;
        Ok((driver, first))
    }

    /// One call of the driver: its name and arguments as a JSON list.
    pub(crate) async fn call(&mut self, call: Value) -> Outcome<Value> {
        self.stdin.write_all(format!("{call}\n").as_bytes()).await?;
        self.answer().await
    }

    async fn answer(&mut self) -> Outcome<Value> {
        let line = self.answers.next_line().await?.ok_or("the driver ended")?;
        Ok(serde_json::from_str(&line)?)
    }

    /// Ends it, and waits for that.
    pub(crate) async fn stop(mut self) -> Outcome<()> {
        drop(self.stdin);
        self.child.wait().await?;
        Ok(())
    }
}

/// A number of an answer.
pub(crate) fn number(answer: &Value, name: &str) -> Outcome<f64> {
    answer[name].as_f64().ok_or_else(|| format!("no {name} in {answer}").into())
}

/// The numbers of a list in an answer.
pub(crate) fn numbers(answer: &Value, name: &str) -> Vec<f64> {
    answer[name].as_array().into_iter().flatten().filter_map(Value::as_f64).collect()
}
