//! Clipping gradients, by value or by their global norm.

use burn::optim::GradientsParams;
use burn::tensor::{DType, FloatDType, Tensor};

use super::{no_gradients, with_rank};
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
    /// Take all gradients away, so that nothing can be stepped with them, and report their
    /// parameters.
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
    /// Paths of the parameters whose gradient is not finite; the gradients were taken away then.
    pub non_finite: Vec<String>,
}

impl Clipped {
    /// Whether the step is to be left out: there are no gradients any more.
    pub fn is_skipped(&self) -> bool {
        !self.non_finite.is_empty()
    }
}

/// Clip the gradients of `parameters`, or only measure and check them.
pub(crate) fn clip(
    parameters: &[Selected<'_>],
    gradients: &mut GradientsParams,
    clip: Option<Clip>,
    non_finite: NonFinite,
) -> Result<Clipped, FabricError> {
    let squares = sums_of_squares(parameters, gradients);
    if squares.is_empty() {
        return Err(no_gradients(parameters));
    }
    let broken = squares.iter().filter(|(_, square)| !square.is_finite());
    let broken: Vec<String> = broken.map(|(parameter, _)| parameter.full_path()).collect();
    let norm = squares.iter().map(|(_, square)| square).sum::<f64>().sqrt();
    if !broken.is_empty() {
        if non_finite == NonFinite::Refuse {
            return Err(FabricError::NonFiniteGradients { parameters: broken });
        }
        for (parameter, _) in squares {
            with_rank!(parameter.rank(), D => drop(gradients.remove::<D>(parameter.id)));
        }
        return Ok(Clipped {
            norm,
            non_finite: broken,
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
    })
}

fn change<const D: usize>(
    gradients: &mut GradientsParams,
    id: burn::module::ParamId,
    change: impl FnOnce(Tensor<D>) -> Tensor<D>,
) {
    if let Some(gradient) = gradients.remove::<D>(id) {
        gradients.register(id, change(gradient));
    }
}

/// The sum of squares of each gradient there is, infinite or NaN only where an element is.
fn sums_of_squares<'p, 's>(
    parameters: &'s [Selected<'p>],
    gradients: &GradientsParams,
) -> Vec<(&'s Selected<'p>, f64)> {
    let mut found = Vec::new();
    // The sums of chunks, and how many each gradient has: read from the device all at once.
    let mut partial: Vec<Tensor<1>> = Vec::new();
    for parameter in parameters {
        let before = partial.len();
        let gradient = with_rank!(parameter.rank(), D => {
            gradients.get::<D>(parameter.id).map(flat)
        });
        if let Some(gradient) = gradient {
            chunks(&gradient, |chunk| partial.push(chunk.square().sum()));
            found.push((parameter, partial.len() - before, gradient));
        }
    }
    let Some(device) = partial.first().map(Tensor::device) else {
        return Vec::new();
    };
    let partial = partial.into_iter().map(|sum| sum.to_device(&device));
    let sums = Tensor::cat(partial.collect(), 0).into_data();
    let mut sums = sums.iter::<f64>();
    let found = found.into_iter().map(|(parameter, chunks, gradient)| {
        let sum: f64 = sums.by_ref().take(chunks).sum();
        // Squares overflow long before their numbers do.
        let sum = if sum.is_finite() {
            sum
        } else {
            scaled_sum_of_squares(&gradient)
        };
        (parameter, sum)
    });
    found.collect()
}

/// All elements of a gradient in a row, in a dtype that squares can be summed in.
fn flat<const D: usize>(gradient: Tensor<D>) -> Tensor<1> {
    let elements = gradient.shape().num_elements();
    let gradient = gradient.reshape([elements]);
    match gradient.dtype() {
        DType::F16 | DType::BF16 => gradient.cast(FloatDType::F32),
        _ => gradient,
    }
}

fn chunks(gradient: &Tensor<1>, mut each: impl FnMut(Tensor<1>)) {
    let [elements] = gradient.dims();
    for start in (0..elements).step_by(CHUNK) {
        let length = CHUNK.min(elements - start);
        each(gradient.clone().narrow(0, start, length));
    }
}

/// The sum of squares through the greatest element: `m^2 * sum((g / m)^2)`.
fn scaled_sum_of_squares(gradient: &Tensor<1>) -> f64 {
    let greatest: f64 = gradient.clone().abs().max().into_scalar();
    if !greatest.is_finite() || gradient.clone().contains_nan().into_scalar() {
        return f64::NAN;
    }
    let mut sum = 0.0;
    chunks(gradient, |chunk| {
        sum += chunk
            .div_scalar(greatest)
            .square()
            .sum()
            .into_scalar::<f64>();
    });
    greatest * greatest * sum
}
