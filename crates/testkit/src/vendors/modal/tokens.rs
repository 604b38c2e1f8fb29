//! Tokens for machines.

use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::{Faults, random};

/// How long tokens are good by default.
const LIFE: Duration = Duration::from_secs(3600);

/// Tokens that were given out, and until when they are good.
#[derive(Debug, Default)]
pub(super) struct Tokens(HashMap<String, Instant>);

impl Tokens {
    /// A new one. What it says of itself is right by the vendor's clock.
    pub(super) fn issue(&mut self, faults: &Faults) -> String {
        let life = faults.token_life.unwrap_or(LIFE);
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("a date after 1970");
        let now = since.as_secs_f64() + faults.clock_ahead_secs as f64;
        let mut claims = json!({ "exp": now + life.as_secs_f64(), "jti": random("t") });
        if !faults.tokens_without_date {
            claims["iat"] = json!(now);
        }
        let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let token = format!("{}.{}.c2lnbmF0dXJl", part(json!({ "alg": "none" })), part(claims));
        self.0.insert(token.clone(), Instant::now() + life);
        token
    }

    pub(super) fn takes(&self, token: &str) -> bool {
        self.0.get(token).is_some_and(|until| Instant::now() < *until)
    }

    pub(super) fn revoke(&mut self) {
        self.0.clear();
    }
}
