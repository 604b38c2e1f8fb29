//! The memory of an output log: a ring file, mapped shared, its data area mapped twice back to back.
//!
//! The second copy of the data area makes every range of the ring contiguous in memory, so nothing above this module
//! knows that a ring wraps. Offsets are absolute (they count from the log's first byte); the ring keeps the last
//! `ring` of them.
//!
//! ```text
//!   ... segment files ...)[F  unflushed, stable  W)[W  armed, being read into  A)[A  stale ...  F + ring)
//! ```
//!
//! One [`Producer`] moves the three ends forward; any number of [`View`]s copy bytes out of `F..W`.
//!
//! # Invariants
//! 1. `F <= W <= A <= F + ring`.
//! 2. The producer writes only outside `F..W`, and moves `F` only under the write lock. A view copies only inside
//!    `F..W`, under the read lock, with `W` loaded (acquire) after `F`. So no byte is written while it is copied.
//! 3. The words in the header follow the bytes: a word is stored (release) only after what it speaks of is in the
//!    mapping, so the file is right whenever the process stops.
//! 4. Only `F..A` and the header are touched, and whoever arms an area has reserved its blocks in the file: touching the
//!    mapping never faults with SIGBUS. (The file is private to the user; another program of the same user that shortens
//!    it breaks this.)

use std::io;
use std::os::fd::BorrowedFd;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};

/// A word of the header, by its byte offset in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Word {
    /// Says that the header is complete.
    Magic = 0,
    /// `W`: the published end.
    Published = 64,
    /// `F`: everything before it is in segment files.
    Flushed = 72,
    /// `A`: the end of the area that was prepared for reading into.
    Armed = 80,
    /// 1 once the seal below is complete.
    Sealed = 88,
}

/// Lengths of a ring file's two parts, in bytes; both multiples of the page size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shape {
    pub(crate) header: usize,
    pub(crate) ring: usize,
}

/// Where the three ends stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) flushed: u64,
    pub(crate) published: u64,
}

struct Pages {
    base: NonNull<u8>,
    shape: Shape,
}

// SAFETY: the pages are plain bytes that belong to this value until it is dropped; invariant 2 orders the accesses.
unsafe impl Send for Pages {}
// SAFETY: as above; everything reached through a shared `Pages` is an atomic or a range that invariant 2 protects.
unsafe impl Sync for Pages {}

impl Pages {
    fn map(file: BorrowedFd<'_>, shape: Shape) -> io::Result<Self> {
        let (once, twice) = (shape.header + shape.ring, shape.header + 2 * shape.ring);
        // SAFETY: a new mapping at an address of the kernel's choice touches no memory that exists.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                twice,
                ProtFlags::empty(),
                MapFlags::PRIVATE | MapFlags::NORESERVE,
            )
        }?;
        let base = NonNull::new(base.cast::<u8>()).expect("invariant: mmap returns no null page");
        let pages = Self { base, shape };
        let access = ProtFlags::READ | ProtFlags::WRITE;
        let flags = MapFlags::SHARED | MapFlags::FIXED;
        // SAFETY: both mappings replace parts of the range reserved above, which nothing refers to yet.
        unsafe {
            mmap(base.as_ptr().cast(), once, access, flags, file, 0)?;
            mmap(base.as_ptr().add(once).cast(), shape.ring, access, flags, file, shape.header as u64)?;
        }
        Ok(pages)
    }

    fn word(&self, word: Word) -> &AtomicU64 {
        // SAFETY: every `Word` is 8-aligned and inside the header, which is mapped as long as `self` lives and is
        // accessed only through atomics at these places.
        unsafe { AtomicU64::from_ptr(self.base.as_ptr().add(word as usize).cast()) }
    }

    /// The place of `offset` in the first copy of the data area; `ring` bytes from there are mapped.
    fn at(&self, offset: u64) -> *mut u8 {
        let within = (offset % self.shape.ring as u64) as usize;
        // SAFETY: `header + within + ring <= header + 2 * ring`, the length of the mapping.
        unsafe { self.base.as_ptr().add(self.shape.header + within) }
    }
}

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: exactly the range that `map` reserved; whoever could still use it would hold `self`.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.shape.header + 2 * self.shape.ring) };
        debug_assert!(unmapped.is_ok(), "invariant: the range was mapped");
    }
}

enum Tail {
    Mapped(Arc<Pages>),
    /// A dead writer's bytes `F..W`, read from its file.
    Copied(Box<[u8]>),
    /// Everything is in segment files.
    Empty,
}

