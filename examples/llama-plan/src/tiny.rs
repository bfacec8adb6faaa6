//! The tiny model, really run and trained, so that the definition is known to be right.

use std::fmt;

use burn::optim::AdamWConfig;
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_fabric::prelude::*;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::{Apart, Golden, Llama, LlamaError, Shape};

/// What is learnt from: words of so many tokens at random, each said again and again. Whoever looks
/// that far back knows what comes next.
const WORD: usize = 4;
const LENGTH: usize = 24;
const BATCH: usize = 32;
const RATE: f64 = 1e-2;

/// How far from PyTorch's the scores and the loss may be, and gradients as a share. A graphics card may
/// multiply with fewer digits.
const TOLERANCE: f64 = 1e-2;

/// What was found.
#[derive(Clone, Debug)]
pub struct Tried {
    /// The version of PyTorch whose results were compared.
    pub torch: String,
    /// How far from them ours are.
    pub apart: Apart,
    /// Parameters, as the trace says and as they are.
    pub parameters: u64,
    /// The shape of scores, as the trace says and as they are.
    pub scores: Vec<usize>,
    /// The mean loss of each step, in nats a token.
    pub losses: Vec<f32>,
}

impl Tried {
    /// Make the tiny model real on the device of `fabric`, hold it against PyTorch and against its own
    /// trace, and train it for so many steps.
    ///
    /// # Errors
    /// [`LlamaError::Differs`]; as [`Fabric::setup`] and [`Fabric::backward`].
    pub fn new(fabric: &Fabric, steps: usize) -> Result<Self, LlamaError> {
        let golden = Golden::read()?;
        let apart = golden.apart(fabric)?;
        if !apart.is_within(TOLERANCE) {
            return Err(LlamaError::Differs {
                what: "distance from PyTorch",
                found: apart.to_string(),
                expected: format!("less than {TOLERANCE}"),
            });
        }

        let meta = fabric.init_module(|device| Llama::new(&Shape::TINY, LENGTH, device))?;
        let trace = meta
            .trace(|model: &Llama, device| model.forward(Tensor::zeros([BATCH, LENGTH], device)))?;
        let mut model = fabric.setup(meta)?;
        let mut words = Words(StdRng::seed_from_u64(0));
        let scores = fabric.evaluate(&model, |model, device| {
            model.forward(words.batch(device)).dims()
        })?;
        let parameters = model.summary()?.parameters() as u64;
        let element = size_of::<f32>() as u64;
        same("shape of scores", &scores[..], &trace.outputs[0].shape[..])?;
        same("parameters", parameters, trace.memory.parameters / element)?;
        same("parameters", parameters, Shape::TINY.parameters())?;

        let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new())?;
        let mut losses = Vec::new();
        for _ in 0..steps {
            let batch = words.batch(fabric.device());
            let tokens = batch.clone().narrow(1, 0, LENGTH - 1);
            let next = batch.narrow(1, 1, LENGTH - 1);
            let loss = model.loss(tokens, next);
            losses.push(loss.clone().into_scalar());
            let gradients = fabric.backward(loss, &model)?;
            optimizer.step(RATE, &mut model, gradients)?;
        }
        Ok(Self {
            torch: golden.torch,
            apart,
            parameters,
            scores: scores.to_vec(),
            losses,
        })
    }

    /// The loss that is left when all is learnt: of a word's first saying, the tokens after the
    /// first are anybody's guess.
    pub fn least_loss() -> f64 {
        (WORD - 1) as f64 / (LENGTH - 1) as f64 * (Shape::TINY.vocabulary as f64).ln()
    }
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "parameters: {}; scores {:?}; both as traced\nfrom PyTorch {} at most: {}\n",
            self.parameters, self.scores, self.torch, self.apart
        )?;
        writeln!(f, "step    loss")?;
        let last = self.losses.len();
        for (step, loss) in (1..).zip(&self.losses) {
            if step == 1 || step % 20 == 0 || step == last {
                writeln!(f, "{step:4}  {loss:.4}")?;
            }
        }
        write!(f, "least: {:.4}", Self::least_loss())
    }
}

fn same<T: fmt::Debug + PartialEq>(
    what: &'static str,
    found: T,
    expected: T,
) -> Result<(), LlamaError> {
    if found == expected {
        return Ok(());
    }
    Err(LlamaError::Differs {
        what,
        found: format!("{found:?}"),
        expected: format!("{expected:?}"),
    })
}

struct Words(StdRng);

impl Words {
    fn batch(&mut self, device: &Device) -> Tensor<2, Int> {
        let mut tokens: Vec<i64> = Vec::with_capacity(BATCH * LENGTH);
        for _ in 0..BATCH {
            let word: [i64; WORD] =
                std::array::from_fn(|_| self.0.random_range(0..Shape::TINY.vocabulary as i64));
            tokens.extend(word.iter().copied().cycle().take(LENGTH));
        }
        Tensor::from_data(TensorData::new(tokens, [BATCH, LENGTH]), device)
    }
}
