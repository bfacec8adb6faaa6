//! The state that is saved: the layers, and what Adam remembers after a step.

use anyhow::{Result, ensure};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::Tensor;
use burn_fabric::prelude::*;
use burn_fabric_bench::layers::{self, Layers};

/// Bytes of all tensors: each parameter, and two moments of it.
pub const BYTES: usize = 3 * layers::BYTES;

const RATE: f64 = 1e-3;
const GRADIENT: f32 = 1e-3;

#[derive(TrainingState)]
pub struct Training {
    model: FabricModule<Layers>,
    optimizer: FabricOptimizer,
}

impl Training {
    /// As it begins: initial values, and nothing remembered.
    pub fn new(fabric: &Fabric) -> Result<Self> {
        let model = fabric.setup(fabric.init_module(Layers::new)?)?;
        Ok(Self {
            optimizer: fabric.setup_optimizer(&model, AdamConfig::new())?,
            model,
        })
    }

    /// One step, with gradients from nowhere: a forward and a backward would only take time.
    pub fn step(&mut self, fabric: &Fabric) -> Result<()> {
        let device = fabric.inference_device();
        let mut gradients = GradientsParams::new();
        for layer in &self.model.layers {
            let weight = &layer.weight;
            let gradient = Tensor::<2>::full(weight.shape(), GRADIENT, &device);
            gradients.register(weight.id, gradient);
            if let Some(bias) = &layer.bias {
                let gradient = Tensor::<1>::full(bias.shape(), GRADIENT, &device);
                gradients.register(bias.id, gradient);
            }
        }
        let report = self.optimizer.step(RATE, &mut self.model, gradients)?;
        ensure!(report.without_gradient.is_empty(), "not all were updated");
        Ok(())
    }

    /// The sum of the first value of every page of the model. What the optimizer remembers nobody
    /// can see.
    pub fn pages(&self) -> Result<f64> {
        self.model.inference()?.pages()
    }
}
