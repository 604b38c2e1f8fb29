//! Work on many things at once, on every core.

use std::num::NonZero;
use std::thread;

/// Does `work` on each of `items` on as many threads as there are cores, and gives the results in the order of the items.
///
/// Blocks. A panic in `work` is the caller's.
pub fn on_every_core<T: Send, R: Send>(items: Vec<T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let share = items.len().div_ceil(cores).max(1);
    let mut shares = Vec::with_capacity(cores);
    let mut items = items.into_iter();
    loop {
        let share: Vec<T> = items.by_ref().take(share).collect();
        if share.is_empty() {
            break;
        }
        shares.push(share);
    }
    let work = &work;
    thread::scope(|scope| {
        let working: Vec<_> = shares
            .into_iter()
            .map(|share| scope.spawn(move || share.into_iter().map(work).collect::<Vec<R>>()))
            .collect();
        let done = working.into_iter().map(|thread| thread.join());
        done.flat_map(|results| results.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_the_order_of_the_items() {
        for many in [0, 1, 2, 3, 7, 1000] {
            let doubled = on_every_core((0..many).collect(), |item: u32| item * 2);
            assert_eq!(doubled, (0..many).map(|item| item * 2).collect::<Vec<_>>());
        }
    }

    #[test]
    #[should_panic(expected = "the third")]
    fn a_panic_is_the_callers() {
        on_every_core(vec![1, 2, 3], |item| assert_ne!(item, 3, "the third"));
    }
}
