//! What can go wrong.

use std::path::PathBuf;

use burn_fabric::FabricError;
use burn_fabric::burn_materialize::MaterializeError;
use test_assets::MissingAsset;

/// Why there are no embeddings.
#[derive(Debug, thiserror::Error)]
pub enum MiniLmError {
    /// The weights were not fetched.
    #[error(transparent)]
    Missing(#[from] MissingAsset),
    /// A file of the model cannot be read.
    #[error("{}: {message}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        message: String,
    },
    /// The configuration is of a model that is computed in another way.
    #[error("{}: {field} is `{found}`, and only `{supported}` is implemented", path.display())]
    Unsupported {
        /// The configuration.
        path: PathBuf,
        /// What differs.
        field: &'static str,
        /// What it says.
        found: String,
        /// What it would have to say.
        supported: &'static str,
    },
    /// The tokenizer, or a sentence for it.
    #[error("tokenizer: {0}")]
    Tokenizer(String),
    /// The weights do not fit the model.
    #[error(transparent)]
    Weights(#[from] MaterializeError),
    /// The device, or the model on it.
    #[error(transparent)]
    Fabric(#[from] FabricError),
}
