//! The places where a test can stop a writer or make the disk fail. Without the feature `pause-points` they are nothing.

use rustix::fd::AsFd;
use rustix::io::{Errno, pwrite};

/// A place in the life of a writer, named by what comes next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Step {
    /// The free area was poisoned; the read comes next.
    Read,
    /// The bytes are in the ring; the end is published next.
    Publish,
    /// A segment file is opened or created next.
    OpenSegment,
    /// Bytes are appended to a segment file next.
    Append,
    /// They were appended; the ring gives them up next.
    Release,
    /// The start moved; the oldest segment is removed next.
    Evict,
    /// The seal is written into the ring's header next.
    Seal,
    /// The rest of the ring's blocks is reserved next.
    Grow,
    /// The ring file of a closed log is shortened next.
    Shorten,
}

/// What happens at a step.
#[cfg_attr(not(feature = "pause-points"), expect(dead_code, reason = "chosen by tests only"))]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing special.
    Go,
    /// The system call fails with this error number.
    Fail(i32),
    /// The call takes only this many bytes.
    Short(usize),
    /// The writer dies: nothing after this step happens.
    Die,
    /// The call takes this many bytes, then the writer dies.
    DieAfter(usize),
}

/// The panic of a writer that a [`Verdict`] killed.
#[cfg(feature = "pause-points")]
#[derive(Debug)]
pub struct Died;

#[cfg(feature = "pause-points")]
type Hook = dyn FnMut(Step) -> Verdict + Send;

/// What a test wants to go wrong.
#[derive(Clone, Default)]
pub struct Faults {
    #[cfg(feature = "pause-points")]
    hook: Option<std::sync::Arc<std::sync::Mutex<Hook>>>,
}

impl Faults {
    /// Asks `hook` at every step.
    #[cfg(feature = "pause-points")]
    pub fn new(hook: impl FnMut(Step) -> Verdict + Send + 'static) -> Self {
        Self { hook: Some(std::sync::Arc::new(std::sync::Mutex::new(hook))) }
    }

    /// Passes a step that is not a write.
    pub(crate) fn pass(&self, step: Step) -> Result<(), Errno> {
        match self.verdict(step) {
            Verdict::Go | Verdict::Short(_) => Ok(()),
            Verdict::Fail(errno) => Err(Errno::from_raw_os_error(errno)),
            Verdict::Die | Verdict::DieAfter(_) => die(),
        }
    }

    /// Writes a prefix of `bytes` at `at` and says how much.
    pub(crate) fn append(&self, file: impl AsFd, bytes: &[u8], at: u64) -> Result<usize, Errno> {
        match self.verdict(Step::Append) {
            Verdict::Go => pwrite(file, bytes, at),
            Verdict::Fail(errno) => Err(Errno::from_raw_os_error(errno)),
            Verdict::Short(count) => pwrite(file, &bytes[..count.min(bytes.len())], at),
            Verdict::Die => die(),
            Verdict::DieAfter(count) => {
                pwrite(file, &bytes[..count.min(bytes.len())], at)?;
                die()
            }
        }
    }

    #[cfg(not(feature = "pause-points"))]
    #[inline]
    fn verdict(&self, _step: Step) -> Verdict {
        Verdict::Go
    }

    #[cfg(feature = "pause-points")]
    fn verdict(&self, step: Step) -> Verdict {
        let Some(hook) = &self.hook else { return Verdict::Go };
        let mut hook = hook.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        hook(step)
    }
}

#[cfg(feature = "pause-points")]
fn die() -> ! {
    std::panic::panic_any(Died)
}

#[cfg(not(feature = "pause-points"))]
fn die() -> ! {
    unreachable!("no verdict but Go exists without the feature")
}
