//! Where programs run besides this machine's own terminals: one module and one cargo feature per backend.
//!
//! | module | place | over |
//! |---|---|---|
#![cfg_attr(
    feature = "docker",
    doc = "| [`docker`] | `docker:IMAGE`, `docker:container=NAME` | the engine's API |"
)]
#![cfg_attr(
    feature = "blaxel",
    doc = "| [`blaxel`] | `blaxel`, `blaxel:IMAGE`, `blaxel:sandbox=NAME` | the vendor's API and its terminals |"
)]
#![cfg_attr(
    feature = "cloudflare",
    doc = "| [`cloudflare`] | `cloudflare`, `cloudflare:sandbox=ID` | the vendor's bridge and its terminals |"
)]
#![cfg_attr(
    feature = "tmux",
    doc = "| [`tmux`] | `tmux`, `tmux:SESSION`, `tmux:SESSION:WINDOW.PANE` | control mode |"
)]
#![cfg_attr(
    feature = "e2b",
    doc = "| [`e2b`] | `e2b:TEMPLATE`, `e2b:sandbox=ID` | the vendor's API and daemon |"
)]
#![cfg_attr(
    feature = "herdr",
    doc = "| [`herdr`] | `herdr`, `herdr:SESSION` | its command line and event socket |"
)]
#![cfg_attr(
    feature = "modal",
    doc = "| [`modal`] | `modal:IMAGE`, `modal:sandbox=ID` | gRPC, to the vendor and to a sandbox's machine |"
)]
#![cfg_attr(
    feature = "daytona",
    doc = "| [`daytona`] | `daytona`, `daytona:SNAPSHOT`, `daytona:sandbox=ID` | the vendor's API and sockets |"
)]
#![cfg_attr(feature = "ssh", doc = "| [`ssh`] | `ssh:HOST`, `ssh:USER@HOST` | the system's ssh |")]
//!
//! Each is a [`Backend`](ptyard_terminal::backend::Backend) and declares what it can do; `docs/BACKENDS.md` shows what
//! the conformance suite found. What they share:
//!
//! 1. A start nobody waits for any more is finished in a task of its own and then undone.
//! 2. What lives of a program when its controls are dropped is ended.
//! 3. A broken connection that is not mended is an end of kind `lost`, never an exit code.
//! 4. A start is never tried twice.

#[cfg(any(feature = "docker", feature = "ssh"))]
mod carry;

#[cfg(feature = "blaxel")]
pub mod blaxel;
#[cfg(feature = "cloudflare")]
pub mod cloudflare;
#[cfg(feature = "daytona")]
pub mod daytona;
#[cfg(feature = "docker")]
pub mod docker;
#[cfg(feature = "e2b")]
pub mod e2b;
#[cfg(feature = "herdr")]
pub mod herdr;
#[cfg(feature = "modal")]
pub mod modal;
#[cfg(feature = "remote")]
pub mod remote;
mod shared;
#[cfg(feature = "ssh")]
pub mod ssh;
#[cfg(feature = "tmux")]
pub mod tmux;

#[cfg(any(feature = "docker", feature = "ssh"))]
pub use carry::carry;
