//! What requests hold, with every refusal in CAO's shape.

use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use ptyard_core::ErrorCode;
use ptyard_yard::TerminalRef;
use ptyard_yard::agents::roster::Member;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Cao;
use super::name::{NoTid, Tid};
use super::refusal::Refusal;
use crate::extract::OptionalPayload;

/// The query of the address.
pub(super) struct Asked<T>(pub(super) T);

impl<T: DeserializeOwned + Send> FromRequestParts<Cao> for Asked<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, cao: &Cao) -> Result<Self, Refusal> {
        let Query(asked) = Query::from_request_parts(parts, cao)
            .await
            .map_err(|rejection| Refusal::shape(&["query"], &rejection.body_text()))?;
        Ok(Self(asked))
    }
}

/// A JSON body; one that is left out is an empty object.
pub(super) struct Body<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Cao> for Body<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, cao: &Cao) -> Result<Self, Refusal> {
        let payload = OptionalPayload::<Map<String, Value>>::from_request(request, cao).await;
        // As CAO's server refuses what it cannot read.
        let OptionalPayload(fields) = payload.map_err(|error| match error.code() {
            ErrorCode::InvalidRequest => Refusal::shape(&["body"], &error.to_string()),
            _ => error.into(),
        })?;
        serde_json::from_value(fields.into())
            .map(Self)
            .map_err(|error| Refusal::shape(&["body"], &error.to_string()))
    }
}

/// The agent that an address names.
pub(super) struct Named {
    /// How the yard finds its terminal.
    pub(super) at: TerminalRef,
    pub(super) tid: Tid,
    pub(super) member: Member,
}

impl FromRequestParts<Cao> for Named {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, cao: &Cao) -> Result<Self, Refusal> {
        let shape = || Refusal::shape(&["path", "terminal_id"], "a terminal id is eight hexadecimal digits");
        let Path(text) = Path::<String>::from_request_parts(parts, cao).await.map_err(|_| shape())?;
        let tid: Tid = text.parse().map_err(|NoTid| shape())?;
        let member = tid.member(&cao.yard).ok_or_else(|| Refusal::unknown("Terminal", tid))?;
        Ok(Self { at: TerminalRef::Id(member.id), tid, member })
    }
}

/// A switch as its clients write it.
pub(super) fn is_on(switch: Option<&str>) -> bool {
    switch.is_some_and(|text| ["true", "1", "yes", "on"].contains(&text.to_ascii_lowercase().as_str()))
}
