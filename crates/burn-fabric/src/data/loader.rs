//! A loader that was set up, and where it is.

use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn::data::dataloader::DataLoader;
use serde::{Deserialize, Serialize};

use super::batches::Batches;
use super::source::Plan;
use crate::error::FabricError;

/// Where a loader is: after `batch` batches of epoch `epoch`. It serialises.
///
/// ```
/// # use burn::data::dataloader::batcher::Batcher;
/// # use burn::data::dataset::InMemDataset;
/// # use burn::tensor::Device;
/// # use burn_fabric::prelude::*;
/// # struct Keep;
/// # impl Batcher<u32, Vec<u32>> for Keep {
/// #     fn batch(&self, items: Vec<u32>, _device: &Device) -> Vec<u32> {
/// #         items
/// #     }
/// # }
/// # let fabric = Fabric::builder().build()?;
/// # let dataset = || InMemDataset::new((0..10).collect::<Vec<u32>>());
/// let loader = || LoaderOverDataset::new(dataset(), Keep).batch_size(4).shuffle();
/// let there = fabric.setup_dataloader(loader())?;
/// there.iter().next();
/// let position: DataPosition = there.position();
/// assert_eq!((position.epoch, position.batch), (0, 1));
///
/// let here = fabric.setup_dataloader(loader())?;
/// here.restore(&position)?;
/// let next = |loader: &FabricDataLoader<Vec<u32>>| loader.iter().next().transpose();
/// assert_eq!(next(&here)?, next(&there)?);
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataPosition {
    /// Epochs that are over.
    pub epoch: u32,
    /// Batches of this epoch that the loop has had.
    pub batch: usize,
    /// What the order follows from, with the epoch.
    pub seed: u64,
    /// Items of the dataset.
    pub items: usize,
    /// Batches of an epoch, where they are known in number.
    pub batches: Option<usize>,
    /// Items of a batch, where that is known.
    pub batch_size: Option<usize>,
    /// The order, in words.
    pub sampling: String,
}

/// Batches on a device, epoch after epoch: what
/// [`Fabric::setup_dataloader`](crate::Fabric::setup_dataloader) returns.
///
/// [`iter`](FabricDataLoader::iter) goes on where the loader is, to the end of the epoch: after a
/// `break`, or after [`restore`](FabricDataLoader::restore), with the batch that would have come
/// next.
///
/// ```
/// # use burn::data::dataloader::batcher::Batcher;
/// # use burn::data::dataset::InMemDataset;
/// # use burn::tensor::Device;
/// # use burn_fabric::prelude::*;
/// # struct Keep;
/// # impl Batcher<u32, Vec<u32>> for Keep {
/// #     fn batch(&self, items: Vec<u32>, _device: &Device) -> Vec<u32> {
/// #         items
/// #     }
/// # }
/// # let fabric = Fabric::builder().build()?;
/// # let dataset = || InMemDataset::new((0..10).collect::<Vec<u32>>());
/// let loader = fabric.setup_dataloader(LoaderOverDataset::new(dataset(), Keep).batch_size(4))?;
/// assert_eq!((loader.num_items(), loader.num_batches()), (10, Some(3)));
/// for batch in loader.iter() {
///     assert_eq!(batch?, [0, 1, 2, 3]);
///     break;
/// }
/// let rest: Vec<_> = loader.iter().collect::<Result<_, _>>()?;
/// assert_eq!(rest, [vec![4, 5, 6, 7], vec![8, 9]]);
/// assert_eq!(loader.epoch(), 1);
/// # Ok::<(), FabricError>(())
/// ```
pub struct FabricDataLoader<O> {
    pub(super) kind: Kind<O>,
    state: Mutex<State>,
}

pub(super) enum Kind<O> {
    Dataset(Arc<Plan<O>>),
    Ready {
        loader: Arc<dyn DataLoader<O>>,
        same_order: bool,
    },
}

#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) epoch: u32,
    pub(super) batch: usize,
    pub(super) seed: u64,
    /// Of the iterator that is the loader's now; older ones end with an error.
    pub(super) generation: u64,
}

impl<O> FabricDataLoader<O> {
    pub(super) fn over(plan: Arc<Plan<O>>, seed: u64) -> Self {
        Self::new(Kind::Dataset(plan), seed)
    }

    pub(super) fn ready(loader: Arc<dyn DataLoader<O>>, same_order: bool, seed: u64) -> Self {
        Self::new(Kind::Ready { loader, same_order }, seed)
    }

