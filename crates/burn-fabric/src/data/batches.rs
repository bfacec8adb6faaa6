//! The batches of an epoch.

use std::fmt;
use std::sync::Arc;

use burn::data::dataloader::DataLoaderIterator;

use super::loader::{FabricDataLoader, Kind};
use super::source::{Plan, caught};
use super::workers::Workers;
use crate::error::FabricError;

/// The batches from where a loader is to the end of its epoch. It ends its workers when it is
/// dropped, once each has done with the batch it is at.
///
/// After an error it goes on with the next batch; who stops there finds the batch again with the
/// next [`iter`](FabricDataLoader::iter).
pub struct Batches<'l, O> {
    loader: &'l FabricDataLoader<O>,
    generation: u64,
    next: usize,
    /// Batches of a loader of Burn's that come before where this one begins.
    pass_over: usize,
    origin: Origin<'l, O>,
    is_over: bool,
}

enum Origin<'l, O> {
    Dataset {
        plan: Arc<Plan<O>>,
        order: Arc<[usize]>,
        workers: Option<Workers<O>>,
    },
    Ready {
        batches: Box<dyn DataLoaderIterator<O> + 'l>,
        /// The batch after the one that the loop has: whoever asks whether it had the last one
        /// need not take one for that, which would count.
        ahead: Option<Result<O, FabricError>>,
        is_exhausted: bool,
    },
}

impl<'l, O: Send + 'static> Batches<'l, O> {
    pub(super) fn new(loader: &'l FabricDataLoader<O>) -> Self {
        let state = {
            let mut state = loader.state();
            state.generation += 1;
            *state
        };
        let (origin, pass_over) = match &loader.kind {
            Kind::Dataset(plan) => {
                let order = plan.sampling.order(plan.items, state.seed, state.epoch);
                let workers = Workers::start(plan, &order, state.batch);
                let plan = plan.clone();
                let origin = Origin::Dataset {
                    plan,
                    order,
                    workers,
                };
                (origin, 0)
            }
            Kind::Ready { loader, .. } => {
                let origin = Origin::Ready {
                    batches: loader.iter(),
                    ahead: None,
                    is_exhausted: false,
                };
                (origin, state.batch)
            }
        };
        Self {
            loader,
            generation: state.generation,
            next: state.batch,
            pass_over,
            origin,
            is_over: false,
        }
    }

    /// The epoch is over.
    fn end(&mut self) -> Option<Result<O, FabricError>> {
        self.is_over = true;
        let mut state = self.loader.state();
        state.epoch = state.epoch.saturating_add(1);
        state.batch = 0;
        None
    }

    fn make(&mut self) -> Option<Result<O, FabricError>> {
        match &mut self.origin {
            Origin::Dataset {
                plan,
                order,
                workers,
            } => {
                let batch = self.next;
                if batch >= plan.batches() {
                    return None;
                }
                let ahead = workers.as_ref().and_then(|workers| workers.take(batch));
                Some(ahead.unwrap_or_else(|| plan.make(order, batch)))
            }
            Origin::Ready {
                batches,
                ahead,
                is_exhausted,
            } => {
                let mut take = || {
                    if *is_exhausted {
                        return None;
                    }
                    match caught(|| batches.next()) {
                        Ok(Some(batch)) => {
                            Some(batch.map_err(|source| FabricError::Loader { source }))
                        }
                        Ok(None) => {
                            *is_exhausted = true;
                            None
                        }
                        Err(message) => {
                            // Burn's iterator may be in any state now.
                            *is_exhausted = true;
                            Some(Err(FabricError::LoaderPanicked { message }))
                        }
                    }
                };
                let batch = ahead.take().or_else(&mut take)?;
                *ahead = take();
                Some(batch)
            }
        }
    }
}

impl<O: Send + 'static> Iterator for Batches<'_, O> {
    type Item = Result<O, FabricError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        if self.loader.state().generation != self.generation {
            self.is_over = true;
            return Some(Err(FabricError::DataIterator));
        }
        while self.pass_over > 0 {
            self.pass_over -= 1;
            match self.make() {
                Some(Ok(_)) => {}
                Some(error) => {
                    self.is_over = matches!(&error, Err(FabricError::LoaderPanicked { .. }));
                    return Some(error);
                }
                None => return self.end(),
            }
        }
        let made = {
            let _span = crate::span::batch();
            self.make()
        };
        let Some(batch) = made else {
            return self.end();
        };
        self.next += 1;
        match &batch {
            Ok(_) => self.loader.state().batch = self.next,
            // Nothing follows, and the epoch is not over either.
            Err(FabricError::LoaderPanicked { .. }) => self.is_over = true,
            Err(_) => {}
        }
        Some(batch)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match &self.origin {
            Origin::Dataset { plan, .. } if !self.is_over => {
                let left = plan.batches() - self.next;
                (left, Some(left))
            }
            Origin::Ready {
                ahead,
                is_exhausted,
                ..
            } if !self.is_over => {
                let known = usize::from(ahead.is_some());
                (known, is_exhausted.then_some(known))
            }
            _ => (0, Some(0)),
        }
    }
}

impl<O> fmt::Debug for Batches<'_, O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Batches");
        debug.field("next", &self.next).finish_non_exhaustive()
    }
}
