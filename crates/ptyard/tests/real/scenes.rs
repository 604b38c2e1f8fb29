//! What is shown with every CLI.

use crate::cli::Cli;
use crate::yard::Yard;

/// It starts, takes a message, works on it and is done; what it said is what the model said.
pub(crate) fn it_answers(cli: &'static Cli) {
    let yard = Yard::new(cli);
    let gate = yard
        .model
        .hold("first task", "It is done, and these are the points:\n\n- one\n- two\n\nThat is all.");
    yard.ready();
    yard.send("Do the first task.");
    yard.model.wait_asked("first task");
    yard.becomes("processing");
    gate.open();
    let status = yard.becomes("completed");
    assert_eq!(status["explain"]["hold"], serde_json::Value::Null, "{status}");
    assert_eq!(yard.model.count("first task"), 1);
}
