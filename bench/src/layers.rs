//! What is loaded and saved: 16 linear layers of 4096 by 4096, with bias.

use anyhow::{Result, bail};
use burn::backend::{BackendTensor, DispatchTensorKind};
use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, ResetParameters};

/// How many layers there are.
pub const LAYERS: usize = 16;
/// Inputs and outputs of each.
pub const WIDTH: usize = 4096;
/// Bytes of all tensors.
pub const BYTES: usize = LAYERS * WIDTH * (WIDTH + 1) * size_of::<f32>();
/// Values in a page of memory.
pub const PAGE: usize = 4096 / size_of::<f32>();

/// The module.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Layers {
    /// Each after the one before.
    pub layers: Vec<Linear>,
}

impl Layers {
    /// Lazy where the device is a real one: nothing is allocated.
    pub fn new(device: &Device) -> Self {
        let config = LinearConfig::new(WIDTH, WIDTH);
        Self {
            layers: (0..LAYERS).map(|_| config.init(device)).collect(),
        }
    }

    /// Through all of them.
    pub fn forward(&self, input: Tensor<2>) -> Tensor<2> {
        let layers = self.layers.iter();
        layers.fold(input, |input, layer| layer.forward(input))
    }

    /// The sum of every value.
    pub fn sum(&self) -> f64 {
        fn sum<const D: usize>(param: &Param<Tensor<D>>) -> f64 {
            param.val().sum().into_scalar::<f32>().into()
        }
        let layers = self.layers.iter();
        let sums = layers.map(|layer| sum(&layer.weight) + layer.bias.as_ref().map_or(0.0, sum));
        sums.sum()
    }

    /// The sum of the first value of every page of the tensors' memory, where they are on flex: all
    /// of it is there when this returns, and none of it is copied.
    ///
    /// # Errors
    /// Where they are elsewhere.
    pub fn pages(&self) -> Result<f64> {
        let mut sum = 0.0;
        for layer in &self.layers {
            sum += pages(&layer.weight)?;
            if let Some(bias) = &layer.bias {
                sum += pages(bias)?;
            }
        }
        Ok(sum)
    }
}

fn pages<const D: usize>(param: &Param<Tensor<D>>) -> Result<f64> {
    let (_, tensor) = param.val().into_bridge().into_parts();
    let DispatchTensorKind::Flex(BackendTensor::Float(tensor)) = tensor.kind else {
        bail!("no float tensor in memory");
    };
    let values: &[f32] = tensor.storage();
    Ok(values.iter().step_by(PAGE).copied().map(f64::from).sum())
}
