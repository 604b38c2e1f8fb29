//! Forking and executing.
//!
//! The child of a threaded program may only do what a signal handler may do. So everything is prepared before the
//! fork ([`Plan`]), the child makes system calls and nothing else, and what goes wrong travels back through a pipe
//! that the exec closes.
//!
//! Not `std::process::Command`: its exec falls back to running a file as a shell script (ENOEXEC), it cannot hand
//! out a pidfd that was made together with the process, nor put the process into a cgroup as it is made.

use std::ffi::{CString, c_char, c_int, c_long};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr;

/// All a child needs, prepared so that nothing is allocated after the fork.
#[derive(Debug)]
pub(crate) struct Plan<'a> {
    /// Files to execute, tried in this order, after the change of directory.
    pub(crate) candidates: &'a [CString],
    /// Arguments, the program's own name first.
    pub(crate) argv: &'a [CString],
    /// `NAME=value` entries.
    pub(crate) env: &'a [CString],
    /// The working directory.
    pub(crate) cwd: &'a CString,
    /// Standard input, output and error. All above 2, and closed on exec.
    pub(crate) stdio: [BorrowedFd<'a>; 3],
    /// Whether standard input is a terminal that becomes the controlling one.
    pub(crate) controlling: Controlling,
    /// The cgroup the child is made in: an open directory.
    pub(crate) cgroup: Option<BorrowedFd<'a>>,
    /// Timer slack in nanoseconds, when it is used as an inherited mark.
    pub(crate) timer_slack_ns: Option<u64>,
    /// Soft limit of open files, when it is not to be this process's own.
    pub(crate) open_files: Option<u64>,
    /// Where the child writes a [`Failure`]; above 2, and closed on exec.
    pub(crate) report: BorrowedFd<'a>,
}

/// Whether the child gets a controlling terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Controlling {
    /// Standard input becomes it.
    Stdin,
    /// It has none.
    None,
}

/// What a child was doing when it could not go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stage {
    /// Becoming a session leader, its terminal, its standard streams.
    Setup,
    /// Entering the working directory.
    Chdir,
    /// Executing the program.
    Exec,
}

/// Why a child did not become the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) stage: Stage,
    pub(crate) errno: i32,
}

impl Failure {
    /// Length of a failure on the report pipe; far below PIPE_BUF, so it arrives whole.
    pub(crate) const BYTES: usize = 8;

    fn to_bytes(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[0] = self.stage as u8;
        bytes[4..].copy_from_slice(&self.errno.to_ne_bytes());
        bytes
    }

    /// The failure a child reported.
    pub(crate) fn from_bytes(bytes: [u8; Self::BYTES]) -> Self {
        let stage = match bytes[0] {
            1 => Stage::Chdir,
            2 => Stage::Exec,
            _ => Stage::Setup,
        };
        let [_, _, _, _, errno @ ..] = bytes;
        Self { stage, errno: i32::from_ne_bytes(errno) }
    }

    /// The failure that the last system call left in errno.
    fn now(stage: Stage) -> Self {
        // SAFETY: errno's location is valid for the calling thread, a forked child's only one included.
        Self { stage, errno: unsafe { *libc::__errno_location() } }
    }
}

/// A child, not reaped yet.
#[derive(Debug)]
pub(crate) struct Forked {
    pub(crate) pid: u32,
    pub(crate) pidfd: OwnedFd,
}

/// The kernel's `struct clone_args`, up to the field we need.
#[repr(C, align(8))]
#[derive(Default)]
struct CloneArgs {
    flags: u64,
    pidfd: u64,
    child_tid: u64,
    parent_tid: u64,
    exit_signal: u64,
    stack: u64,
    stack_size: u64,
    tls: u64,
    set_tid: u64,
    set_tid_size: u64,
    cgroup: u64,
}

const CLONE_PIDFD: u64 = 0x0000_1000;
const CLONE_CLEAR_SIGHAND: u64 = 0x1_0000_0000;
const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

/// Bytes of the kernel's signal set.
const SIGSET_BYTES: usize = 8;

