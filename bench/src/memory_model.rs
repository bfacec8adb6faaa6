//! The memory that a plan predicts, against what flex takes, by a counting allocator.
//!
//! Whoever calls this has `peak_alloc` as its global allocator.

mod models;

use anyhow::{Result, ensure};
use burn::optim::AdamConfig;
use burn::tensor::{Device, Tensor};
use burn_fabric::prelude::*;
use peak_alloc::PeakAlloc;
use serde::{Deserialize, Serialize};

use models::{Cnn, Decoder, Encoder, Mlp, Recurrent, Sentences, UNet, WaveNet};

/// How far a prediction may be off, of what is measured.
pub const GOAL: f64 = 0.10;

/// One prediction, and what was measured; in bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Row {
    /// Which model.
    pub model: String,
    /// Inference, or a step of training with Adam.
    pub pass: String,
    /// In which precision.
    pub precision: Precision,
    /// What the plan says.
    pub predicted: u64,
    /// The most that was allocated at once.
    pub measured: u64,
}

impl Row {
    /// How far the prediction is off, of what was measured.
    pub fn error(&self) -> f64 {
        (self.predicted as f64 / self.measured as f64 - 1.0).abs()
    }
}

impl std::fmt::Display for Row {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mib = |bytes: u64| bytes as f64 / (1 << 20) as f64;
        write!(
            f,
            "{:<22} {:<10} {:<10} {:>9.2} MiB {:>9.2} MiB {:>6.1} %",
            self.model,
            self.pass,
            self.precision.to_string(),
            mib(self.predicted),
            mib(self.measured),
            100.0 * (self.predicted as f64 / self.measured as f64 - 1.0)
        )
    }
}

/// All models in one precision, in this process: Burn fixes the default dtype for all of it.
///
/// # Errors
/// Where a plan or a step is refused.
pub fn measure(precision: Precision) -> Result<Vec<Row>> {
    let mut rows = Vec::new();
    let fabrics = [false, true].map(|checkpointing| {
        Fabric::builder()
            .accelerator(Accelerator::Flex)
            .precision(precision)
            .gradient_checkpointing(checkpointing)
            .build()
    });
    let [plain, checkpointed] = fabrics;
    let (plain, checkpointed) = (plain?, checkpointed?);
    let into = &mut rows;
    check(
        into,
        &plain,
        "multilayer perceptron",
        2048,
        Mlp::new,
        Mlp::loss,
    )?;
    check(into, &plain, "convolutional", 32, Cnn::new, Cnn::loss)?;
    check(
        into,
        &plain,
        "transformer encoder",
        8,
        Encoder::new,
        Encoder::loss,
    )?;
    check(
        into,
        &plain,
        "decoder with rotary",
        4,
        Decoder::new,
        Decoder::loss,
    )?;
    check(
        into,
        &plain,
        "recurrent",
        64,
        Recurrent::new,
        Recurrent::loss,
    )?;
    check(into, &plain, "MiniLM", 8, Sentences::new, Sentences::loss)?;
    check(
        into,
        &checkpointed,
        "decoder, checkpointed",
        4,
        Decoder::new,
        Decoder::loss,
    )?;
    // Chosen once the others were right: the first after the model of a pass was finished, the
    // second after that of a plan was.
    check(into, &plain, "U-Net", 4, UNet::new, UNet::loss)?;
    check(into, &plain, "WaveNet", 4, WaveNet::new, WaveNet::loss)?;
    Ok(rows)
}

fn check<M: Materialize>(
    rows: &mut Vec<Row>,
    fabric: &Fabric,
    model: &str,
    batch: usize,
    build: impl FnOnce(&Device) -> M,
    loss: impl Fn(&M, &Device, usize) -> Tensor<1>,
) -> Result<()> {
    let precision = fabric.settings().precision.unwrap_or(Precision::F32);
    let meta = fabric.init_module(build)?;
    let request = fabric.plan(&meta).batch(batch);
    let inference = request.inference(&loss)?.memory.peak;
    let training = request.training(AdamConfig::new(), &loss)?.memory.peak;
    let device = fabric.inference_device();
    // Threads, tables and the like are made once.
    drop(loss(&meta.materialize(&device)?, &device, batch).into_data());

    let base = PeakAlloc.current_usage();
    let plain = meta.materialize(&device)?;
    PeakAlloc.reset_peak_usage();
    let loss_data = loss(&plain, &device, batch).into_data();
    let inferred = PeakAlloc.peak_usage() - base;
    drop((plain, loss_data));

    let base = PeakAlloc.current_usage();
    let (mut trained, mut optimizer) = fabric.setup_with_optimizer(&meta, AdamConfig::new())?;
    let mut stepped = 0;
    // The first makes the optimizer's state, and a later one is like the next.
    for _ in 0..3 {
        PeakAlloc.reset_peak_usage();
        let loss = loss(trained.module()?, fabric.device(), batch);
        let gradients = fabric.backward(loss, &trained)?;
        optimizer.step(1e-3, &mut trained, gradients)?;
        stepped = PeakAlloc.peak_usage() - base;
    }
    let row = |pass: &str, predicted, measured: usize| Row {
        model: model.to_owned(),
        pass: pass.to_owned(),
        precision,
        predicted,
        measured: measured as u64,
    };
    rows.push(row("inference", inference, inferred));
    rows.push(row("training", training, stepped));
    ensure!(inferred > 0 && stepped > 0, "the allocator does not count");
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[global_allocator]
    static ALLOCATOR: PeakAlloc = PeakAlloc;

    /// Of one precision: Burn fixes it for the process. The other ones are measured by the
    /// benchmark.
    #[test]
    fn plans_predict_the_memory_of_every_model_within_a_tenth() {
        let rows = measure(Precision::F32).unwrap();
        let models: Vec<&str> = rows.iter().map(|row| row.model.as_str()).collect();
        assert_eq!(models.len(), 18, "{models:?}");
        let off: Vec<String> = rows
            .iter()
            .filter(|row| row.error() > GOAL)
            .map(Row::to_string)
            .collect();
        assert!(off.is_empty(), "{off:#?}");
    }
}
