//! The MCP servers that an agent is started with: the yard's own, and those of its profile.

use std::collections::BTreeMap;
use std::path::Path;

use ptyard_core::TerminalId;
use ptyard_providers::launch::{Calls, McpServer, McpTransport};
use ptyard_terminal::local::env::TERMINAL_VARIABLE;
use serde_json::{Map, Value};

use super::launch::STATE_VARIABLE;
use super::token::{TOKEN_VARIABLE, Token};

/// The name of the yard's own server.
pub(super) const OWN: &str = "ptyard";

/// The yard's own server, which speaks for one terminal. Its token is never in an argument.
pub(super) fn own(program: &Path, state: &Path, terminal: TerminalId, token: &Token) -> McpServer {
    let state = state.display().to_string();
    let id = terminal.to_string();
    let transport = McpTransport::Stdio {
        command: program.display().to_string(),
        args: ["--state", &state, "mcp", "--terminal", &id].map(str::to_owned).to_vec(),
        env: BTreeMap::from([(TERMINAL_VARIABLE.to_owned(), id), (STATE_VARIABLE.to_owned(), state)]),
        secret: BTreeMap::from([(TOKEN_VARIABLE.to_owned(), token.reveal())]),
    };
    // What the caller may do, the yard checks by its token.
    McpServer { name: OWN.to_owned(), transport, calls: Calls::Unasked }
}

/// The servers of a profile, and what is said of those that cannot be given.
pub(super) fn of_profile(servers: &Map<String, Value>) -> (Vec<McpServer>, Vec<String>) {
    let (mut given, mut notices) = (Vec::new(), Vec::new());
    for (name, value) in servers {
        match transport(value) {
            _ if name == OWN => notices
                .push(format!("the MCP server {OWN} is the yard's own; that of the profile is not used")),
            Some(transport) => given.push(McpServer { name: name.clone(), transport, calls: Calls::AsUsual }),
            None => notices
                .push(format!("the MCP server {name:?} of the profile has neither a `command` nor a `url`")),
        }
    }
    (given, notices)
}

/// Tells servers these variables, where they are not given others: in no argument, whatever they hold.
pub(super) fn introduce(servers: &mut [McpServer], variables: &BTreeMap<String, String>) {
    for server in servers {
        if let McpTransport::Stdio { env, secret, .. } = &mut server.transport {
            let untold = variables.iter().filter(|(name, _)| !env.contains_key(*name));
            secret.extend(untold.map(|(name, value)| (name.clone(), value.clone())));
        }
    }
}

fn transport(value: &Value) -> Option<McpTransport> {
    let text = |name: &str| value.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let map = |name: &str| {
        let entries = value.get(name).and_then(Value::as_object).into_iter().flatten();
        entries.map(|(key, value)| (key.clone(), scalar(value))).collect::<BTreeMap<_, _>>()
    };
    if let Some(url) = text("url") {
        return Some(McpTransport::Http { url: url.to_owned(), headers: map("headers") });
    }
    let args = value.get("args").and_then(Value::as_array).into_iter().flatten().map(scalar).collect();
    let command = text("command")?.to_owned();
    Some(McpTransport::Stdio { command, args, env: map("env"), secret: BTreeMap::new() })
}

/// A value as one who wrote YAML meant it: `1` is an argument, too.
fn scalar(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_a_profile_says_becomes_servers_and_the_rest_is_told() {
        let Value::Object(servers) = json!({
            "db": {"command": "db-mcp", "args": ["--port", 1], "env": {"A": true}},
            "docs": {"type": "http", "url": "https://example.com"},
            "ptyard": {"command": "other"},
            "empty": {},
        }) else {
            unreachable!()
        };
        let (given, notices) = of_profile(&servers);
        let stdio = McpTransport::Stdio {
            command: "db-mcp".to_owned(),
            args: vec!["--port".to_owned(), "1".to_owned()],
            env: BTreeMap::from([("A".to_owned(), "true".to_owned())]),
            secret: BTreeMap::new(),
        };
        let http = McpTransport::Http { url: "https://example.com".to_owned(), headers: BTreeMap::new() };
        let named =
            |name: &str, transport| McpServer { name: name.to_owned(), transport, calls: Calls::AsUsual };
        assert_eq!(given, [named("db", stdio), named("docs", http)]);
        assert_eq!(notices.len(), 2);
    }

    #[test]
    fn servers_are_told_what_the_profile_does_not_tell_them_and_never_in_an_argument() {
        let Value::Object(servers) = json!({
            "db": {"command": "db-mcp", "env": {"ID": "mine"}},
            "docs": {"type": "http", "url": "https://example.com"},
        }) else {
            unreachable!()
        };
        let (mut given, _) = of_profile(&servers);
        let told = [("ID", "theirs"), ("PORT", "1")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        introduce(&mut given, &BTreeMap::from(told));
        let McpTransport::Stdio { args, env, secret, .. } = &given[0].transport else {
            panic!("it is started")
        };
        assert_eq!((args.len(), env["ID"].as_str(), env.len()), (0, "mine", 1));
        assert_eq!(*secret, BTreeMap::from([("PORT".to_owned(), "1".to_owned())]));
    }

    #[test]
    fn the_yards_own_server_has_its_token_in_no_argument() {
        let token = Token::draw();
        let own = own(Path::new("/bin/ptyard"), Path::new("/state"), TerminalId::from_bits(7), &token);
        let McpTransport::Stdio { args, env, secret, .. } = own.transport else { panic!("it is started") };
        let shown = token.reveal();
        assert!(args.iter().chain(env.values()).all(|text| !text.contains(&shown)));
        assert_eq!(secret[TOKEN_VARIABLE], shown);
        assert_eq!(args[..3], ["--state", "/state", "mcp"]);
    }
}
