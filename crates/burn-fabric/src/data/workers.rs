//! Threads that make batches ahead of the loop.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};

use super::source::Plan;
use crate::error::FabricError;

/// The workers of one epoch. Each makes every n-th batch and hands it over through a channel of its
/// own, so the order needs no sorting, and no worker is further ahead than its channel is long.
pub(super) struct Workers<O> {
    /// By the batch that is taken next, modulo their number. Dropped first: a worker that waits to
    /// hand over then ends.
    channels: Vec<Receiver<Result<O, FabricError>>>,
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
    first: usize,
}

impl<O: Send + 'static> Workers<O> {
    /// None where none are wanted, or where the system starts no thread: the batches are the same
    /// without.
    pub(super) fn start(plan: &Arc<Plan<O>>, order: &Arc<[usize]>, first: usize) -> Option<Self> {
        let batches = plan.batches();
        let count = plan.workers.min(batches.saturating_sub(first));
        let stop = Arc::new(AtomicBool::new(false));
        let mut workers = Self {
            channels: Vec::new(),
            stop,
            threads: Vec::new(),
            first,
        };
        for worker in 0..count {
            let (sender, receiver) = sync_channel(plan.prefetch);
            let (plan, order, stop) = (plan.clone(), order.clone(), workers.stop.clone());
            let run = move || {
                for batch in (first + worker..batches).step_by(count) {
                    if stop.load(Ordering::Relaxed) {
                        return;
                    }
                    if sender.send(plan.make(&order, batch)).is_err() {
                        return;
                    }
                }
            };
            let name = format!("data worker {worker}");
            workers
                .threads
                .push(Builder::new().name(name).spawn(run).ok()?);
            workers.channels.push(receiver);
        }
        (count > 0).then_some(workers)
    }

    /// The batch, which has to be the one after the last that was taken.
    pub(super) fn take(&self, batch: usize) -> Option<Result<O, FabricError>> {
        let channel = &self.channels[(batch - self.first) % self.channels.len()];
        channel.recv().ok()
    }
}

impl<O> Drop for Workers<O> {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        self.channels.clear();
        for thread in self.threads.drain(..) {
            // What panics in a worker is caught and handed over.
            let _ = thread.join();
        }
    }
}
