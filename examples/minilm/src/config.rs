//! What the model is made of, as its `config.json` says.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::MiniLmError;

/// The sizes of a BERT.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct BertConfig {
    /// Tokens that there are.
    pub vocab_size: usize,
    /// The width of everything between layers.
    pub hidden_size: usize,
    /// Layers of the encoder.
    pub num_hidden_layers: usize,
    /// Heads of each attention.
    pub num_attention_heads: usize,
    /// The width within a layer's feed-forward part.
    pub intermediate_size: usize,
    /// The longest sequence of tokens.
    pub max_position_embeddings: usize,
    /// Kinds of segments.
    pub type_vocab_size: usize,
    /// What a layer norm adds to the variance.
    pub layer_norm_eps: f64,
    /// While training; off otherwise.
    pub hidden_dropout_prob: f64,
    model_type: String,
    hidden_act: String,
    #[serde(default = "absolute")]
    position_embedding_type: String,
}

fn absolute() -> String {
    "absolute".to_owned()
}

impl BertConfig {
    /// Read a `config.json`, and refuse what the model here would compute otherwise.
    ///
    /// # Errors
    /// [`MiniLmError::File`], [`MiniLmError::Unsupported`].
    pub fn open(path: &Path) -> Result<Self, MiniLmError> {
        let config: Self = read_json(path)?;
        let told = [
            ("model_type", &config.model_type, "bert"),
            // By the error function; the approximations have names of their own.
            ("hidden_act", &config.hidden_act, "gelu"),
            (
                "position_embedding_type",
                &config.position_embedding_type,
                "absolute",
            ),
        ];
        for (field, found, supported) in told {
            if found != supported {
                return Err(MiniLmError::Unsupported {
                    path: path.to_owned(),
                    field,
                    found: found.clone(),
                    supported,
                });
            }
        }
        Ok(config)
    }
}

pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, MiniLmError> {
    let failed = |message: String| MiniLmError::File {
        path: path.to_owned(),
        message,
    };
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    serde_json::from_str(&text).map_err(|error| failed(error.to_string()))
}