struct Kept {
    flushed: u64,
    tail: Tail,
}

struct Shared {
    published: AtomicU64,
    kept: RwLock<Kept>,
}

impl Shared {
    fn new(ends: Ends, tail: Tail) -> Arc<Self> {
        let kept = RwLock::new(Kept { flushed: ends.flushed, tail });
        Arc::new(Self { published: AtomicU64::new(ends.published), kept })
    }
}

/// What [`View::copy`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Copied {
    /// This many bytes were appended.
    Bytes(usize),
    /// The offset is below this one: it is in a segment file.
    Below(u64),
}

/// A reader's side of the ring.
#[derive(Clone)]
pub(crate) struct View(Arc<Shared>);

impl View {
    /// The bytes that a dead writer left unflushed, from `flushed` on.
    pub(crate) fn of_bytes(flushed: u64, bytes: Vec<u8>) -> Self {
        let ends = Ends { flushed, published: flushed + bytes.len() as u64 };
        Self(Shared::new(ends, Tail::Copied(bytes.into_boxed_slice())))
    }

    /// The published end.
    pub(crate) fn published(&self) -> u64 {
        self.0.published.load(Ordering::Acquire)
    }

    fn ahead(&self, at: u64) -> usize {
        usize::try_from(self.published().saturating_sub(at)).unwrap_or(usize::MAX)
    }

    fn lock(&self) -> RwLockReadGuard<'_, Kept> {
        self.0.kept.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Appends at most `max` bytes from `at` on to `out`. An `at` beyond the end gives none.
    pub(crate) fn copy(&self, at: u64, max: usize, out: &mut Vec<u8>) -> Copied {
        // Room is made before the lock is held for the copy: allocating may take long.
        let flushed = self.lock().flushed;
        if at < flushed {
            return Copied::Below(flushed);
        }
        out.reserve(self.ahead(at).min(max));
        let kept = self.lock();
        if at < kept.flushed {
            return Copied::Below(kept.flushed);
        }
        let count = self.ahead(at).min(max).min(out.capacity() - out.len());
        match &kept.tail {
            Tail::Mapped(pages) => {
                debug_assert!(count <= pages.shape.ring, "invariant 1: W <= F + ring");
                // SAFETY: `F <= at` and `at + count <= W`, so the source is mapped (invariant 1) and nobody writes
                // it while the read lock is held (invariant 2); the destination is `count` bytes of spare
                // capacity of another allocation, initialised by the copy before the length covers them.
                unsafe {
                    let spare = out.as_mut_ptr().add(out.len());
                    std::ptr::copy_nonoverlapping(pages.at(at), spare, count);
                    out.set_len(out.len() + count);
                }
            }
            Tail::Copied(bytes) => {
                let skip = usize::try_from(at - kept.flushed).unwrap_or(usize::MAX).min(bytes.len());
                out.extend_from_slice(&bytes[skip..(skip + count).min(bytes.len())]);
            }
            Tail::Empty => debug_assert_eq!(count, 0, "invariant: an empty tail ends where the segments end"),
        }
        Copied::Bytes(count)
    }
}

/// The writer's side of the ring.
///
/// Dropping it changes nothing in the file. The views get a copy of what is unflushed, and the ring is unmapped at once:
/// a mapping keeps its open file alive, and with it the file's lock.
pub(crate) struct Producer {
    pages: Arc<Pages>,
    shared: Arc<Shared>,
    published: u64,
    flushed: u64,
    armed: u64,
}

impl Producer {
    /// Maps `file`, of which the header and `F..W` are reserved, and puts the ends where they belong. Nothing is armed.
    pub(crate) fn map(file: BorrowedFd<'_>, shape: Shape, ends: Ends) -> io::Result<Self> {
        let pages = Arc::new(Pages::map(file, shape)?);
        let shared = Shared::new(ends, Tail::Mapped(Arc::clone(&pages)));
        // In this order a stop in between leaves at worst an armed area that holds nothing but poison.
        pages.word(Word::Published).store(ends.published, Ordering::Release);
        pages.word(Word::Flushed).store(ends.flushed, Ordering::Release);
        pages.word(Word::Armed).store(ends.published, Ordering::Release);
        let producer =
            Self { pages, shared, published: ends.published, flushed: ends.flushed, armed: ends.published };
        producer.check();
        Ok(producer)
    }

    pub(crate) fn view(&self) -> View {
        View(Arc::clone(&self.shared))
    }

