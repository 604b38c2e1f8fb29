//! The directories of profiles and skills that a person set.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use ptyard_terminal::{Outlives, replace_file};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::Cao;
use super::extract::Body;
use super::refusal::Refusal;

/// Where they are kept, beside CAO's own files, of which none is written.
const FILE: &str = "ptyard-directories.json";

/// Most directories of one kind.
const MOST: usize = 64;

/// One change at a time: each is read, changed and written as a whole.
#[derive(Debug, Clone, Default)]
pub(super) struct Changes(Arc<Mutex<()>>);

/// What was set.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Directories {
    /// Of profiles, by provider.
    agent_dirs: BTreeMap<String, PathBuf>,
    /// Of profiles, behind those.
    extra_dirs: Vec<PathBuf>,
    /// Of those above, the ones that are left out.
    disabled_dirs: Vec<PathBuf>,
    /// Of skills, behind CAO's own.
    skill_dirs: Vec<PathBuf>,
}

/// What is set of the directories of profiles: what is given takes the place of what was.
#[derive(Debug, Deserialize)]
pub(super) struct AgentChange {
    agent_dirs: Option<BTreeMap<String, PathBuf>>,
    extra_dirs: Option<Vec<PathBuf>>,
    disabled_dirs: Option<Vec<PathBuf>>,
}

/// The same of skills.
#[derive(Debug, Deserialize)]
pub(super) struct SkillChange {
    extra_dirs: Option<Vec<PathBuf>>,
}

impl Directories {
    /// What is set below the home of CAO; nothing where that cannot be read.
    pub(super) fn of(home: &Path) -> Self {
        match fs::read(home.join(FILE)) {
            Ok(text) => serde_json::from_slice(&text).unwrap_or_else(|error| {
                tracing::warn!(%error, file = FILE, "the directories that were set cannot be read");
                Self::default()
            }),
            Err(_none) => Self::default(),
        }
    }

    /// Where profiles are looked for, in this order.
    pub(super) fn of_profiles(&self) -> impl Iterator<Item = &Path> {
        let all = self.agent_dirs.values().chain(&self.extra_dirs);
        all.filter(|dir| !self.disabled_dirs.contains(dir)).map(PathBuf::as_path)
    }

    /// Where skills are looked for, in this order.
    pub(super) fn of_skills(&self) -> impl Iterator<Item = &Path> {
        self.skill_dirs.iter().map(PathBuf::as_path)
    }

    /// Refuses what cannot stand in a list of paths, or means another directory to every process.
    fn check(&self) -> Result<(), Refusal> {
        let kinds =
            [self.extra_dirs.len(), self.disabled_dirs.len(), self.skill_dirs.len(), self.agent_dirs.len()];
        if kinds.iter().any(|&number| number > MOST) {
            return Err(Refusal::bad(format!("More than {MOST} directories")));
        }
        let all = self
            .agent_dirs
            .values()
            .chain(&self.extra_dirs)
            .chain(&self.disabled_dirs)
            .chain(&self.skill_dirs);
        for dir in all {
            let in_a_list = std::env::join_paths([dir]).is_ok_and(|list| list == dir.as_os_str());
            if !dir.is_absolute() || !in_a_list {
                return Err(Refusal::bad(format!(
                    "{} is not an absolute path without colons",
                    dir.display()
                )));
            }
        }
        Ok(())
    }

    fn write(&self, home: &Path) -> io::Result<()> {
        fs::create_dir_all(home)?;
        replace_file(&home.join(FILE), serde_json::to_string_pretty(self)?.as_bytes(), Outlives::Machine)
    }

    fn profiles_document(&self) -> Json<Value> {
        Json(json!({
            "agent_dirs": self.agent_dirs,
            "extra_dirs": self.extra_dirs,
            "disabled_dirs": self.disabled_dirs,
        }))
    }

    fn skills_document(&self, home: &Path) -> Json<Value> {
        Json(json!({"skills_dir": home.join("skills"), "extra_dirs": self.skill_dirs}))
    }
}

impl Cao {
    pub(super) fn directories(&self) -> Directories {
        Directories::of(&self.config.home)
    }

    /// Changes what is set; on the disk when this returns.
    fn set_directories(&self, change: impl FnOnce(&mut Directories)) -> Result<Directories, Refusal> {
        let _one_at_a_time = self.changes.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut directories = self.directories();
        change(&mut directories);
        directories.check()?;
        directories.write(&self.config.home).map_err(|error| {
            Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, format!("Cannot write {FILE}: {error}"))
        })?;
        Ok(directories)
    }
}

/// Where profiles are.
pub(super) async fn agents(State(cao): State<Cao>) -> Json<Value> {
    cao.directories().profiles_document()
}

/// Sets where profiles are.
pub(super) async fn set_agents(
    State(cao): State<Cao>,
    Body(body): Body<AgentChange>,
) -> Result<Json<Value>, Refusal> {
    let set = cao.set_directories(|set| {
        set.agent_dirs = body.agent_dirs.unwrap_or_else(|| std::mem::take(&mut set.agent_dirs));
        set.extra_dirs = body.extra_dirs.unwrap_or_else(|| std::mem::take(&mut set.extra_dirs));
        set.disabled_dirs = body.disabled_dirs.unwrap_or_else(|| std::mem::take(&mut set.disabled_dirs));
    })?;
    Ok(set.profiles_document())
}

/// Where skills are.
pub(super) async fn skills(State(cao): State<Cao>) -> Json<Value> {
    cao.directories().skills_document(&cao.config.home)
}

/// Sets where skills are.
pub(super) async fn set_skills(
    State(cao): State<Cao>,
    Body(body): Body<SkillChange>,
) -> Result<Json<Value>, Refusal> {
    let set = cao.set_directories(|set| {
        set.skill_dirs = body.extra_dirs.unwrap_or_else(|| std::mem::take(&mut set.skill_dirs));
    })?;
    Ok(set.skills_document(&cao.config.home))
}
