//! One step from the gradients of several small batches.

use std::collections::HashMap;
use std::iter::Peekable;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::Tensor;
use burn::tensor::kind::BridgeTensor;

use super::{check_shapes, no_gradients, widened, with_rank};
use crate::config::SettingProblem;
use crate::error::FabricError;
use crate::parameters::HasParameters;

/// Sums gradients over a group of micro-batches and gives their mean, so that `n` micro-batches of
/// one size make the step of one batch `n` times as large. Gradients in half precision are summed in
/// f32, and so is their mean.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::optim::SgdConfig;
/// use burn::tensor::Tensor;
/// use burn_fabric::prelude::*;
///
/// let fabric = Fabric::builder().build()?;
/// let mut model = fabric.setup(LinearConfig::new(4, 1).init(&fabric.inference_device()))?;
/// let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new())?;
/// let batches = (0..10).map(|i| Tensor::<2>::full([2, 4], i, fabric.device()));
///
/// let mut steps = 0;
/// let mut accumulation = fabric.accumulate(4)?;
/// for (batch, place) in accumulation.groups(batches) {
///     let loss = model.forward(batch).mean();
///     let gradients = fabric.backward(loss, &model)?;
///     if let Some(gradients) = accumulation.add(place, &model, gradients)? {
///         optimizer.step(1e-3, &mut model, gradients)?;
///         steps += 1;
///     }
/// }
/// assert_eq!(steps, 3); // 4 + 4 + 2: the last, shorter group counts as what it is
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Debug)]
#[must_use = "gradients are accumulated by `add`"]
pub struct Accumulation {
    size: usize,
    sums: GradientsParams,
    /// What is in `sums`: id and rank.
    held: HashMap<ParamId, usize>,
    /// The weights of what is in `sums`, summed.
    weight: f64,
    /// The group that what is in `sums` belongs to.
    group: Option<u64>,
    /// Micro-batches of the group that are done.
    done: usize,
    /// Whether the group was begun before a checkpoint that was loaded since.
    resumed: bool,
}

/// What waits for its group to end: what a checkpoint keeps of an [`Accumulation`].
pub(crate) struct Waiting {
    pub(crate) size: usize,
    pub(crate) done: usize,
    pub(crate) weight: f64,
    pub(crate) sums: Vec<(ParamId, BridgeTensor)>,
}

/// Where a micro-batch stands in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroBatch {
    is_last: bool,
    /// Its number in its group, where [`Accumulation::groups`] made it.
    number: usize,
    /// The group, where [`Accumulation::groups`] made it.
    group: Option<u64>,
}

impl MicroBatch {
    /// More follow. For loops of your own; [`Accumulation::groups`] makes them otherwise.
    pub const INNER: Self = Self {
        is_last: false,
        number: 0,
        group: None,
    };
    /// It ends its group. For loops of your own.
    pub const LAST: Self = Self {
        is_last: true,
        number: 0,
        group: None,
    };

    /// Whether it ends its group: the step is due.
    pub fn is_last(self) -> bool {
        self.is_last
    }
}

impl Accumulation {
    pub(crate) fn new(size: usize) -> Result<Self, FabricError> {
        if size == 0 {
            let problem = SettingProblem::out_of_range("accumulate", "0", "at least 1");
            return Err(FabricError::Settings {
                problems: vec![problem],
            });
        }
        Ok(Self {
            size,
            sums: GradientsParams::new(),
            held: HashMap::new(),
            weight: 0.0,
            group: None,
            done: 0,
            resumed: false,
        })
    }

    /// Pair each batch with its place in its group. The last batch ends its group however few came
    /// before it, so no gradient is left behind. A batch that is to be left out is given to
    /// [`skip`](Accumulation::skip). A group that was begun before a checkpoint goes on where it was.
    ///
    /// Give it a loader's own iterator: to learn whether an adaptor of unknown length (`filter`) has
    /// another batch, one is taken, which the loader counts as had.
    pub fn groups<I: IntoIterator>(&self, batches: I) -> MicroBatches<I::IntoIter> {
        MicroBatches {
            batches: batches.into_iter().peekable(),
            size: self.size,
            place: if self.resumed { self.done } else { 0 },
            group: match self.group {
                Some(group) if self.resumed => group,
                _ => NEXT_GROUP.fetch_add(1, Ordering::Relaxed),
            },
        }
    }

    /// Add the gradients of one micro-batch; the mean of the group, when this ends it.
    ///
    /// # Errors
    /// As [`add_weighted`](Accumulation::add_weighted).
    pub fn add<P: HasParameters>(
        &mut self,
        place: MicroBatch,
        of: &P,
        gradients: GradientsParams,
    ) -> Result<Option<GradientsParams>, FabricError> {
        self.add_weighted(place, of, gradients, 1.0)
    }