    pub(crate) fn published(&self) -> u64 {
        self.published
    }

    pub(crate) fn flushed(&self) -> u64 {
        self.flushed
    }

    pub(crate) fn ring(&self) -> usize {
        self.pages.shape.ring
    }

    /// How many bytes lie between the published end and the unflushed part, going round.
    pub(crate) fn room(&self) -> usize {
        self.ring() - self.unflushed().len()
    }

    /// The bytes that are in no segment file yet.
    pub(crate) fn unflushed(&self) -> &[u8] {
        let len = (self.published - self.flushed) as usize;
        // SAFETY: `F..W` is mapped (invariant 1) and written by nobody (invariant 2): the only writer is `self`,
        // which is borrowed as long as the slice lives.
        unsafe { std::slice::from_raw_parts(self.pages.at(self.flushed), len) }
    }

    /// Lets `paint` overwrite the stale bytes up to `to` (absolute, cut to the room), then counts them as armed.
    pub(crate) fn arm(&mut self, to: u64, paint: impl FnOnce(u64, &mut [u8])) {
        let to = to.min(self.flushed + self.ring() as u64);
        let Some(len) = to.checked_sub(self.armed).filter(|len| *len > 0) else { return };
        // SAFETY: `A..to` is outside `F..W` (invariant 1) and belongs to the producer, borrowed mutably here.
        let stale = unsafe { std::slice::from_raw_parts_mut(self.pages.at(self.armed), len as usize) };
        paint(self.armed, stale);
        self.armed = to;
        self.pages.word(Word::Armed).store(to, Ordering::Release);
        self.check();
    }

    /// Gives the armed area up, before its part of the file goes.
    pub(crate) fn disarm(&mut self) {
        self.armed = self.published;
        self.pages.word(Word::Armed).store(self.armed, Ordering::Release);
    }

    /// The armed area: read into a prefix of it, then [`publish`](Self::publish) that prefix.
    pub(crate) fn armed(&mut self) -> &mut [u8] {
        let len = (self.armed - self.published) as usize;
        // SAFETY: `W..A` is outside `F..W` (invariant 1) and belongs to the producer, borrowed mutably here.
        unsafe { std::slice::from_raw_parts_mut(self.pages.at(self.published), len) }
    }

    /// Moves the published end over `count` bytes of the armed area.
    pub(crate) fn publish(&mut self, count: usize) {
        let to = self.published + count as u64;
        assert!(to <= self.armed, "invariant 1: more bytes than the armed area holds");
        self.published = to;
        self.pages.word(Word::Published).store(to, Ordering::Release);
        self.shared.published.store(to, Ordering::Release);
        self.check();
    }

    /// Gives up the first `count` unflushed bytes, which are now in a segment file.
    pub(crate) fn release(&mut self, count: usize) {
        let to = self.flushed + count as u64;
        assert!(to <= self.published, "invariant 1: F <= W");
        self.pages.word(Word::Flushed).store(to, Ordering::Release);
        self.shared.kept.write().unwrap_or_else(PoisonError::into_inner).flushed = to;
        self.flushed = to;
        self.check();
    }

    /// Writes header bytes other than the words above.
    pub(crate) fn write_header(&mut self, at: usize, bytes: &[u8]) {
        assert!(
            at >= 96 && at + bytes.len() <= self.pages.shape.header,
            "invariant: inside the header's plain part"
        );
        // SAFETY: the plain part of the header is inside the mapping, read by nobody in this process, and `self` is
        // borrowed mutably.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.pages.base.as_ptr().add(at), bytes.len());
        };
    }

    /// Stores a word of the header after everything written before.
    pub(crate) fn write_word(&mut self, word: Word, value: u64) {
        debug_assert!(matches!(word, Word::Magic | Word::Sealed), "the ends move by their own methods");
        self.pages.word(word).store(value, Ordering::Release);
    }

    fn check(&self) {
        debug_assert!(self.flushed <= self.published, "invariant 1: F <= W");
        debug_assert!(self.published <= self.armed, "invariant 1: W <= A");
        debug_assert!(self.armed - self.flushed <= self.ring() as u64, "invariant 1: A <= F + ring");
    }
}

impl Drop for Producer {
    fn drop(&mut self) {
        let left = self.unflushed();
        let tail = if left.is_empty() { Tail::Empty } else { Tail::Copied(left.into()) };
        self.shared.kept.write().unwrap_or_else(PoisonError::into_inner).tail = tail;
    }
}
