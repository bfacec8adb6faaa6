//! What batches are made from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::data::dataloader::DataLoader;
use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::Dataset;
use burn::tensor::Device;
use burn_meta::panic_text;

use super::loader::FabricDataLoader;
use super::order::Sampling;
use crate::error::FabricError;

/// What [`Fabric::setup_dataloader`](crate::Fabric::setup_dataloader) takes: a dataset with its
/// batcher, or a loader of Burn's. A loader that was set up is none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be set up as a loader of data",
    note = "give a `LoaderOverDataset`, an `Arc<dyn DataLoader<_>>` or a `ReadyLoader`; what \
            `setup_dataloader` returned is set up already"
)]
pub trait DataSource: sealed::Sealed {
    /// A batch.
    type Batch;

    #[doc(hidden)]
    fn set_up(
        self,
        device: &Device,
        seed: u64,
    ) -> Result<FabricDataLoader<Self::Batch>, FabricError>;
}

mod sealed {
    pub trait Sealed {}
}

/// A Burn dataset and the batcher for its items, and how to go through it.
///
/// The defaults: batches of 32 in the dataset's order, the last one smaller where items are left,
/// made when they are asked for. The order depends on seed and epoch only, never on the workers.
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
/// let shuffled = |workers| -> Result<Vec<Vec<u32>>, FabricError> {
///     let loader = LoaderOverDataset::new(dataset(), Keep).batch_size(4).shuffle();
///     let loader = fabric.setup_dataloader(loader.workers(workers).drop_last(true))?;
///     loader.iter().collect()
/// };
/// assert_eq!(shuffled(0)?.len(), 2); // two of ten items are left out
/// assert_eq!(shuffled(0)?, shuffled(3)?);
/// # Ok::<(), FabricError>(())
/// ```
pub struct LoaderOverDataset<I, O> {
    dataset: Arc<dyn Dataset<I>>,
    batcher: Arc<dyn Batcher<I, O>>,
    batch_size: usize,
    sampling: Sampling,
    drop_last: bool,
    workers: usize,
    prefetch: usize,
    inference: bool,
    seed: Option<u64>,
}

impl<I, O> LoaderOverDataset<I, O> {
    /// The defaults.
    pub fn new(dataset: impl Dataset<I> + 'static, batcher: impl Batcher<I, O> + 'static) -> Self {
        Self {
            dataset: Arc::new(dataset),
            batcher: Arc::new(batcher),
            batch_size: 32,
            sampling: Sampling::Sequential,
            drop_last: false,
            workers: 0,
            prefetch: 2,
            inference: false,
            seed: None,
        }
    }

    /// Items of a batch.
    pub fn batch_size(mut self, items: usize) -> Self {
        self.batch_size = items;
        self
    }

    /// Each item once an epoch, in an order of its own.
    pub fn shuffle(self) -> Self {
        self.sampling(Sampling::Shuffled)
    }

    /// The order of items.
    pub fn sampling(mut self, sampling: Sampling) -> Self {
        self.sampling = sampling;
        self
    }

    /// Leave out a last batch that would be smaller.
    pub fn drop_last(mut self, drop: bool) -> Self {
        self.drop_last = drop;
        self
    }

    /// Threads that make batches ahead; none makes each in the loop. A batcher that draws from the
    /// device's generator draws in another order with several.
    pub fn workers(mut self, threads: usize) -> Self {
        self.workers = threads;
        self
    }

    /// Batches that each worker makes ahead of the loop, beside the one it is at; 2 by default, and
    /// at least 1.
    pub fn prefetch(mut self, batches: usize) -> Self {
        self.prefetch = batches;
        self
    }

    /// Make batches on the device without autodiff, for evaluation.
    pub fn inference(mut self, inference: bool) -> Self {
        self.inference = inference;
        self
    }

    /// Another seed than the Fabric's for the order.
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    fn problems(&self, items: usize) -> Vec<String> {
        let mut problems = Vec::new();
        if items == 0 {
            problems.push("the dataset has no items".to_owned());
        }
        if self.batch_size == 0 {
            problems.push("batches of 0 items: give at least 1".to_owned());
        }
        if items > 0 {
            problems.extend(self.sampling.problem(items));
        }
        let epoch = self.sampling.len(items);
        if self.drop_last && problems.is_empty() && epoch < self.batch_size {
            let size = self.batch_size;
            problems.push(format!(
                "an epoch of {epoch} items has no batch of {size}, and `drop_last` leaves out \
                 smaller ones"
            ));
        }
        problems
    }
}

impl<I, O> sealed::Sealed for LoaderOverDataset<I, O> {}

impl<I: 'static, O: Send + 'static> DataSource for LoaderOverDataset<I, O> {
    type Batch = O;

    fn set_up(self, device: &Device, seed: u64) -> Result<FabricDataLoader<O>, FabricError> {
        let items = self.dataset.len();
        let problems = self.problems(items);
        if !problems.is_empty() {
            return Err(FabricError::DataSettings { problems });
        }
        let device = match self.inference {
            true => device.clone().without_autodiff(),
            false => device.clone(),
        };
        let (dataset, batcher) = (self.dataset, self.batcher);
        let make = move |indices: &[usize]| make(&*dataset, &*batcher, &device, indices);
        let plan = Plan {
            make: Box::new(make),
            items,
            batch_size: self.batch_size,
            sampling: self.sampling,
            drop_last: self.drop_last,
            workers: self.workers,
            prefetch: self.prefetch.max(1),
        };
        Ok(FabricDataLoader::over(
            Arc::new(plan),
            self.seed.unwrap_or(seed),
        ))
    }
}

