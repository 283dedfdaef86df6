//! A supervisor that is loaded before there is a command for it.
//!
//! Loading a process of ash takes about a millisecond, which every command would wait for.

use std::{
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::{Stdio, supervised::Waiting};

/// The supervisor held ready, shared by the clones of a launcher. By default none is.
#[derive(Debug, Clone, Default)]
pub(super) struct Standby(Option<Arc<Mutex<Place>>>);

#[derive(Debug)]
enum Place {
    Empty,
    /// One is being started.
    Taken,
    Ready(Waiting),
}

impl Standby {
    /// Starts the first one.
    pub(super) fn begin(exe: &Path) -> Self {
        let standby = Self(Some(Arc::new(Mutex::new(Place::Empty))));
        standby.replace(exe);
        standby
    }

    /// The one that is ready, if the command's output is to be captured and it has not been killed or stopped meanwhile.
    pub(super) fn take(&self, stdio: Stdio) -> Option<Waiting> {
        let Stdio::Capture(_) = stdio else { return None };
        let mut place = lock(self.0.as_ref()?);
        match std::mem::replace(&mut *place, Place::Empty) {
            Place::Ready(mut waiting) => waiting.is_ready().then_some(waiting),
            Place::Taken => {
                *place = Place::Taken;
                None
            }
            Place::Empty => None,
        }
    }

    /// Starts another one, unless one is there. If that fails, the command that needs one starts it, and says why it cannot.
    pub(super) fn replace(&self, exe: &Path) {
        let Some(shared) = &self.0 else { return };
        {
            let mut place = lock(shared);
            if !matches!(*place, Place::Empty) {
                return;
            }
            *place = Place::Taken;
        }
        let started = Waiting::in_advance(exe);
        *lock(shared) = started.map_or(Place::Empty, Place::Ready);
    }
}

fn lock(place: &Arc<Mutex<Place>>) -> MutexGuard<'_, Place> {
    place.lock().unwrap_or_else(PoisonError::into_inner)
}
