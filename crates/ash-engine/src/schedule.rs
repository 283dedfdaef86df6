//! When each scanner starts.
//!
//! More scanners at once than there are processors end later than the same scanners one after the other, longest first: the longest gets only a
//! share of a processor while the short ones run, and is alone at the end. They would also all need their memory at the same time.
//!
//! A turn ends after a while, though what had it goes on: a tree that makes scanners hang must not keep the others from starting.

use std::{
    collections::VecDeque,
    sync::{Mutex, PoisonError, mpsc},
    thread,
    time::Duration,
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

/// How many have a turn at a time, and for how long.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turns {
    pub(crate) at_once: usize,
    pub(crate) length: Duration,
}

impl Turns {
    /// One for each processor.
    pub(crate) fn here() -> Self {
        Self {
            at_once: thread::available_parallelism().map_or(1, usize::from),
            length: Duration::from_secs(60),
        }
    }
}

/// Does all work, in turns, and returns the results in the order of the items. `None`: it panicked.
pub(crate) fn run<T: Sync, R: Send>(
    items: &[T],
    turns: Turns,
    claim: impl Fn(&T) -> Claim,
    work: impl Fn(&T) -> R + Sync,
) -> Vec<Option<R>> {
    let (free, mut queued): (Vec<usize>, Vec<usize>) =
        (0..items.len()).partition(|index| claim(&items[*index]).is_free);
    queued.sort_by_key(|index| std::cmp::Reverse(claim(&items[*index]).effort));
    let queue = Mutex::new(VecDeque::from(queued));
    let next = || queue.lock().unwrap_or_else(PoisonError::into_inner).pop_front();
    let (next, work) = (&next, &work);
    let done: Vec<(usize, Option<R>)> = thread::scope(|scope| {
        // Each item has a thread of its own: one that panics takes nothing but itself along, and one that takes long goes on without its turn.
        let start = move |index: usize, turn: mpsc::Sender<()>| {
            let item = &items[index];
            let thread = scope.spawn(move || {
                // Dropped at the end, however that comes about.
                let _turn = turn;
                work(item)
            });
            (index, thread)
        };
        let in_turn = || {
            scope.spawn(move || {
                let mut started = vec![];
                while let Some(index) = next() {
                    let (turn, over) = mpsc::channel();
                    started.push(start(index, turn));
                    // Nothing is sent: it is either over or too long.
                    let _ = over.recv_timeout(turns.length);
                }
                started
            })
        };
        let in_turn: Vec<_> = (0..turns.at_once.min(items.len())).map(|_| in_turn()).collect();
        let free: Vec<_> = free.into_iter().map(|index| start(index, mpsc::channel().0)).collect();
        let in_turn = in_turn.into_iter().flat_map(|worker| worker.join().unwrap_or_default());
        let started: Vec<_> = free.into_iter().chain(in_turn).collect();
        started.into_iter().map(|(index, thread)| (index, thread.join().ok())).collect()
    });
    let mut results: Vec<Option<R>> = items.iter().map(|_| None).collect();
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

    /// Turns that outlast every test.
    const fn turns(at_once: usize) -> Turns {
        Turns { at_once, length: Duration::from_secs(3600) }
    }

    #[test]
    fn the_longest_start_first_and_the_results_keep_their_order() {
        let items = [Effort::Short, Effort::Usual, Effort::Long, Effort::Usual];
        let started = Mutex::new(vec![]);
        let items: Vec<(usize, Effort)> = items.into_iter().enumerate().collect();
        let results = run(
            &items,
            turns(1),
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
            turns(2),
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
            turns(1),
            |is_free| Claim { effort: Effort::Usual, is_free: *is_free },
            |_| met.wait().is_leader(),
        );
        assert_eq!(results.iter().flatten().count(), 3);
    }

    #[test]
    fn one_that_hangs_keeps_the_others_waiting_for_its_turn_only() {
        // Each ends only when all have started.
        let all = Barrier::new(4);
        let turns = Turns { at_once: 1, length: Duration::from_millis(5) };
        let results = run(
            &[1, 2, 3, 4],
            turns,
            |_| claim(Effort::Usual),
            |number| {
                all.wait();
                *number
            },
        );
        assert_eq!(results, [Some(1), Some(2), Some(3), Some(4)]);
    }

    #[test]
    fn one_that_panics_takes_nothing_along() {
        let items = [1, 0, 2];
        let results = run(&items, turns(1), |_| claim(Effort::Usual), |number| 10 / number);
        assert_eq!(results, [Some(10), None, Some(5)]);
    }

    #[test]
    fn nothing_to_do_ends_at_once() {
        let results = run(&[] as &[u8], turns(2), |_| claim(Effort::Usual), |number| *number);
        assert_eq!(results, []);
    }
}
