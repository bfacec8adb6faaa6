//! What PyTorch computes with the tiny model: `golden/tiny.py` made `golden/tiny.json`.

use std::fmt;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param};
use burn::optim::GradientsParams;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_fabric::prelude::*;
use serde::Deserialize;

use crate::{Llama, LlamaError, Shape};

/// Tokens, and what comes of them with weights that are set by a formula.
#[derive(Clone, Debug, Deserialize)]
pub struct Golden {
    /// The version of PyTorch.
    pub torch: String,
    /// A row a sequence.
    pub tokens: Vec<Vec<i64>>,
    /// Where each token's successor is the number after it.
    pub loss: f64,
    /// The norm of each parameter's gradient.
    pub gradient_norms: Vec<(String, f64)>,
    /// Of each token in each place.
    pub scores: Vec<f64>,
}

/// How far ours are from PyTorch's at most.
#[derive(Clone, Copy, Debug)]
pub struct Apart {
    /// Of scores, which are about one.
    pub scores: f64,
    /// Of the loss.
    pub loss: f64,
    /// Of gradients' norms, as shares of them.
    pub gradients: f64,
}

impl Golden {
    /// Read what comes with the program.
    ///
    /// # Errors
    /// Where it is not what it should be.
    pub fn read() -> Result<Self, LlamaError> {
        Ok(serde_json::from_str(include_str!("../golden/tiny.json"))?)
    }

    /// How many tokens a sequence has.
    pub fn length(&self) -> usize {
        self.tokens[0].len()
    }

    /// The tokens, `[batch, length]`.
    pub fn tokens(&self, device: &Device) -> Tensor<2, Int> {
        let shape = [self.tokens.len(), self.length()];
        Tensor::from_data(TensorData::new(self.tokens.concat(), shape), device)
    }

    /// Compute the same on the device of `fabric`.
    ///
    /// # Errors
    /// As [`Fabric::setup`] and [`Fabric::backward`].
    pub fn apart(&self, fabric: &Fabric) -> Result<Apart, LlamaError> {
        let meta = fabric.init_module(|device| Llama::new(&Shape::TINY, self.length(), device))?;
        let mut model = fabric.setup(meta)?;
        model.map(|model| model.map(&mut Formula { salt: 0 }))?;

        let tokens = self.tokens(fabric.device());
        let next = (tokens.clone() + 1).remainder_scalar(Shape::TINY.vocabulary as i64);
        let scores = fabric.evaluate(&model, |model, device| {
            let scores = model.forward(self.tokens(device)).into_data();
            scores.iter::<f64>().collect::<Vec<f64>>()
        })?;
        let loss = model.loss(tokens, next);
        let found: f32 = loss.clone().into_scalar();
        let mut norms = Norms {
            gradients: &fabric.backward(loss, &model)?,
            found: Vec::new(),
        };
        model.visit(&mut norms);

        let expected: Vec<f64> = self.gradient_norms.iter().map(|(_, norm)| *norm).collect();
        Ok(Apart {
            scores: furthest(&scores, &self.scores, |_| 1.0),
            loss: furthest(&[f64::from(found)], &[self.loss], |_| 1.0),
            gradients: furthest(&norms.found, &expected, |expected| expected),
        })
    }
}

/// The greatest distance, in units of each; NaN where one is, and where there are too many or too few.
fn furthest(found: &[f64], expected: &[f64], unit: impl Fn(f64) -> f64) -> f64 {
    if found.len() != expected.len() {
        return f64::NAN;
    }
    let pairs = found.iter().zip(expected);
    let apart = pairs.map(|(found, expected)| ((found - expected) / unit(*expected)).abs());
    apart.fold(0.0, |most, apart| match apart <= most || most.is_nan() {
        true => most,
        false => apart,
    })
}

impl Apart {
    /// Whether all is less than `tolerance` away, and a number.
    pub fn is_within(&self, tolerance: f64) -> bool {
        let Self {
            scores,
            loss,
            gradients,
        } = *self;
        [scores, loss, gradients]
            .iter()
            .all(|apart| *apart < tolerance)
    }
}

impl fmt::Display for Apart {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            scores,
            loss,
            gradients,
        } = self;
        write!(
            f,
            "scores {scores:.1e}, loss {loss:.1e}, norms of gradients {gradients:.1e}"
        )
    }
}

/// Sets parameters in order, by the formula of `golden/tiny.py`.
struct Formula {
    salt: u64,
}

impl ModuleMapper for Formula {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        let salt = self.salt;
        self.salt += 1;
        param.map(|tensor| {
            let shape = tensor.dims();
            let values: Vec<f64> = (0..shape.iter().product::<usize>() as u64)
                .map(|place| unit(place, salt))
                .map(|unit| match shape[..] {
                    [_] => 1.0 + unit,
                    // The embedding, the first of all.
                    _ if salt == 0 => unit * 12.0_f64.sqrt(),
                    _ => unit * (12.0 / shape[0] as f64).sqrt(),
                })
                .collect();
            let is_tracked = tensor.is_require_grad();
            let data = TensorData::new(values, shape).convert_dtype(tensor.dtype());
            Tensor::from_data(data, (&tensor.device(), tensor.dtype())).set_require_grad(is_tracked)
        })
    }
}

/// Between -1/2 and 1/2, as if at random.
fn unit(place: u64, salt: u64) -> f64 {
    const WORD: u64 = 1 << 32;
    let mut x = (place + 1 + salt * 1_000_003) % WORD * 2_654_435_761 % WORD;
    x ^= x >> 16;
    x = x * 2_246_822_519 % WORD;
    x ^= x >> 13;
    x as f64 / WORD as f64 - 0.5
}

/// Collects norms of gradients.
struct Norms<'g> {
    gradients: &'g GradientsParams,
    found: Vec<f64>,
}

impl ModuleVisitor for Norms<'_> {
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        let gradient = self.gradients.get::<D>(param.id);
        let norm = gradient.map(|gradient| gradient.square().sum().sqrt().into_scalar::<f32>());
        // One that is missing is infinitely far.
        self.found.push(norm.map_or(f64::INFINITY, f64::from));
    }
}

#[cfg(test)]
mod tests {
    use super::{Apart, furthest};

    #[test]
    fn what_is_no_number_is_far() {
        let furthest = |found: &[f64]| furthest(found, &[2.0, 4.0], |expected| expected);
        assert_eq!(furthest(&[2.0, 3.0]), 0.25);
        assert!(furthest(&[f64::NAN, 4.0]).is_nan());
        assert!(furthest(&[2.0, f64::NAN]).is_nan());
        assert!(furthest(&[2.0]).is_nan());
        let apart = |gradients| Apart {
            scores: 0.0,
            loss: 0.0,
            gradients,
        };
        assert!(apart(0.1).is_within(0.2));
        assert!(!apart(0.2).is_within(0.2) && !apart(f64::NAN).is_within(0.2));
    }
}
