//! From the files of a hub to a model on a device.

use std::path::Path;
use std::time::{Duration, Instant};

use burn_fabric::prelude::*;

use crate::{BertConfig, MiniLm, MiniLmError};

/// A loaded model.
#[derive(Debug)]
pub struct Loaded {
    /// The model.
    pub model: FabricModule<MiniLm>,
    /// How long it took from the files to the device, headers included.
    pub time: Duration,
}

/// Load `config.json` and `model.safetensors` in `folder` onto the Fabric's device.
///
/// # Errors
/// [`MiniLmError::File`] and [`MiniLmError::Unsupported`] for the configuration; what does not fit
/// between weights and model, as [`Fabric::setup_with`].
pub fn load(
    fabric: &Fabric,
    folder: &Path,
    on_progress: impl Fn(Progress) + Send + Sync + 'static,
) -> Result<Loaded, MiniLmError> {
    let start = Instant::now();
    let config = BertConfig::open(&folder.join("config.json"))?;
    let meta = fabric.init_module(|device| MiniLm::new(&config, device))?;
    let weights = Weights::open(folder.join("model.safetensors"))?;
    let weights = named_as_here(weights)?.on_progress(on_progress);
    let model = fabric.setup_with(meta, &weights)?;
    let time = start.elapsed();
    Ok(Loaded { model, time })
}

/// What BERT calls its tensors, in the names of Burn's encoder.
fn named_as_here(weights: Weights) -> Result<Weights, MiniLmError> {
    let renames = [
        (r"^embeddings\.(\w+)_embeddings\.", "embeddings.$1."),
        (r"^embeddings\.LayerNorm\.", "embeddings.norm."),
        (r"^encoder\.layer\.", "encoder.layers."),
        (r"\.attention\.self\.", ".mha."),
        (r"\.attention\.output\.dense\.", ".mha.output."),
        (r"\.attention\.output\.LayerNorm\.", ".norm_1."),
        (r"\.intermediate\.dense\.", ".pwff.linear_inner."),
        // What is left of these names once the attention's are gone.
        (r"\.output\.dense\.", ".pwff.linear_outer."),
        (r"\.output\.LayerNorm\.", ".norm_2."),
    ];
    let weights = renames
        .into_iter()
        .try_fold(weights.layout(Layout::PyTorch), |weights, (from, to)| {
            weights.rename(from, to)
        })?;
    // A head for another task, and a table of the numbers from 0 to 511.
    Ok(weights
        .allow_unexpected("pooler")?
        .allow_unexpected("embeddings.position_ids")?)
}
