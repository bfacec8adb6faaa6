//! Who works in which folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// A path that stays what it is when the process changes its folder.
pub(super) fn absolute(folder: &Path) -> PathBuf {
    std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned())
}

/// The folders that this process saves into or loads from: one at a time in each. Other processes
/// are not kept out: a folder has one writer.
static BUSY: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
static DONE: Condvar = Condvar::new();

fn busy() -> MutexGuard<'static, Vec<PathBuf>> {
    BUSY.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(super) struct Busy(PathBuf);

impl Busy {
    /// By its one name, links and `..` resolved, as far as it exists.
    fn name(folder: &Path) -> PathBuf {
        fs::canonicalize(folder).unwrap_or_else(|_| absolute(folder))
    }

    pub(super) fn wait(folder: &Path) -> Self {
        let folder = Self::name(folder);
        let free = DONE.wait_while(busy(), |busy| busy.contains(&folder));
        let mut busy = free.unwrap_or_else(PoisonError::into_inner);
        busy.push(folder.clone());
        Self(folder)
    }

    pub(super) fn if_free(folder: &Path) -> Option<Self> {
        let folder = Self::name(folder);
        let mut busy = busy();
        if busy.contains(&folder) {
            return None;
        }
        busy.push(folder.clone());
        Some(Self(folder))
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        busy().retain(|folder| *folder != self.0);
        DONE.notify_all();
    }
}
