//! The description of the API, made from the wire types and the handlers.

use std::sync::OnceLock;

use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::{Modify, OpenApi};

use crate::api::stream::ClientNote;
use crate::routes::{agents, events, flows, leftovers, life, look, mail, meta, stream, windows};

#[derive(OpenApi)]
#[openapi(
    info(
        title = "ptyard",
        description = "The terminal yard for AI agents: start programs, type into them, read what they print.",
        license(name = "Apache-2.0 OR MIT", identifier = "Apache-2.0 OR MIT")
    ),
    paths(
        windows::exec,
        windows::adopt,
        look::list,
        look::info,
        life::remove,
        windows::write,
        look::output,
        look::screen,
        windows::wait,
        life::resize,
        life::signal,
        life::close_stdin,
        life::kill,
        stream::stream,
        agents::launch,
        agents::speaker,
        agents::hook,
        agents::tell,
        agents::hand_off,
        agents::handoffs,
        agents::handoff,
        agents::assign,
        agents::status,
        agents::reset,
        agents::answer,
        agents::sessions,
        agents::session,
        agents::shut_down,
        agents::profiles,
        agents::providers,
        flows::add,
        flows::list,
        flows::show,
        flows::remove,
        flows::run,
        flows::pause,
        flows::resume,
        mail::send,
        mail::inbox,
        mail::mailbox,
        mail::set_mailbox,
        mail::message,
        mail::cancel,
        mail::retry,
        events::events,
        leftovers::sweep,
        meta::version,
        meta::openapi,
        meta::stop,
        meta::replace,
        meta::health,
    ),
    components(schemas(ClientNote)),
    security((), ("token" = [])),
    modifiers(&TokenScheme)
)]
struct Description;

/// Describes the token of TCP peers; peers of the Unix socket need none.
struct TokenScheme;

impl Modify for TokenScheme {
    fn modify(&self, description: &mut utoipa::openapi::OpenApi) {
        let scheme = SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer));
        description.components.get_or_insert_default().add_security_scheme("token", scheme);
    }
}

/// The description as JSON (OpenAPI 3.1), the text of `docs/openapi.json`.
#[must_use]
pub fn openapi_json() -> &'static str {
    static TEXT: OnceLock<String> = OnceLock::new();
    TEXT.get_or_init(|| {
        let mut text = Description::openapi()
            .to_pretty_json()
            .expect("invariant: the description is made of plain values");
        text.push('\n');
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Relative to the crate.
    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/openapi.json");

    #[test]
    fn the_checked_in_description_is_the_one_that_is_served() {
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(FILE, openapi_json()).unwrap();
        }
        let checked_in = std::fs::read_to_string(FILE).unwrap_or_default();
        let differs = checked_in.lines().zip(openapi_json().lines()).position(|(old, new)| old != new);
        assert!(
            checked_in == openapi_json(),
            "docs/openapi.json is not what the server serves (from line {}): run \
             `UPDATE=1 cargo test -p ptyard-server openapi` and look at the difference",
            differs.unwrap_or_else(|| checked_in.lines().count().min(openapi_json().lines().count())) + 1
        );
    }

    #[test]
    fn every_endpoint_is_described_and_refuses_in_one_shape() {
        let described: serde_json::Value = serde_json::from_str(openapi_json()).unwrap();
        let paths = described["paths"].as_object().unwrap();
        assert_eq!(paths.len(), 43);
        for (path, methods) in paths {
            for (method, call) in methods.as_object().unwrap() {
                let refusal = &call["responses"]["default"]["content"]["application/json"]["schema"]["$ref"];
                let is_refused_so = refusal == "#/components/schemas/ErrorReply";
                assert!(is_refused_so || path == "/healthz", "{method} {path}: {refusal}");
            }
        }
    }
}
