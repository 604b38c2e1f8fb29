//! What every backend has to do, written once.
//!
//! A backend's own test makes a [`Ground`] and calls [`run`]. Every case runs real programs on it, through a real
//! [`Terminal`](ptyard_terminal::Terminal), so that what is checked is what callers get. What a backend
//! declares that it cannot do (its [`Abilities`](ptyard_terminal::backend::Abilities)) has to be refused with a code;
//! what it does not declare has to work.
//!
//! The grounds run on this machine, whatever their backend thinks: cases look into `/proc` for what is left of a
//! program. Programs are shell scripts that need nothing but a POSIX `sh` and what busybox has.

mod control;
mod ends;
mod input;
mod output;
mod stage;
mod starts;
mod table;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use ptyard_terminal::backend::{Backend, BoxFuture, Placing};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

pub use table::Column;

/// A backend that is put to the test.
pub struct Ground {
    /// How it is called in the table: `docker:IMAGE`.
    pub label: &'static str,
    /// The backend, at its place.
    pub backend: Arc<dyn Backend>,
    /// The environment for programs there; what each case needs is added.
    pub env: BTreeMap<String, String>,
    /// A directory that exists there.
    pub cwd: PathBuf,
    /// Breaks the connection to the programs under the backend; `None` where there is none, as on this machine.
    pub cut: Option<Cut>,
    /// What programs are started with.
    pub placing: Placing,
}

/// What breaks the connection.
pub type Cut = Box<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>;

/// What a case came to. A failure is a panic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It works.
    Works,
    /// The backend declares that it cannot, and refused with a code.
    Refused,
    /// The backend declares something weaker, and that weaker thing holds: what, in a word or two.
    Weaker(&'static str),
    /// The case means nothing there.
    NoMatter,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Works => "yes",
            Self::Refused => "refused",
            Self::Weaker(what) => what,
            Self::NoMatter => "–",
        })
    }
}

type CaseFn = fn(Arc<Ground>) -> BoxFuture<'static, Verdict>;

/// One case.
struct Case {
    name: &'static str,
    run: CaseFn,
}

macro_rules! cases {
    ($($module:ident: $($name:ident),+;)+) => {
        const CASES: &[Case] = &[$($(
            Case { name: stringify!($name), run: |ground| Box::pin($module::$name(ground)) },
        )+)+];
    };
}

cases! {
    output:
        law_01_every_byte_is_in_the_log_in_order,
        law_01_a_flood_arrives_whole,
        law_01_what_was_printed_can_be_read_again_by_offset,
        law_02_characters_split_by_time_are_whole,
        law_02_what_is_no_utf8_shows_at_once,
        law_03_windows_given_up_at_any_moment_lose_nothing,
        law_05_a_capped_window_has_its_head_and_tail,
        a_silent_program_is_quiet_and_alive;
    ends:
        law_04_the_code_comes_with_the_last_bytes,
        law_04_quick_programs_lose_nothing,
        law_04_a_signal_is_told_as_far_as_it_is_known,
        law_04_a_child_that_holds_the_output_does_not_hold_the_end,
        law_04_closed_output_ends_nothing,
        law_04_a_broken_connection_is_never_an_exit_code;
    input:
        law_07_writes_never_mix,
        law_13_what_was_taken_reached_the_program,
        a_program_without_stdin_reads_the_end_at_once,
        closing_the_input_of_pipes_ends_it,
        closing_the_input_of_a_tty_types_the_end,
        an_interrupt_key_interrupts;
    control:
        a_tty_has_its_size_and_follows_changes,
        signals_reach_the_program_and_its_group,
        law_06_a_kill_ends_the_whole_tree,
        law_06_removal_leaves_nothing,
        a_kill_without_listeners_goes_on;
    starts:
        a_missing_program_is_refused,
        a_missing_directory_is_refused,
        given_variables_arrive_and_stand_on_no_command_line,
        arguments_arrive_as_they_are,
        a_start_nobody_waits_for_leaves_nothing,
        several_programs_run_side_by_side;
}

/// Runs every case, each in a task of its own, one after the other. For one's own eyes while a backend is being written,
/// `CASES=law_04` leaves those with this in their names.
///
/// # Panics
/// With the names of all cases that failed.
pub async fn run(ground: Ground) -> Column {
    run_abreast(ground, 1).await
}

/// The same with so many cases at once, for places where a case waits more than it works. The one that breaks connections
/// has the place for itself, behind the others.
///
/// # Panics
/// As [`run`].
pub async fn run_abreast(ground: Ground, most: usize) -> Column {
    let wanted = |name: &str| std::env::var("CASES").map_or(true, |part| name.contains(&part));
    let ground = Arc::new(ground);
    let begun: Vec<_> =
        CASES.iter().filter(|case| wanted(case.name)).map(|case| (case, OnceLock::new())).collect();
    let results = Arc::new(begun);
    for alone in [false, true] {
        let (lanes, mut under_way) = (Arc::new(Semaphore::new(most)), JoinSet::new());
        for at in (0..results.len()).filter(|&at| results[at].0.breaks_connections() == alone) {
            let lane = Arc::clone(&lanes).acquire_owned().await.expect("nobody closes it");
            let (ground, results) = (Arc::clone(&ground), Arc::clone(&results));
            under_way.spawn(async move {
                let _lane = lane;
                let (case, result) = &results[at];
                let _once = result.set(case.try_on(ground).await);
            });
        }
        under_way.join_all().await;
    }
    let (mut verdicts, mut failed) = (Vec::new(), Vec::new());
    for (case, result) in results.iter() {
        match result.get().copied().flatten() {
            Some(verdict) => verdicts.push((case.name, verdict)),
            None => failed.push(case.name),
        }
    }
    assert!(failed.is_empty(), "{} does not conform: {failed:#?}", ground.label);
    Column { label: ground.label, verdicts }
}

impl Case {
    fn breaks_connections(&self) -> bool {
        self.name == "law_04_a_broken_connection_is_never_an_exit_code"
    }

    /// What came of it; nothing when it failed.
    async fn try_on(&self, ground: Arc<Ground>) -> Option<Verdict> {
        let (label, began) = (ground.label, std::time::Instant::now());
        let result = tokio::spawn((self.run)(ground)).await.ok();
        match &result {
            Some(verdict) => eprintln!("{label:>16} {:<60} {verdict} ({:.0?})", self.name, began.elapsed()),
            None => eprintln!("{label:>16} {:<60} FAILED", self.name),
        }
        result
    }
}
