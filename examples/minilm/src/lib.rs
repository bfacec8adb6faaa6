//! Sentence embeddings with the real all-MiniLM-L6-v2: a BERT in Burn's own layers, built on the meta
//! device and loaded from the safetensors file that hubs hold.

mod config;
mod error;
mod load;
mod model;
mod tokens;

pub use config::BertConfig;
pub use error::MiniLmError;
pub use load::{Loaded, load};
pub use model::{Embeddings, MiniLm};
pub use tokens::{Batch, Tokens};

use burn::tensor::Tensor;
use burn_fabric::prelude::*;

/// How many sentences go through the model at once.
const BATCH: usize = 32;

/// One embedding of length 1 for each sentence: `[sentences, hidden]`.
///
/// # Errors
/// [`MiniLmError::Tokenizer`] where a sentence cannot be tokenised, and as [`Fabric::evaluate`].
pub fn embed(
    fabric: &Fabric,
    model: &FabricModule<MiniLm>,
    tokens: &Tokens,
    sentences: &[String],
) -> Result<Tensor<2>, MiniLmError> {
    let batches = sentences.chunks(BATCH).map(|batch| tokens.encode(batch));
    let batches = batches.collect::<Result<Vec<Batch>, _>>()?;
    Ok(fabric.evaluate(model, |model, device| {
        let embedded = batches.iter().map(|batch| model.embed(batch, device));
        Tensor::cat(embedded.collect(), 0)
    })?)
}