    /// Add gradients that count `weight` times in the mean: the number of samples, where
    /// micro-batches differ in size and each loss is the mean over its own.
    ///
    /// # Errors
    /// [`FabricError::NoGradients`] where none belongs to a parameter of `of`,
    /// [`FabricError::GradientShape`], [`FabricError::Weight`] where the weight is no positive
    /// number, [`FabricError::GroupUnfinished`] where another group's gradients still wait,
    /// [`FabricError::Patterns`] and [`FabricError::Poisoned`] as the parameters are selected; what
    /// was accumulated stays.
    pub fn add_weighted<P: HasParameters>(
        &mut self,
        place: MicroBatch,
        of: &P,
        mut gradients: GradientsParams,
        weight: f64,
    ) -> Result<Option<GradientsParams>, FabricError> {
        if !(weight > 0.0 && weight.is_finite()) {
            return Err(FabricError::Weight { weight });
        }
        // A loop that counts its groups itself goes on with the one that a checkpoint had.
        let goes_on = self.resumed && place.group.is_none();
        if self.is_pending() && self.group != place.group && !goes_on {
            return Err(FabricError::GroupUnfinished);
        }
        let selected = of.parameters().selected()?;
        let parameters = selected.iter();
        let parameters = parameters.map(|one| (one.id, &one.shape, || one.full_path()));
        if check_shapes(&gradients, parameters)?.len() == selected.len() {
            return Err(no_gradients(&selected));
        }
        for parameter in selected.iter() {
            let (id, rank) = (parameter.id, parameter.rank());
            with_rank!(rank, D => {
                let Some(gradient) = gradients.remove::<D>(id).map(widened) else { continue };
                let gradient = if weight == 1.0 { gradient } else { gradient.mul_scalar(weight) };
                let sum = match self.sums.remove::<D>(id) {
                    Some(sum) => sum.add(gradient),
                    None => gradient,
                };
                self.sums.register(id, sum);
            });
            self.held.insert(id, rank);
        }
        self.group = place.group;
        self.weight += weight;
        self.advance(place);
        Ok(if place.is_last { self.finish() } else { None })
    }

    /// Leave a batch out; the mean of its group, when it would have ended it.
    pub fn skip(&mut self, place: MicroBatch) -> Option<GradientsParams> {
        self.advance(place);
        if place.is_last { self.finish() } else { None }
    }

    /// Whether gradients wait for their group to end.
    pub fn is_pending(&self) -> bool {
        self.weight > 0.0
    }

    /// End the group: the mean of what waits. For a stream of batches whose end shows only when it
    /// is there; [`groups`](Accumulation::groups) needs no such call.
    pub fn finish(&mut self) -> Option<GradientsParams> {
        (self.done, self.resumed) = (0, false);
        let weight = std::mem::take(&mut self.weight);
        let mut mean = std::mem::take(&mut self.sums);
        let held = std::mem::take(&mut self.held);
        if held.is_empty() {
            return None;
        }
        if weight != 1.0 {
            for (id, rank) in held {
                with_rank!(rank, D => {
                    if let Some(sum) = mean.remove::<D>(id) {
                        mean.register(id, sum.div_scalar(weight));
                    }
                });
            }
        }
        Some(mean)
    }
}

impl Accumulation {
    fn advance(&mut self, place: MicroBatch) {
        self.done = match place.group {
            Some(_) => place.number,
            None => self.done + 1,
        };
        self.resumed = false;
    }

    pub(crate) fn waiting(&self) -> Waiting {
        let mut held: Vec<(ParamId, usize)> =
            self.held.iter().map(|(id, rank)| (*id, *rank)).collect();
        held.sort();
        let sum = |(id, rank)| {
            with_rank!(rank, D => {
                self.sums.get::<D>(id).map(|sum| (id, sum.into_bridge()))
            })
        };
        Waiting {
            size: self.size,
            done: self.done,
            weight: self.weight,
            sums: held.into_iter().filter_map(sum).collect(),
        }
    }

    /// Go on where another one was, of the same size.
    pub(crate) fn resume(&mut self, waiting: Waiting) {
        self.sums = GradientsParams::new();
        self.held.clear();
        for (id, sum) in waiting.sums {
            let rank = sum.shape().rank();
            with_rank!(rank, D => self.sums.register(id, Tensor::<D>::from_bridge(sum)));
            self.held.insert(id, rank);
        }
        self.weight = waiting.weight;
        self.done = waiting.done;
        self.group = Some(NEXT_GROUP.fetch_add(1, Ordering::Relaxed));
        self.resumed = true;
    }
}

static NEXT_GROUP: AtomicU64 = AtomicU64::new(0);

/// Batches with their places, from [`Accumulation::groups`].
pub struct MicroBatches<I: Iterator> {
    batches: Peekable<I>,
    size: usize,
    /// How many of the group have been handed out.
    place: usize,
    group: u64,
}

impl<I: Iterator> Iterator for MicroBatches<I> {
    type Item = (I::Item, MicroBatch);

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.batches.next()?;
        self.place += 1;
        let (group, number) = (Some(self.group), self.place);
        // A loader knows whether there is one more; one that is taken to see counts as had.
        let is_over = match self.batches.size_hint() {
            (1.., _) => false,
            (0, Some(0)) => true,
            (0, _) => self.batches.peek().is_none(),
        };
        let is_last = self.place >= self.size || is_over;
        if is_last {
            self.place = 0;
            self.group = NEXT_GROUP.fetch_add(1, Ordering::Relaxed);
        }
        let place = MicroBatch {
            is_last,
            number,
            group,
        };
        Some((batch, place))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}