/// Starts a child that becomes the planned program or writes a [`Failure`] and exits with 127.
pub(crate) fn fork_exec(plan: &Plan<'_>) -> io::Result<Forked> {
    let pointers = Pointers::new(plan);
    // Handlers of this process must never run in the child: they would write into pipes it shares with us.
    let blocked = BlockedSignals::new();
    let mut pidfd: c_int = -1;
    let mut args = CloneArgs {
        flags: CLONE_PIDFD | CLONE_CLEAR_SIGHAND,
        pidfd: (&raw mut pidfd) as u64,
        exit_signal: libc::SIGCHLD as u64,
        ..CloneArgs::default()
    };
    if let Some(cgroup) = plan.cgroup {
        args.flags |= CLONE_INTO_CGROUP;
        args.cgroup = cgroup.as_raw_fd() as u64;
    }
    // SAFETY: without CLONE_VM this is fork(2): the child gets its own copy of the address space and of this stack.
    // The kernel writes one descriptor to `pidfd`. The child runs `become_program`, which never returns and makes
    // only system calls.
    let pid = unsafe { libc::syscall(libc::SYS_clone3, &raw const args, size_of::<CloneArgs>()) };
    if pid == 0 {
        become_program(plan, &pointers)
    }
    if pid > 0 {
        drop(blocked);
        // SAFETY: the call succeeded with CLONE_PIDFD, so `pidfd` is a new descriptor that nobody else owns.
        let pidfd = unsafe { OwnedFd::from_raw_fd(pidfd) };
        return Ok(Forked { pid: pid_number(pid), pidfd });
    }
    let error = io::Error::last_os_error();
    // Sandboxes that cannot look into clone3's arguments refuse it as unknown, so that programs fall back.
    if error.raw_os_error() != Some(libc::ENOSYS) || plan.cgroup.is_some() {
        return Err(error);
    }
    // SAFETY: as above; the C library's fork handlers are prepared for threads.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        become_program(plan, &pointers)
    }
    if pid < 0 {
        return Err(io::Error::last_os_error());
    }
    drop(blocked);
    let pid = pid_number(c_long::from(pid));
    Ok(Forked { pid, pidfd: open_pidfd(pid)? })
}

