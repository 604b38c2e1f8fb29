//! What the operating system's calls need: the only module with `unsafe`, each block with its reason.
#![allow(unsafe_code, reason = "system calls and shared mappings; every block states why it is sound")]

pub(crate) mod exec;
pub(crate) mod exit_info;
pub(crate) mod mapping;
pub(crate) mod passwd;
pub(crate) mod signal;
pub(crate) mod spawn;
pub(crate) mod watched;

/// Whether a read of a tty takes everything there is, as on any pipe. Before Linux 5.12 it stopped where the line
/// discipline's buffer wraps around.
pub(crate) fn empties_at_once() -> bool {
    is_linux(5, 12)
}

/// Whether the kernel is this version or a newer one.
fn is_linux(major: u32, minor: u32) -> bool {
    static RELEASE: std::sync::OnceLock<(u32, u32)> = std::sync::OnceLock::new();
    let release = RELEASE.get_or_init(|| {
        let uname = rustix::system::uname();
        let release = uname.release().to_string_lossy();
        let mut numbers = release.split(['.', '-']).map(|number| number.parse::<u32>().unwrap_or(0));
        (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0))
    });
    *release >= (major, minor)
}
