//! Windows of texts, and batches of them.

use std::sync::Arc;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::{Dataset, DatasetError};
use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::texts::{Text, TextError};

/// So many symbols of a text, and the one after each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Window {
    /// One more than there are characters in a window.
    pub numbers: Vec<u8>,
}

/// Windows, none of which reaches over the end of its text: a dataset of Burn's.
#[derive(Clone, Debug)]
pub struct Windows {
    texts: Vec<Arc<[u8]>>,
    /// In which text, and where.
    starts: Vec<(usize, usize)>,
    context: usize,
}

impl Windows {
    /// One after another, so that each symbol of a text is told once, but for the first and for the
    /// rest at its end.
    ///
    /// # Errors
    /// [`TextError::TooShort`].
    pub fn of(texts: &[Text], context: usize, part: &'static str) -> Result<Self, TextError> {
        let texts: Vec<_> = texts.iter().map(|text| text.numbers.clone()).collect();
        let windows = |(number, text): (usize, &Arc<[u8]>)| {
            let count = text.len().saturating_sub(1) / context;
            (0..count).map(move |window| (number, window * context))
        };
        let starts: Vec<_> = texts.iter().enumerate().flat_map(windows).collect();
        if starts.is_empty() {
            return Err(TextError::TooShort { part, context });
        }
        Ok(Self {
            texts,
            starts,
            context,
        })
    }

    /// At most so many of them, as far from each other as they can be: the same at every call.
    pub fn spread(mut self, count: usize) -> Self {
        let all = self.starts.len();
        let count = count.min(all);
        self.starts = (0..count).map(|n| self.starts[n * all / count]).collect();
        self
    }
}

impl Dataset<Window> for Windows {
    fn get(&self, index: usize) -> Result<Window, DatasetError> {
        let (text, start) = self.starts[index];
        Ok(Window {
            numbers: self.texts[text][start..=start + self.context].to_vec(),
        })
    }

    fn len(&self) -> usize {
        self.starts.len()
    }
}

/// Tensors of some windows, both `[windows, characters]`.
#[derive(Clone, Debug)]
pub struct Batch {
    /// What is read.
    pub symbols: Tensor<2, Int>,
    /// What comes next at each place.
    pub next: Tensor<2, Int>,
}

/// Makes batches.
#[derive(Clone, Copy, Debug)]
pub struct Stacked;

impl Batcher<Window, Batch> for Stacked {
    fn batch(&self, windows: Vec<Window>, device: &Device) -> Batch {
        let stack = |part: fn(&[u8]) -> &[u8]| {
            let numbers = windows.iter().flat_map(|window| part(&window.numbers));
            let numbers: Vec<i32> = numbers.map(|number| i32::from(*number)).collect();
            let shape = [windows.len(), numbers.len() / windows.len()];
            Tensor::from_data(TensorData::new(numbers, shape), device)
        };
        Batch {
            symbols: stack(|numbers| &numbers[..numbers.len() - 1]),
            next: stack(|numbers| &numbers[1..]),
        }
    }
}
