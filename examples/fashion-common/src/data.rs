//! The samples, and batches of them.

use std::path::Path;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::{Dataset, DatasetError};
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::idx::{self, IdxError};
use crate::{CLASSES, PIXELS, SIDE};

/// What the classes are.
pub const NAMES: [&str; CLASSES] = [
    "t-shirt", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag", "boot",
];

/// The mean of all training pixels, and their standard deviation, where full ink is 1.
const MEAN: f32 = 0.2860;
const DEVIATION: f32 = 0.3530;

/// An image and what it shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// Its pixels, row by row.
    pub pixels: [u8; PIXELS],
    /// Its class.
    pub label: u8,
}

/// Images and what they show: a dataset of Burn's.
#[derive(Clone, Debug)]
pub struct Samples {
    pixels: Vec<u8>,
    labels: Vec<u8>,
}

impl Samples {
    /// Read `{name}-images-idx3-ubyte.gz` and `{name}-labels-idx1-ubyte.gz` in `folder`, whole and
    /// checked, and keep so many of them, from the first.
    ///
    /// # Errors
    /// [`IdxError`].
    pub fn read(folder: &Path, name: &str, keep: Option<usize>) -> Result<Self, IdxError> {
        let mut pixels = idx::images(&folder.join(format!("{name}-images-idx3-ubyte.gz")))?;
        let mut labels = idx::labels(&folder.join(format!("{name}-labels-idx1-ubyte.gz")))?;
        let images = pixels.len() / PIXELS;
        if images != labels.len() {
            return Err(IdxError::Counts {
                path: folder.to_owned(),
                images,
                labels: labels.len(),
            });
        }
        let keep = keep.unwrap_or(images).min(images);
        pixels.truncate(keep * PIXELS);
        labels.truncate(keep);
        Ok(Self { pixels, labels })
    }
}

impl Dataset<Sample> for Samples {
    fn get(&self, index: usize) -> Result<Sample, DatasetError> {
        let pixels = &self.pixels[index * PIXELS..][..PIXELS];
        let mut sample = Sample {
            pixels: [0; PIXELS],
            label: self.labels[index],
        };
        sample.pixels.copy_from_slice(pixels);
        Ok(sample)
    }

    fn len(&self) -> usize {
        self.labels.len()
    }
}

/// Samples to learn from and samples to test on.
#[derive(Clone, Debug)]
pub struct Data {
    /// To learn from.
    pub train: Samples,
    /// To test on.
    pub test: Samples,
}

/// Tensors of some samples.
#[derive(Clone, Debug)]
pub struct Batch {
    /// `[samples, 1, rows, columns]`.
    pub images: Tensor<4>,
    /// `[samples]`.
    pub labels: Tensor<1, Int>,
}

/// Makes batches: pixels of mean 0 and deviation 1.
#[derive(Clone, Copy, Debug)]
pub struct Normalised;

impl Batcher<Sample, Batch> for Normalised {
    fn batch(&self, samples: Vec<Sample>, device: &Device) -> Batch {
        let count = samples.len();
        let pixels = samples.iter().flat_map(|sample| sample.pixels);
        let pixels = pixels.map(|pixel| (f32::from(pixel) / 255.0 - MEAN) / DEVIATION);
        let images = TensorData::new(pixels.collect::<Vec<f32>>(), [count, 1, SIDE, SIDE]);
        let labels = samples.iter().map(|sample| i32::from(sample.label));
        let labels = TensorData::new(labels.collect::<Vec<i32>>(), [count]);
        Batch {
            images: Tensor::from_data(images, device),
            labels: Tensor::from_data(labels, device),
        }
    }
}