/// A descriptor for process `pid`. Certain to be the process meant only while that is known to be unreaped.
pub(crate) fn open_pidfd(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes two numbers; the descriptor it returns is close-on-exec and ours alone.
    unsafe {
        let fd = libc::syscall(libc::SYS_pidfd_open, pid, 0);
        match c_int::try_from(fd) {
            Ok(fd) if fd >= 0 => Ok(OwnedFd::from_raw_fd(fd)),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

fn pid_number(pid: c_long) -> u32 {
    u32::try_from(pid).expect("invariant: a pid the kernel returned is positive and below 2^22")
}

/// The null-terminated arrays that execve(2) wants.
struct Pointers {
    argv: Vec<*const c_char>,
    env: Vec<*const c_char>,
}

impl Pointers {
    fn new(plan: &Plan<'_>) -> Self {
        let list = |strings: &[CString]| {
            strings.iter().map(|s| s.as_ptr()).chain([ptr::null()]).collect::<Vec<*const c_char>>()
        };
        Self { argv: list(plan.argv), env: list(plan.env) }
    }
}

/// All signals blocked in this thread, until dropped.
struct BlockedSignals {
    before: u64,
}

impl BlockedSignals {
    fn new() -> Self {
        Self { before: set_signal_mask(u64::MAX) }
    }
}

impl Drop for BlockedSignals {
    fn drop(&mut self) {
        set_signal_mask(self.before);
    }
}

/// Sets the thread's signal mask and returns the one before. The C library's wrapper leaves out the signals it uses
/// itself; the system call does not.
fn set_signal_mask(mask: u64) -> u64 {
    let mut before = 0_u64;
    // SAFETY: both pointers are to sets of the size given.
    unsafe {
        libc::syscall(
            libc::SYS_rt_sigprocmask,
            libc::SIG_SETMASK,
            &raw const mask,
            &raw mut before,
            SIGSET_BYTES,
        );
    }
    before
}

/// The child's side: becomes the program, or reports why not and exits.
fn become_program(plan: &Plan<'_>, pointers: &Pointers) -> ! {
    let failure = try_become_program(plan, pointers);
    let bytes = failure.to_bytes();
    // SAFETY: `bytes` is valid for its length. _exit runs no handlers, which belong to the parent.
    unsafe {
        libc::write(plan.report.as_raw_fd(), bytes.as_ptr().cast(), bytes.len());
        libc::_exit(127)
    }
}

fn try_become_program(plan: &Plan<'_>, pointers: &Pointers) -> Failure {
    // SAFETY: only async-signal-safe calls, with pointers into the plan, which the child has its own copy of.
    unsafe {
        if libc::setsid() < 0 {
            return Failure::now(Stage::Setup);
        }
        if plan.controlling == Controlling::Stdin
            && libc::ioctl(plan.stdio[0].as_raw_fd(), libc::TIOCSCTTY, 0) < 0
        {
            return Failure::now(Stage::Setup);
        }
        for (target, fd) in (0..).zip(plan.stdio) {
            if libc::dup2(fd.as_raw_fd(), target) < 0 {
                return Failure::now(Stage::Setup);
            }
        }
        close_others_on_exec();
        if let Some(ns) = plan.timer_slack_ns {
            libc::prctl(libc::PR_SET_TIMERSLACK, ns);
        }
        if let Some(soft) = plan.open_files {
            let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
            if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
                limit.rlim_cur = soft.min(limit.rlim_max);
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            }
        }
        if libc::chdir(plan.cwd.as_ptr()) < 0 {
            return Failure::now(Stage::Chdir);
        }
        default_signals();
        exec_first(plan, pointers)
    }
}

/// Marks every descriptor above 2 close-on-exec, rather than closing it: the report pipe must live until the exec.
fn close_others_on_exec() {
    // SAFETY: the calls take numbers only, and unknown descriptors are refused without harm.
    unsafe {
        if libc::syscall(libc::SYS_close_range, 3, c_int::MAX, libc::CLOSE_RANGE_CLOEXEC) == 0 {
            return;
        }
        // Kernels before 5.11. What we open ourselves is close-on-exec anyway; this is for inherited descriptors,
        // and they have low numbers.
        for fd in 3..1024 {
            libc::fcntl(fd, libc::F_SETFD, libc::FD_CLOEXEC);
        }
    }
}

/// Every signal to its default, ignored ones too (they stay ignored across an exec), and none blocked.
fn default_signals() {
    // The kernel's `struct sigaction` is at most four words; all zero is the default action without flags.
    let default = [0_u64; 4];
    for signal in 1..=64 {
        // SAFETY: the kernel reads at most 32 bytes from `default`. KILL and STOP are refused without harm. The C
        // library's wrapper would refuse the signals it uses itself.
        unsafe {
            libc::syscall(
                libc::SYS_rt_sigaction,
                signal,
                default.as_ptr(),
                ptr::null_mut::<u64>(),
                SIGSET_BYTES,
            );
        }
    }
    set_signal_mask(0);
}

/// Executes the first candidate that can be; the search goes on as execvp(3)'s does, but a file of unknown format is
/// an error and not a shell script.
fn exec_first(plan: &Plan<'_>, pointers: &Pointers) -> Failure {
    let mut failure = Failure { stage: Stage::Exec, errno: libc::ENOENT };
    let mut denied = false;
    for candidate in plan.candidates {
        // SAFETY: a C string and two null-terminated arrays of C strings.
        unsafe { libc::execve(candidate.as_ptr(), pointers.argv.as_ptr(), pointers.env.as_ptr()) };
        failure = Failure::now(Stage::Exec);
        match failure.errno {
            libc::EACCES => denied = true,
            libc::ENOENT | libc::ENOTDIR | libc::ENAMETOOLONG | libc::ELOOP | libc::ESTALE => {}
            _ => return failure,
        }
    }
    if denied { Failure { stage: Stage::Exec, errno: libc::EACCES } } else { failure }
}
