//! Clipping gradients, by value or by their global norm.

use burn::module::ParamId;
use burn::optim::GradientsParams;
use burn::tensor::{DType, FloatDType, Tensor};

use super::{check_shapes, no_gradients, widened, with_rank};
use crate::config::SettingProblem;
use crate::error::FabricError;
use crate::parameters::Selected;

/// How many elements of a gradient are squared and summed at once.
///
/// A fixed number, so that the norm is the same bits each time: flex sums 4 Mi elements and more in
/// an order that depends on its threads. Small enough for the squares to stay in a core's cache.
const CHUNK: usize = 1 << 15;

/// How gradients are kept small.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Clip {
    /// All gradients as one vector `g`: where its Euclidean norm is above `c`, `g * c / |g|`
    /// (Pascanu et al., 2013, "On the difficulty of training recurrent neural networks").
    Norm(f64),
    /// Each element to between `-c` and `c`.
    Value(f64),
}

impl Clip {
    pub(crate) fn check(self) -> Result<(), FabricError> {
        let (Self::Norm(bound) | Self::Value(bound)) = self;
        if bound > 0.0 && bound.is_finite() {
            return Ok(());
        }
        let problem = SettingProblem::out_of_range("clip", bound, "above 0");
        Err(FabricError::Settings {
            problems: vec![problem],
        })
    }
}

/// What to do with gradients that hold a NaN or an infinity.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum NonFinite {
    /// Return an error that names their parameters.
    #[default]
    Refuse,
    /// Take all gradients of the clipped parameters away, so that they cannot be stepped with them,
    /// and report which are broken.
    Skip,
}

impl std::fmt::Display for NonFinite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Refuse => "refuse",
            Self::Skip => "skip",
        })
    }
}

/// What clipping found.
#[derive(Clone, Debug, PartialEq)]
pub struct Clipped {
    /// The Euclidean norm of all gradients together, before clipping; a tie counts once.
    pub norm: f64,
    /// Paths of the parameters whose gradient is not finite.
    pub non_finite: Vec<String>,
    /// Whether the gradients were taken away for that, as [`NonFinite::Skip`] has it.
    pub taken_away: bool,
}

impl Clipped {
    /// Whether the step is to be left out: there are no gradients any more. Where the loss is scaled
    /// they stay, all of them not finite then, and every optimizer's step leaves itself out.
    pub fn is_skipped(&self) -> bool {
        self.taken_away
    }
}

/// Clip the gradients of `parameters`, or only measure and check them. Without a word on what is not
/// finite, such gradients are reported, and where there is a clip the others made so as well: they
/// have no norm to be clipped to, and no optimizer is to step with them.
pub(crate) fn clip(
    parameters: &[Selected],
    gradients: &mut GradientsParams,
    clip: Option<Clip>,
    non_finite: Option<NonFinite>,
) -> Result<Clipped, FabricError> {
    let shapes = parameters.iter();
    check_shapes(
        gradients,
        shapes.map(|one| (one.id, &one.shape, || one.full_path())),
    )?;
    let squares = squares(parameters, gradients);
    if squares.is_empty() {
        return Err(no_gradients(parameters));
    }
    let broken = squares.iter().filter(|(_, squares)| !squares.is_finite());
    let broken: Vec<String> = broken.map(|(parameter, _)| parameter.full_path()).collect();
    let norm = Squares::norm(squares.iter().map(|(_, squares)| *squares));
    if !broken.is_empty() {
        if non_finite == Some(NonFinite::Refuse) {
            return Err(FabricError::NonFiniteGradients { parameters: broken });
        }
        let taken_away = non_finite == Some(NonFinite::Skip);
        let is_changed = taken_away || (non_finite.is_none() && clip.is_some());
        for (parameter, _) in squares.iter().filter(|_| is_changed) {
            let (id, rank) = (parameter.id, parameter.rank());
            with_rank!(rank, D => match taken_away {
                true => drop(gradients.remove::<D>(id)),
                false => change::<D>(gradients, id, |gradient| gradient.full_like(f32::NAN)),
            });
        }
        return Ok(Clipped {
            norm,
            non_finite: broken,
            taken_away,
        });
    }
    for (parameter, _) in squares {
        let (id, rank) = (parameter.id, parameter.rank());
        match clip {
            Some(Clip::Norm(bound)) if norm > bound => with_rank!(rank, D => {
                change::<D>(gradients, id, |gradient| gradient.mul_scalar(bound / norm));
            }),
            Some(Clip::Value(bound)) => with_rank!(rank, D => {
                change::<D>(gradients, id, |gradient| gradient.clamp(-bound, bound));
            }),
            _ => {}
        }
    }
    Ok(Clipped {
        norm,
        non_finite: Vec::new(),
        taken_away: false,
    })
}