type Make<O> = Box<dyn Fn(&[usize]) -> Result<O, FabricError> + Send + Sync>;

/// How a dataset is gone through.
pub(super) struct Plan<O> {
    make: Make<O>,
    pub(super) items: usize,
    pub(super) batch_size: usize,
    pub(super) sampling: Sampling,
    drop_last: bool,
    pub(super) workers: usize,
    pub(super) prefetch: usize,
}

impl<O> Plan<O> {
    /// Batches of an epoch.
    pub(super) fn batches(&self) -> usize {
        let items = self.sampling.len(self.items);
        match self.drop_last {
            true => items / self.batch_size,
            false => items.div_ceil(self.batch_size),
        }
    }

    /// A batch of the epoch that has this order.
    pub(super) fn make(&self, order: &[usize], batch: usize) -> Result<O, FabricError> {
        let start = batch * self.batch_size;
        let end = order.len().min(start.saturating_add(self.batch_size));
        (self.make)(&order[start..end])
    }
}

fn make<I, O>(
    dataset: &dyn Dataset<I>,
    batcher: &dyn Batcher<I, O>,
    device: &Device,
    indices: &[usize],
) -> Result<O, FabricError> {
    let items = get(dataset, indices)?;
    caught(|| batcher.batch(items, device)).map_err(|message| FabricError::BatcherPanicked {
        items: indices.to_vec(),
        message,
    })
}

/// All at once, as a database likes it; and one by one where that fails, to learn which it is.
fn get<I>(dataset: &dyn Dataset<I>, indices: &[usize]) -> Result<Vec<I>, FabricError> {
    if let Ok(Ok(items)) = caught(|| dataset.get_many(indices.to_vec()))
        && items.len() == indices.len()
    {
        return Ok(items);
    }
    let one = |&index: &usize| match caught(|| dataset.get(index)) {
        Ok(item) => item.map_err(|source| FabricError::Item { index, source }),
        Err(message) => Err(FabricError::ItemPanicked { index, message }),
    };
    indices.iter().map(one).collect()
}

/// What `work` returns, or the text of its panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    // What the closure shares is the user's dataset or batcher, which is used again only if the
    // user goes on after the error.
    catch_unwind(AssertUnwindSafe(work))
        .map_err(|panic| panic_text(&*panic).unwrap_or_else(|| "a panic without a text".to_owned()))
}

/// A loader of Burn's that is ready.
///
/// Its batches come on the Fabric's device, and epoch and position are known; the order is its
/// own, so a position inside an epoch can be found again only where
/// [`same_order`](ReadyLoader::same_order) says that it is always the same.
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
/// use burn::data::dataloader::DataLoaderBuilder;
///
/// let burns = DataLoaderBuilder::new(Keep).batch_size(4).build(dataset());
/// let loader = fabric.setup_dataloader(ReadyLoader::new(burns).same_order(true))?;
/// assert_eq!(loader.iter().count(), 3);
/// # Ok::<(), FabricError>(())
/// ```
pub struct ReadyLoader<O> {
    loader: Arc<dyn DataLoader<O>>,
    same_order: bool,
    inference: bool,
}

impl<O> ReadyLoader<O> {
    /// A loader whose order nothing is known of.
    pub fn new(loader: Arc<dyn DataLoader<O>>) -> Self {
        Self {
            loader,
            same_order: false,
            inference: false,
        }
    }

    /// Say that every epoch has the same batches in the same order: no shuffle, and at most one
    /// worker. A position is then found again by passing over what comes before it.
    pub fn same_order(mut self, same: bool) -> Self {
        self.same_order = same;
        self
    }

    /// Make batches on the device without autodiff, for evaluation.
    pub fn inference(mut self, inference: bool) -> Self {
        self.inference = inference;
        self
    }
}

impl<O> sealed::Sealed for ReadyLoader<O> {}
impl<O> sealed::Sealed for Arc<dyn DataLoader<O>> {}

impl<O: 'static> DataSource for ReadyLoader<O> {
    type Batch = O;

    fn set_up(self, device: &Device, seed: u64) -> Result<FabricDataLoader<O>, FabricError> {
        let device = match self.inference {
            true => device.clone().without_autodiff(),
            false => device.clone(),
        };
        let loader = self.loader.to_device(&device);
        if loader.num_items() == 0 {
            let problems = vec!["the loader has no items".to_owned()];
            return Err(FabricError::DataSettings { problems });
        }
        Ok(FabricDataLoader::ready(loader, self.same_order, seed))
    }
}

impl<O: 'static> DataSource for Arc<dyn DataLoader<O>> {
    type Batch = O;

    fn set_up(self, device: &Device, seed: u64) -> Result<FabricDataLoader<O>, FabricError> {
        ReadyLoader::new(self).set_up(device, seed)
    }
}
