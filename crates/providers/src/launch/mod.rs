//! How a program is started: from a manifest's recipe and what is wanted to arguments, environment and files.
//!
//! A plan is a value; who follows it starts the program itself, without a shell, so nothing is quoted and no length of
//! a typed line matters. Texts that may be long go through private files. What a program cannot be held to is said in
//! [`Plan::advisory`], never passed over.

mod hooks;
mod mcp;
mod plan;
mod recipe;

pub use hooks::{HOOK_EDITION, hook_edition, hook_entry, hook_line};
pub use mcp::{Calls, McpServer, McpTransport};
pub use plan::{Door, LaunchError, Plan, PlanFile, Wanted, plan};
pub use recipe::{Enforcement, EventsRecipe, HooksRecipe, McpEncoder, PromptChannel, Recipe};