/// The places of those of `parameters`, by id and rank, whose gradient is not finite: all are read
/// from the device at once.
pub(crate) fn non_finite(
    parameters: impl Iterator<Item = (ParamId, usize)>,
    gradients: &GradientsParams,
) -> Vec<usize> {
    let mut places = Vec::new();
    let mut sums: Vec<Tensor<1>> = Vec::new();
    for (place, (id, rank)) in parameters.enumerate() {
        let gradient = with_rank!(rank, D => gradients.get::<D>(id).map(flat));
        // A sum of finite numbers leaves f32 at 1e38, where a step is better left out as well; one
        // with a NaN or an infinity is never finite.
        if let Some(gradient) = gradient {
            places.push(place);
            sums.push(gradient.sum());
        }
    }
    let sums = read_together(sums);
    let broken = places
        .into_iter()
        .zip(sums)
        .filter(|(_, sum)| !sum.is_finite());
    broken.map(|(place, _)| place).collect()
}

/// The only element of each tensor, in one read.
fn read_together(scalars: Vec<Tensor<1>>) -> Vec<f64> {
    let Some(device) = scalars.first().map(Tensor::device) else {
        return Vec::new();
    };
    // Of one dtype, which all of them fit in.
    let has_f64 = scalars.iter().any(|scalar| scalar.dtype() == DType::F64);
    let scalars = scalars.into_iter().map(|scalar| {
        let scalar = scalar.to_device(&device);
        match has_f64 && scalar.dtype() != DType::F64 {
            true => scalar.cast(FloatDType::F64),
            false => scalar,
        }
    });
    let data = Tensor::cat(scalars.collect(), 0).into_data();
    data.iter::<f64>().collect()
}

fn change<const D: usize>(
    gradients: &mut GradientsParams,
    id: ParamId,
    change: impl FnOnce(Tensor<D>) -> Tensor<D>,
) {
    if let Some(gradient) = gradients.remove::<D>(id) {
        gradients.register(id, change(gradient));
    }
}

/// A sum of squares, as `scale^2 * sum`: squares leave the range of floats long before their
/// numbers do.
#[derive(Clone, Copy, Debug)]
struct Squares {
    scale: f64,
    sum: f64,
}

impl Squares {
    /// Below it, squares that matter may have been lost to zero; above the greatest float they were
    /// lost to infinity.
    const LEAST: f64 = 1e-25;

    fn is_finite(self) -> bool {
        self.scale.is_finite() && self.sum.is_finite()
    }

    /// The root of all of them together.
    fn norm(all: impl Iterator<Item = Self> + Clone) -> f64 {
        let scale = all.clone().map(|one| one.scale).fold(0.0, f64::max);
        if scale == 0.0 {
            return 0.0;
        }
        let sums = all.map(|one| (one.scale / scale).powi(2) * one.sum);
        scale * sums.sum::<f64>().sqrt()
    }
}

/// The sum of squares of each gradient there is; not finite only where an element is not.
fn squares<'s>(
    parameters: &'s [Selected],
    gradients: &GradientsParams,
) -> Vec<(&'s Selected, Squares)> {
    let mut found = Vec::new();
    // The sums of chunks, and how many each gradient has: read from the device all at once.
    let mut partial: Vec<Tensor<1>> = Vec::new();
    for parameter in parameters {
        let before = partial.len();
        let gradient = with_rank!(parameter.rank(), D => {
            gradients.get::<D>(parameter.id).map(flat)
        });
        if let Some(gradient) = gradient {
            chunks(&gradient, |chunk| partial.push(sum_of_squares(chunk)));
            found.push((parameter, partial.len() - before, gradient));
        }
    }
    // None where gradients have no element.
    let mut sums = read_together(partial).into_iter();
    let found = found.into_iter().map(|(parameter, chunks, gradient)| {
        let sum: f64 = sums.by_ref().take(chunks).sum();
        let squares = if chunks == 0 || (Squares::LEAST..f64::MAX).contains(&sum) {
            Squares { scale: 1.0, sum }
        } else {
            scaled(&gradient)
        };
        (parameter, squares)
    });
    found.collect()
}

/// All elements of a gradient in a row, in a dtype that squares can be summed in.
fn flat<const D: usize>(gradient: Tensor<D>) -> Tensor<1> {
    let elements = gradient.shape().num_elements();
    widened(gradient.reshape([elements]))
}

fn chunks(gradient: &Tensor<1>, mut each: impl FnMut(Tensor<1>)) {
    let [elements] = gradient.dims();
    for start in (0..elements).step_by(CHUNK) {
        let length = CHUNK.min(elements - start);
        each(gradient.clone().narrow(0, start, length));
    }
}

/// Along the only dimension: GPUs take the sum of a whole tensor in no order, so that it has other
/// bits each time.
fn sum_of_squares(values: Tensor<1>) -> Tensor<1> {
    values.square().sum_dim(0)
}

/// The sum of squares through the greatest element: `m^2 * sum((g / m)^2)`.
fn scaled(gradient: &Tensor<1>) -> Squares {
    let broken = Squares {
        scale: 1.0,
        sum: f64::NAN,
    };
    if gradient.clone().contains_nan().into_scalar() {
        return broken;
    }
    let scale: f64 = gradient.clone().abs().max().into_scalar();
    if scale == 0.0 {
        return Squares { scale, sum: 0.0 };
    }
    if !scale.is_finite() {
        return broken;
    }
    let mut sum = 0.0;
    chunks(gradient, |chunk| {
        sum += sum_of_squares(chunk.div_scalar(scale)).into_scalar::<f64>();
    });
    Squares { scale, sum }
}
