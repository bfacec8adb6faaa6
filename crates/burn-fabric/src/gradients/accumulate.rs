//! One step from the gradients of several small batches.

use std::collections::HashMap;
use std::iter::Peekable;
use std::sync::atomic::{AtomicU64, Ordering};

use burn::module::ParamId;
use burn::optim::GradientsParams;

use super::{check_shapes, no_gradients, with_rank};
use crate::config::SettingProblem;
use crate::error::FabricError;
use crate::parameters::HasParameters;

/// Sums gradients over a group of micro-batches and gives their mean, so that `n` micro-batches of
/// one size make the step of one batch `n` times as large.
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
}

/// Where a micro-batch stands in its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MicroBatch {
    is_last: bool,
    /// The group, where [`Accumulation::groups`] made it.
    group: Option<u64>,
}

impl MicroBatch {
    /// More follow. For loops of your own; [`Accumulation::groups`] makes them otherwise.
    pub const INNER: Self = Self {
        is_last: false,
        group: None,
    };
    /// It ends its group. For loops of your own.
    pub const LAST: Self = Self {
        is_last: true,
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
        })
    }

    /// Pair each batch with its place in its group. The last batch ends its group however few came
    /// before it, so no gradient is left behind. A batch that is to be left out is given to
    /// [`skip`](Accumulation::skip).
    pub fn groups<I: IntoIterator>(&self, batches: I) -> MicroBatches<I::IntoIter> {
        MicroBatches {
            batches: batches.into_iter().peekable(),
            size: self.size,
            place: 0,
            group: NEXT_GROUP.fetch_add(1, Ordering::Relaxed),
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
        if self.is_pending() && self.group != place.group {
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
                let Some(gradient) = gradients.remove::<D>(id) else { continue };
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
        Ok(if place.is_last { self.finish() } else { None })
    }

    /// Leave a batch out; the mean of its group, when it would have ended it.
    pub fn skip(&mut self, place: MicroBatch) -> Option<GradientsParams> {
        if place.is_last { self.finish() } else { None }
    }

    /// Whether gradients wait for their group to end.
    pub fn is_pending(&self) -> bool {
        self.weight > 0.0
    }

    /// End the group: the mean of what waits. For a stream of batches whose end shows only when it
    /// is there; [`groups`](Accumulation::groups) needs no such call.
    pub fn finish(&mut self) -> Option<GradientsParams> {
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
        let group = Some(self.group);
        let is_last = self.place >= self.size || self.batches.peek().is_none();
        if is_last {
            self.place = 0;
            self.group = NEXT_GROUP.fetch_add(1, Ordering::Relaxed);
        }
        Some((batch, MicroBatch { is_last, group }))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.batches.size_hint()
    }
}