    fn new(kind: Kind<O>, seed: u64) -> Self {
        let state = State {
            epoch: 0,
            batch: 0,
            seed,
            generation: 0,
        };
        Self {
            kind,
            state: Mutex::new(state),
        }
    }

    pub(super) fn state(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The batches from here to the end of the epoch. A later call, or
    /// [`restore`](FabricDataLoader::restore), ends this iterator with
    /// [`FabricError::DataIterator`].
    pub fn iter(&self) -> Batches<'_, O>
    where
        O: Send + 'static,
    {
        Batches::new(self)
    }

    /// Batches of an epoch; unknown of a loader of Burn's.
    pub fn num_batches(&self) -> Option<usize> {
        match &self.kind {
            Kind::Dataset(plan) => Some(plan.batches()),
            Kind::Ready { .. } => None,
        }
    }

    /// Items of the dataset.
    pub fn num_items(&self) -> usize {
        match &self.kind {
            Kind::Dataset(plan) => plan.items,
            Kind::Ready { loader, .. } => loader.num_items(),
        }
    }

    /// Epochs that are over.
    pub fn epoch(&self) -> u32 {
        self.state().epoch
    }

    /// Where it is: after the last batch that the loop has had. What workers made ahead does not
    /// count, nor does a batch that was an error.
    pub fn position(&self) -> DataPosition {
        let State {
            epoch, batch, seed, ..
        } = *self.state();
        let (batch_size, sampling) = match &self.kind {
            Kind::Dataset(plan) => (Some(plan.batch_size), plan.sampling.to_string()),
            Kind::Ready { same_order, .. } => {
                let order = if *same_order { "same order" } else { "unknown" };
                (None, order.to_owned())
            }
        };
        DataPosition {
            epoch,
            batch,
            seed,
            items: self.num_items(),
            batches: self.num_batches(),
            batch_size,
            sampling,
        }
    }

    /// Go on from `position`, with the seed it has: the batches are those that would have come
    /// there.
    ///
    /// # Errors
    /// [`FabricError::OtherData`] for the position of a loader with other items, batches or order;
    /// [`FabricError::UnknownOrder`] inside an epoch of a loader of Burn's that is not known to
    /// have the same order. The loader is where it was then.
    pub fn restore(&self, position: &DataPosition) -> Result<(), FabricError> {
        self.check(position)?;
        self.go_to(position);
        Ok(())
    }

    /// Whether it can go on from there.
    pub(crate) fn check(&self, position: &DataPosition) -> Result<(), FabricError> {
        let here = self.position();
        let mut differences = Vec::new();
        let mut compare = |what: &str, found: String, expected: String| {
            if found != expected {
                differences.push(format!("{what}: {found} there, {expected} here"));
            }
        };
        let known = |number: Option<usize>| match number {
            Some(number) => number.to_string(),
            None => "unknown".to_owned(),
        };
        compare("items", position.items.to_string(), here.items.to_string());
        compare(
            "items of a batch",
            known(position.batch_size),
            known(here.batch_size),
        );
        compare(
            "batches of an epoch",
            known(position.batches),
            known(here.batches),
        );
        compare("order", position.sampling.clone(), here.sampling);
        if let Some(batches) = here.batches.filter(|batches| position.batch > *batches) {
            let batch = position.batch;
            differences.push(format!("{batch} batches done of an epoch of {batches}"));
        }
        if !differences.is_empty() {
            return Err(FabricError::OtherData { differences });
        }
        let is_ordered = match &self.kind {
            Kind::Dataset(_) => true,
            Kind::Ready { same_order, .. } => *same_order,
        };
        if position.batch > 0 && !is_ordered {
            let batch = position.batch;
            return Err(FabricError::UnknownOrder { batch });
        }
        Ok(())
    }

    pub(crate) fn go_to(&self, position: &DataPosition) {
        let mut state = self.state();
        state.epoch = position.epoch;
        state.batch = position.batch;
        state.seed = position.seed;
        state.generation += 1;
    }

    /// Go to the beginning of an epoch, counted from 0.
    pub fn start_epoch(&self, epoch: u32) {
        let mut state = self.state();
        state.epoch = epoch;
        state.batch = 0;
        state.generation += 1;
    }
}

impl<O> fmt::Debug for FabricDataLoader<O> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let position = self.position();
        let mut debug = f.debug_struct("FabricDataLoader");
        debug.field("position", &position).finish_non_exhaustive()
    }
}
