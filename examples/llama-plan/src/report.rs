//! Everything that is said of a model.

use std::fmt;

use burn::optim::AdamWConfig;
use burn::tensor::{Device, Int, Tensor};
use burn_fabric::burn_materialize::Summary;
use burn_fabric::prelude::*;
use burn_fabric::{MemoryPicture, ModulesPicture, Plan, PlanRequest};
use run_common::Output;
use serde::Serialize;

use crate::text::grouped;
use crate::{Llama, LlamaError, Options, Products};

/// What is asked of a model: what it takes to run, and to train with AdamW.
const INFERENCE: [Precision; 2] = [Precision::F32, Precision::Bf16];
const TRAINING: [Precision; 3] = [Precision::F32, Precision::MixedBf16, Precision::Bf16];

/// What a model takes, to print, to serialise and to draw.
#[derive(Debug, Serialize)]
pub struct Report {
    /// What it is called.
    pub model: &'static str,
    /// Sequences at once.
    pub batch: usize,
    /// Tokens of each.
    pub sequence: usize,
    /// Elements of its parameters.
    pub parameters: u64,
    /// The products of a forward pass, as they were recorded and by hand.
    pub products: Products,
    /// To run it, in several precisions.
    pub inference: Vec<Plan>,
    /// To train it, in several precisions.
    pub training: Vec<Plan>,
    /// Its modules, with what a forward pass in f32 costs.
    pub summary: Summary,
}

impl Report {
    /// Plan what is asked for. Nothing is allocated.
    ///
    /// # Errors
    /// As [`Fabric::init_module`] and [`PlanRequest::training`]; and for a device that is not there.
    pub fn new(options: &Options) -> Result<Self, LlamaError> {
        let mut builder = Fabric::builder();
        if let Some(device) = &options.device {
            builder = builder.accelerator(device.clone());
        }
        let fabric = builder.build()?;
        let (shape, batch, length) = (options.size.shape(), options.batch, options.sequence);
        let meta = fabric.init_module(|device| Llama::new(&shape, length, device))?;

        // Of another device than this machine's nothing but its memory is known.
        let mut request: PlanRequest<'_, Llama> = match (options.memory, &options.device) {
            (Some(_), None) => Plan::of(&meta),
            _ => fabric.plan(&meta),
        };
        if let Some(memory) = options.memory {
            request = request.budget(memory.0);
        }
        let request = request.batch(batch);
        let tokens = |device: &Device, batch| Tensor::<2, Int>::zeros([batch, length], device);
        let inference = request.inference_in(INFERENCE, |model, device, batch| {
            model.forward(tokens(device, batch))
        })?;
        let training =
            request.training_in(TRAINING, AdamWConfig::new(), |model, device, batch| {
                model.loss(tokens(device, batch), tokens(device, batch))
            })?;
        let trace = &inference[0].trace;
        let summary = meta.summary().traced(trace);
        Ok(Self {
            model: options.size.name(),
            batch,
            sequence: length,
            parameters: summary.parameters() as u64,
            products: Products::of(trace, &shape, batch, length),
            summary,
            inference,
            training,
        })
    }

    /// Draw memory over the operations of each plan, and the modules, as SVG and PNG.
    ///
    /// # Errors
    /// [`LlamaError::Output`].
    pub fn draw(&self, output: &Output) -> Result<(), LlamaError> {
        let inference = INFERENCE.iter().zip(&self.inference);
        let training = TRAINING.iter().zip(&self.training);
        let plans = inference.map(|(precision, plan)| ("inference", precision, plan));
        let plans: Vec<_> = plans
            .chain(training.map(|(precision, plan)| ("training", precision, plan)))
            .collect();
        for ending in ["svg", "png"] {
            for (kind, precision, plan) in &plans {
                let title = self.title(&format!("{kind} in {precision}"));
                let picture = MemoryPicture::of_plan(plan).title(title);
                let name = format!("memory-{kind}-{precision}.{ending}");
                output.file(&name, |path| Ok(picture.write(path)?))?;
            }
            let picture = ModulesPicture::of(&self.summary);
            let picture = picture.title(self.title("a forward pass"));
            output.file(
                &format!("modules.{ending}"),
                |path| Ok(picture.write(path)?),
            )?;
        }
        Ok(())
    }

    fn title(&self, what: &str) -> String {
        let sequences = match self.batch {
            1 => "1 sequence".to_owned(),
            batch => format!("{} sequences", grouped(batch as u64)),
        };
        let tokens = grouped(self.sequence as u64);
        format!("{}, {what}: {sequences} of {tokens} tokens", self.model)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n", self.title("a forward pass"))?;
        writeln!(f, "{}\n", self.summary)?;
        writeln!(f, "floating-point operations of the products")?;
        writeln!(f, "{}", self.products)?;
        for plan in self.inference.iter().chain(&self.training) {
            write!(f, "\n{plan}\n")?;
        }
        Ok(())
    }
}
