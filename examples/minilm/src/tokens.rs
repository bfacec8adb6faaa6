//! From sentences to the numbers of tokens.

use std::path::Path;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use serde::Deserialize;
use tokenizers::{PaddingParams, Tokenizer, TruncationParams};

use crate::MiniLmError;
use crate::config::read_json;

/// The tokenizer of a model.
#[derive(Debug)]
pub struct Tokens {
    tokenizer: Tokenizer,
    longest: usize,
}

/// Sentences of one length, by padding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Batch {
    ids: Vec<i64>,
    is_padding: Vec<bool>,
    shape: [usize; 2],
}

#[derive(Deserialize)]
struct Lengths {
    max_seq_length: usize,
}

impl Tokens {
    /// Read `tokenizer.json` and `sentence_bert_config.json` in `folder`.
    ///
    /// # Errors
    /// [`MiniLmError::File`], [`MiniLmError::Tokenizer`].
    pub fn open(folder: &Path) -> Result<Self, MiniLmError> {
        let path = folder.join("tokenizer.json");
        let tokenizer = Tokenizer::from_file(&path).map_err(|error| MiniLmError::File {
            path,
            message: error.to_string(),
        });
        let mut tokenizer = tokenizer?;
        let lengths: Lengths = read_json(&folder.join("sentence_bert_config.json"))?;
        let longest = lengths.max_seq_length;
        // The file of the tokenizer has lengths of its own, from training; this is the model's.
        let truncation = TruncationParams {
            max_length: longest,
            ..TruncationParams::default()
        };
        tokenizer
            .with_truncation(Some(truncation))
            .map_err(failed)?;
        tokenizer.with_padding(Some(PaddingParams::default()));
        Ok(Self { tokenizer, longest })
    }

    /// The most tokens of a sentence that count.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Whether a part of `sentence` is beyond the most tokens.
    ///
    /// # Errors
    /// [`MiniLmError::Tokenizer`].
    pub fn cuts(&self, sentence: &str) -> Result<bool, MiniLmError> {
        let encoding = self.tokenizer.encode(sentence, true).map_err(failed)?;
        Ok(!encoding.get_overflowing().is_empty())
    }

    /// Tokenise sentences and pad them to the longest.
    ///
    /// # Errors
    /// [`MiniLmError::Tokenizer`].
    pub fn encode<S: AsRef<str>>(&self, sentences: &[S]) -> Result<Batch, MiniLmError> {
        let sentences: Vec<&str> = sentences.iter().map(AsRef::as_ref).collect();
        let count = sentences.len();
        let encodings = self.tokenizer.encode_batch(sentences, true);
        let encodings = encodings.map_err(failed)?;
        let ids = encodings.iter().flat_map(|encoding| encoding.get_ids());
        let mask = encodings
            .iter()
            .flat_map(|encoding| encoding.get_attention_mask());
        let tokens = encodings.first().map_or(0, |encoding| encoding.len());
        Ok(Batch {
            ids: ids.copied().map(i64::from).collect(),
            is_padding: mask.map(|&counts| counts == 0).collect(),
            shape: [count, tokens],
        })
    }
}

fn failed(error: tokenizers::Error) -> MiniLmError {
    MiniLmError::Tokenizer(error.to_string())
}

impl Batch {
    /// Of sentences that are tokens already, padded to the longest.
    pub fn of_ids<S: AsRef<[i64]>>(sentences: &[S]) -> Self {
        let sentences = sentences.iter().map(AsRef::as_ref);
        let tokens = sentences.clone().map(<[i64]>::len).max().unwrap_or(0);
        let shape = [sentences.len(), tokens];
        let (mut ids, mut is_padding) = (Vec::new(), Vec::new());
        for sentence in sentences {
            ids.extend_from_slice(sentence);
            is_padding.resize(ids.len(), false);
            ids.resize(ids.len().next_multiple_of(tokens.max(1)), 0);
            is_padding.resize(ids.len(), true);
        }
        Self {
            ids,
            is_padding,
            shape,
        }
    }

    /// The tokens of a sentence without its padding.
    pub fn sentence(&self, index: usize) -> Vec<i64> {
        let row = index * self.shape[1]..(index + 1) * self.shape[1];
        let tokens = self.ids[row.clone()].iter().zip(&self.is_padding[row]);
        let tokens = tokens.filter(|(_, is_padding)| !**is_padding);
        tokens.map(|(id, _)| *id).collect()
    }

    /// `[sentences, tokens]`.
    pub fn ids(&self, device: &Device) -> Tensor<2, Int> {
        Tensor::from_data(TensorData::new(self.ids.clone(), self.shape), device)
    }

    /// Whether a token is padding: `[sentences, tokens]`.
    pub fn padding(&self, device: &Device) -> Tensor<2, Bool> {
        Tensor::from_data(TensorData::new(self.is_padding.clone(), self.shape), device)
    }
}
