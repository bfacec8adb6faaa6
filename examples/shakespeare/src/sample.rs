//! Text that the model makes up.

use burn::tensor::{DType, Device, Int, Tensor, TensorData};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::{Symbols, Transformer};

/// How to make up a text.
#[derive(Clone, Debug)]
pub struct Sampling {
    /// What it begins with, as numbers of symbols: at least one.
    pub prompt: Vec<u8>,
    /// How many characters follow.
    pub characters: usize,
    /// What the scores are divided by: below 1 the likely gets likelier, at 0 the likeliest is taken.
    pub temperature: f64,
    /// The same seed draws the same text from the same model.
    pub seed: u64,
}

impl Sampling {
    /// Draw a text, prompt included, symbol by symbol, each from the scores that `model` gives after
    /// the last `context` of those before it.
    ///
    /// The window is computed anew for each symbol: for texts of some hundred that is soon done.
    pub fn draw(
        &self,
        model: &Transformer,
        symbols: &Symbols,
        context: usize,
        device: &Device,
    ) -> String {
        let mut random = StdRng::seed_from_u64(self.seed);
        let mut numbers: Vec<i32> = self
            .prompt
            .iter()
            .map(|number| i32::from(*number))
            .collect();
        for _ in 0..self.characters {
            let window = &numbers[numbers.len().saturating_sub(context)..];
            let length = window.len();
            let data = TensorData::new(window.to_vec(), [1, length]);
            let scores = model.forward(Tensor::<2, Int>::from_data(data, device));
            let last = scores.narrow(1, length - 1, 1).into_data();
            let scores: Vec<f64> = last.convert_dtype(DType::F64).iter::<f64>().collect();
            numbers.push(self.choose(&scores, &mut random) as i32);
        }
        let known = numbers
            .iter()
            .filter_map(|number| symbols.symbol(*number as usize));
        known.collect()
    }

    fn choose(&self, scores: &[f64], random: &mut StdRng) -> usize {
        let by_score = |a: &(usize, &f64), b: &(usize, &f64)| a.1.total_cmp(b.1);
        let Some((likeliest, highest)) = scores.iter().enumerate().max_by(by_score) else {
            return 0;
        };
        // Drawn in any case, so that the draws of a text do not depend on its temperature.
        let drawn: f64 = random.random();
        if self.temperature == 0.0 {
            return likeliest;
        }
        let weight = |score: &f64| ((score - highest) / self.temperature).exp();
        let mut left = drawn * scores.iter().map(weight).sum::<f64>();
        for (number, score) in scores.iter().enumerate() {
            left -= weight(score);
            if left < 0.0 {
                return number;
            }
        }
        likeliest
    }
}
