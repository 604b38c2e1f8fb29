//! Groups and metadata, by which agents find each other.

use axum::Json;
use axum::extract::State;
use ptyard_yard::agents::Labels;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value, json};

use super::Cao;
use super::extract::{Asked, Body, Named, is_on};
use super::name::Tid;
use super::refusal::Refusal;
use super::shape;

/// Most circles of a group.
const CIRCLES: usize = 16;

/// Longest name of a circle, in characters.
const CIRCLE_CHARS: usize = 128;

/// Largest metadata, in bytes of JSON.
const METADATA_BYTES: usize = 16 << 10;

/// A group in place of the one that was.
#[derive(Debug, Deserialize)]
pub(super) struct GroupChange {
    #[serde(deserialize_with = "said")]
    group: Option<Vec<String>>,
}

/// Metadata in place of what was.
#[derive(Debug, Deserialize)]
pub(super) struct MetadataChange {
    #[serde(deserialize_with = "said")]
    metadata: Option<Map<String, Value>>,
}

/// A field that may be null, and not left out.
fn said<'de, T: Deserialize<'de>, D: Deserializer<'de>>(field: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(field)
}

/// Who is meant.
#[derive(Debug, Deserialize)]
pub(super) struct Near {
    depth: Option<usize>,
    cross_session: Option<String>,
}

/// The same labels, if they are not larger than they may be.
pub(super) fn checked(labels: Labels) -> Result<Labels, Refusal> {
    if let Some(group) = &labels.group
        && (group.len() > CIRCLES || group.iter().any(|circle| circle.chars().count() > CIRCLE_CHARS))
    {
        let most = format!("at most {CIRCLES} names of at most {CIRCLE_CHARS} characters");
        return Err(Refusal::shape(&["body", "group"], &most));
    }
    if let Some(metadata) = &labels.metadata
        && serde_json::to_vec(metadata).map_or(true, |text| text.len() > METADATA_BYTES)
    {
        let most = format!("at most {METADATA_BYTES} bytes");
        return Err(Refusal::shape(&["body", "metadata"], &most));
    }
    Ok(labels)
}

/// Sets the group of an agent.
pub(super) async fn set_group(
    State(cao): State<Cao>,
    named: Named,
    Body(change): Body<GroupChange>,
) -> Result<Json<Value>, Refusal> {
    let Labels { group, .. } = checked(Labels { group: change.group, metadata: None })?;
    let member = cao.yard.relabel(&named.at, |labels| labels.group = group)?;
    Ok(Json(shape::terminal(&cao.yard, &member).await?))
}

/// Sets the metadata of an agent.
pub(super) async fn set_metadata(
    State(cao): State<Cao>,
    named: Named,
    Body(change): Body<MetadataChange>,
) -> Result<Json<Value>, Refusal> {
    let Labels { metadata, .. } = checked(Labels { group: None, metadata: change.metadata })?;
    let member = cao.yard.relabel(&named.at, |labels| labels.metadata = metadata)?;
    Ok(Json(shape::terminal(&cao.yard, &member).await?))
}

/// The others of its group: those of its session, or of all.
pub(super) async fn siblings(
    State(cao): State<Cao>,
    named: Named,
    Asked(near): Asked<Near>,
) -> Result<Json<Value>, Refusal> {
    if near.depth == Some(0) {
        return Err(Refusal::shape(&["query", "depth"], "a depth is 1 or more"));
    }
    let mine = named.member.labels.group.unwrap_or_default();
    let everywhere = is_on(near.cross_session.as_deref());
    let mut siblings = Vec::new();
    for member in cao.yard.sessions().into_iter().flat_map(|session| session.members) {
        let is_meant = member.id != named.member.id
            && (everywhere || member.session == named.member.session)
            && member.labels.is_near(&mine, near.depth);
        // Those that are removed meanwhile are left out.
        if is_meant && let Ok(status) = shape::status_word(&cao.yard, &member).await {
            siblings.push(json!({
                "id": Tid::of(member.id).to_string(),
                "group": member.labels.group,
                "metadata": member.labels.metadata,
                "status": status,
            }));
        }
    }
    Ok(Json(siblings.into()))
}
