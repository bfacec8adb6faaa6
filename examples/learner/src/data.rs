//! The digits as Burn's loaders want them: a dataset of items, and what stacks items to a batch.

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::tensor::{Device, Tensor, TensorData};
use digits_common::{Batch, PIXELS, Samples};

/// An image and what it shows.
#[derive(Clone, Debug)]
pub struct Digit {
    /// From 0 to 1.
    pub pixels: [f32; PIXELS],
    /// From 0 to 9.
    pub label: i32,
}

/// Stacks digits to a batch: for Burn's `DataLoader` and for a Fabric's.
#[derive(Clone, Copy, Debug)]
pub struct Stack;

impl Batcher<Digit, Batch> for Stack {
    fn batch(&self, digits: Vec<Digit>, device: &Device) -> Batch {
        let pixels: Vec<f32> = digits.iter().flat_map(|digit| digit.pixels).collect();
        let labels: Vec<i32> = digits.iter().map(|digit| digit.label).collect();
        let images = TensorData::new(pixels, [digits.len(), PIXELS]);
        let labels = TensorData::new(labels, [digits.len()]);
        Batch {
            images: Tensor::from_data(images, device),
            labels: Tensor::from_data(labels, device),
        }
    }
}

/// `samples`, one by one.
pub fn dataset(samples: &Samples) -> InMemDataset<Digit> {
    let digits = samples.images.iter().zip(&samples.labels);
    let digits = digits.map(|(pixels, label)| Digit {
        pixels: *pixels,
        label: *label,
    });
    InMemDataset::new(digits.collect())
}
