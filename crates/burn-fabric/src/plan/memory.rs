//! The bytes of a plan.

use burn_materialize::{ByteCount, Trace};
use serde::{Deserialize, Serialize};

use super::update_memory::{Gradients, Parameter, UpdateMemory};

/// What a run takes, in bytes: `peak` is what is held all the time, and the larger of `pass` and
/// `step`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlanMemory {
    /// Parameters, ties once.
    pub parameters: u64,
    /// Running states and buffers.
    pub buffers: u64,
    /// What the optimizer remembers, measured by tracing its step.
    pub optimizer_state: u64,
    /// Weights in f32 beside those in half precision, under a mixed precision.
    pub master_weights: u64,
    /// Gradients as the optimizer gets them.
    pub gradients: u64,
    /// The most that a pass takes beside what is held: activations, and gradients as they come.
    pub pass: u64,
    /// The most that a step takes beside what is held: gradients, and what is computed of them.
    pub step: u64,
    /// The most at once.
    pub peak: u64,
    /// When that is.
    pub peak_in: Stage,
    /// The path of the module at whose operation the pass takes the most.
    pub pass_at: String,
}

/// A stage of a step of training.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// The forward pass.
    #[default]
    Forward,
    /// The backward pass.
    Backward,
    /// The optimizer's step.
    Step,
}

impl std::fmt::Display for Stage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Forward => "forward pass",
            Self::Backward => "backward pass",
            Self::Step => "optimizer's step",
        })
    }
}

/// What of a traced pass its memory depends on.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    parameters: u64,
    buffers: u64,
    peak: u64,
    stage: Stage,
    at: String,
    /// The parameters that have a gradient in the order of the step, with their paths.
    pub(super) trained: Vec<(String, Parameter)>,
}

impl Pass {
    pub(super) fn of(trace: &Trace) -> Self {
        let memory = &trace.memory;
        let at = memory.peak_at.and_then(|at| trace.operations().nth(at));
        let stage = at.map_or(Stage::Forward, |operation| operation.phase.into());
        let trained = trace.leaves.iter().filter(|leaf| leaf.has_gradient);
        let trained = trained.map(|leaf| {
            let (shape, dtype) = (leaf.shape.clone(), leaf.dtype);
            (leaf.path.clone(), Parameter { shape, dtype })
        });
        Self {
            parameters: memory.parameters,
            buffers: memory.buffers,
            peak: memory
                .peak
                .saturating_sub(memory.parameters + memory.buffers),
            stage,
            at: at.map_or_else(String::new, |operation| operation.path.to_owned()),
            trained: trained.collect(),
        }
    }

    /// The memory of a step of which `updates` are the parts, one for each trained parameter.
    pub(super) fn memory(&self, updates: &[UpdateMemory], gradients: Gradients) -> PlanMemory {
        let own = self.trained.iter();
        let own: Vec<u64> = own.map(|(_, one)| one.gradient_bytes(gradients)).collect();
        let all: u64 = own.iter().sum();
        let accumulated = if gradients.accumulated { all } else { 0 };
        let (mut pass, mut stage) = (self.peak, self.stage);
        let mut pass_at = self.at.clone();
        let converted = self.conversion(gradients);
        if converted > pass {
            (pass, stage) = (converted, Stage::Backward);
            pass_at.clear();
        }
        pass = pass.saturating_add(accumulated);
        // Each gradient goes with the update of its parameter.
        let mut left = all;
        let mut step = 0;
        for (update, gradient) in updates.iter().zip(&own) {
            step = step.max(left.saturating_add(update.workspace));
            left -= gradient;
        }
        if step > pass {
            stage = Stage::Step;
        }
        let optimizer_state = updates.iter().map(|update| update.state).sum();
        let trained = self.trained.iter();
        let master_weights = trained.map(|(_, one)| one.master_bytes(gradients)).sum();
        let held = self.parameters + self.buffers + optimizer_state + master_weights;
        PlanMemory {
            parameters: self.parameters,
            buffers: self.buffers,
            optimizer_state,
            master_weights,
            gradients: all,
            pass,
            step,
            peak: held.saturating_add(pass.max(step)),
            peak_in: stage,
            pass_at,
        }
    }

    /// The most that gradients take while those in half precision become f32, one after another.
    fn conversion(&self, gradients: Gradients) -> u64 {
        let mut now: u64 = self.trained.iter().map(|(_, one)| one.bytes()).sum();
        let mut most = now;
        for (_, parameter) in &self.trained {
            let (before, after) = (parameter.bytes(), parameter.gradient_bytes(gradients));
            if before != after {
                most = most.max(now + after);
                now = now + after - before;
            }
        }
        most
    }
}

impl PlanMemory {
    /// What is there all the time.
    pub fn held(&self) -> u64 {
        self.parameters + self.buffers + self.optimizer_state + self.master_weights
    }
}

impl From<burn_materialize::Phase> for Stage {
    fn from(phase: burn_materialize::Phase) -> Self {
        match phase {
            burn_materialize::Phase::Forward => Self::Forward,
            burn_materialize::Phase::Backward => Self::Backward,
        }
    }
}

impl std::fmt::Display for PlanMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} at once", ByteCount(self.peak))
    }
}
