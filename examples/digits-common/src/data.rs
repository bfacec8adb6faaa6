//! The digits, a stratified split of them, and batches.

use burn::tensor::{Device, Int, Tensor, TensorData};
use flate2::read::GzDecoder;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Embedded, so that the examples run from any folder.
static DIGITS: &[u8] = include_bytes!("../data/digits.csv.gz");

/// How many digits there are to tell apart.
pub const CLASSES: usize = 10;
/// How many pixels an image has.
pub const PIXELS: usize = 64;
/// What a pixel of full ink is in the file.
const INK: f32 = 16.0;

/// Images and what they show.
#[derive(Clone, Debug, Default)]
pub struct Samples {
    /// Pixels from 0 to 1.
    pub images: Vec<[f32; PIXELS]>,
    /// The digits.
    pub labels: Vec<i32>,
}

/// Tensors of some samples.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[samples, pixels]`.
    pub images: Tensor<2>,
    /// `[samples]`.
    pub labels: Tensor<1, Int>,
}

impl Samples {
    /// All 1,797 digits.
    ///
    /// # Errors
    /// Where the embedded file is not what it should be.
    pub fn load() -> Result<Self, csv::Error> {
        let mut lines = csv::ReaderBuilder::new()
            .has_headers(false)
            .from_reader(GzDecoder::new(DIGITS));
        let mut samples = Self::default();
        for line in lines.deserialize() {
            // 64 pixels and the label: arrays of more than 32 are beyond serde.
            let ([upper, lower], label): ([[f32; PIXELS / 2]; 2], i32) = line?;
            let mut pixels = upper.into_iter().chain(lower);
            samples
                .images
                .push(std::array::from_fn(|_| pixels.next().unwrap_or(0.0) / INK));
            samples.labels.push(label);
        }
        Ok(samples)
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    fn push(&mut self, from: &Self, index: usize) {
        self.images.push(from.images[index]);
        self.labels.push(from.labels[index]);
    }

    /// The samples at `indices` on `device`.
    fn batch(&self, indices: &[usize], device: &Device) -> Batch {
        let images: Vec<f32> = indices
            .iter()
            .flat_map(|index| self.images[*index])
            .collect();
        let labels: Vec<i32> = indices.iter().map(|index| self.labels[*index]).collect();
        Batch {
            images: Tensor::from_data(TensorData::new(images, [indices.len(), PIXELS]), device),
            labels: Tensor::from_data(TensorData::new(labels, [indices.len()]), device),
        }
    }

    /// All samples in batches, in an order that follows from `seed` and `epoch` alone.
    pub fn batches(
        &self,
        size: usize,
        seed: u64,
        epoch: u32,
        device: &Device,
    ) -> impl Iterator<Item = Batch> {
        let mut order: Vec<usize> = (0..self.len()).collect();
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..12].copy_from_slice(&epoch.to_le_bytes());
        order.shuffle(&mut StdRng::from_seed(key));
        let starts = (0..order.len()).step_by(size);
        starts.map(move |start| {
            let end = order.len().min(start + size);
            self.batch(&order[start..end], device)
        })
    }

    /// Which part of the samples `model`, which gives a score for each digit, tells right.
    pub fn accuracy(&self, device: &Device, model: impl Fn(Tensor<2>) -> Tensor<2>) -> f32 {
        let all: Vec<usize> = (0..self.len()).collect();
        let Batch { images, labels } = self.batch(&all, device);
        let predicted = model(images).argmax(1).flatten::<1>(0, 1);
        let right: i64 = predicted.equal(labels).int().sum().into_scalar();
        right as f32 / self.len() as f32
    }
}

/// Samples to learn from and samples to test on.
#[derive(Clone, Debug, Default)]
pub struct Split {
    /// To learn from.
    pub train: Samples,
    /// To test on.
    pub test: Samples,
}

impl Split {
    /// Hold out a fifth of the samples of each digit, chosen by `seed`.
    pub fn new(samples: &Samples, seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let mut split = Self::default();
        for digit in 0..CLASSES as i32 {
            let is_digit = |index: &usize| samples.labels[*index] == digit;
            let mut indices: Vec<usize> = (0..samples.len()).filter(is_digit).collect();
            indices.shuffle(&mut random);
            let held_out = indices.len().div_ceil(5);
            indices[..held_out]
                .iter()
                .for_each(|index| split.test.push(samples, *index));
            indices[held_out..]
                .iter()
                .for_each(|index| split.train.push(samples, *index));
        }
        split
    }
}
