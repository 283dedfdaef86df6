//! When each scanner starts.
//!
//! More scanners at once than there are processors end later than the same scanners one after the other, longest first: the longest gets only a
//! share of a processor while the short ones run, and is alone at the end. They would also all need their memory at the same time.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError},
    thread,
};

use ash_scanners::Effort;

/// What decides when something starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Those with more to do start first.
    pub(crate) effort: Effort,
    /// It needs no turn: it has nothing to do, or mostly waits for others.
    pub(crate) is_free: bool,
}

/// How many scanners have a processor's worth of work at a time.
pub(crate) fn turns() -> usize {
    // One that hangs must not keep all others waiting until its time is over.
    thread::available_parallelism().map_or(2, usize::from).max(2)
}

/// Does all work, so many at a time, and returns the results in the order of the items. `None`: it panicked.
pub(crate) fn run<T: Sync, R: Send>(
    items: &[T],
    turns: usize,
    claim: impl Fn(&T) -> Claim,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let (free, mut queued): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|index| claim(&items[*index]).is_free);
    queued.sort_by_key(|index| std::cmp::Reverse(claim(&items[*index]).effort));
    let workers = turns.min(queued.len());
    let queue = Mutex::new(VecDeque::from(queued));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
    // Each item has a thread of its own, so that one that panics takes nothing but itself along.
    let alone =
        |index: usize| thread::scope(|scope| scope.spawn(|| work(&items[index])).join().ok());
    let alone = &alone;
    let done: Vec<(usize, Option<R>)> = thread::scope(|scope| {
        let free: Vec<_> = free
            .into_iter()
            .map(|index| scope.spawn(move || vec![(index, alone(index))]))
            .collect();
        let in_turn = || {
            scope.spawn(|| std::iter::from_fn(next).map(|index| (index, alone(index))).collect())
        };
        let in_turn: Vec<_> = (0..workers).map(|_| in_turn()).collect();
        free.into_iter()
            .chain(in_turn)
            .flat_map(|thread| thread.join().unwrap_or_default())
            .collect()
    });
    for (index, result) in done {
        results[index] = result;
    }
    results
}

#[cfg(test)]
mod tests {
    use std::sync::{
        Barrier,
        atomic::{AtomicUsize, Ordering},
    };

    use super::*;

    const fn claim(effort: Effort) -> Claim {
        Claim { effort, is_free: false }
    }

    #[test]
    fn the_longest_start_first_and_the_results_keep_their_order() {
        let items = [Effort::Short, Effort::Usual, Effort::Long, Effort::Usual];
        let started = Mutex::new(vec![]);
        let items: Vec<(usize, Effort)> = items.into_iter().enumerate().collect();
        let results = run(
            &items,
            1,
            |(_, effort)| claim(*effort),
            |(index, _)| {
                started.lock().unwrap().push(*index);
                index * 10
            },
        );
        assert_eq!(started.into_inner().unwrap(), [2, 1, 3, 0]);
        assert_eq!(results, [Some(0), Some(10), Some(20), Some(30)]);
    }

    #[test]
    fn no_more_run_at_once_than_have_turns() {
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        // Two must run at once, or the first would wait for ever.
        let pair = Barrier::new(2);
        run(
            &[(); 8],
            2,
            |()| claim(Effort::Usual),
            |()| {
                most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                pair.wait();
                running.fetch_sub(1, Ordering::SeqCst);
            },
        );
        assert_eq!(most.into_inner(), 2);
    }

    #[test]
    fn what_needs_no_turn_waits_for_none() {
        let met = Barrier::new(3);
        let items = [false, true, true];
        let results = run(
            &items,
            1,
            |is_free| Claim { effort: Effort::Usual, is_free: *is_free },
            |_| met.wait().is_leader(),
        );
        assert_eq!(results.iter().flatten().count(), 3);
    }

    #[test]
    fn one_that_panics_takes_nothing_along() {
        let items = [1, 0, 2];
        let results = run(&items, 1, |_| claim(Effort::Usual), |number| 10 / number);
        assert_eq!(results, [Some(10), None, Some(5)]);
    }

    #[test]
    fn nothing_to_do_ends_at_once() {
        let results = run(&[] as &[u8], 2, |_| claim(Effort::Usual), |number| *number);
        assert_eq!(results, []);
    }
}
