//! Whether the head and the embedding are still one tensor.

use burn_fabric::FabricModule;

use crate::{ShakespeareError, Transformer};

/// See that the head's weight is the embedding's: one parameter by its id, and with the same bits.
///
/// # Errors
/// [`ShakespeareError::Untied`]; as [`FabricModule::inventory`].
pub fn check_tie(model: &FabricModule<Transformer>) -> Result<(), ShakespeareError> {
    let entries = model.inventory()?;
    let id = |path: &str| {
        let entry = entries.iter().find(|entry| entry.path == path);
        entry.and_then(|entry| entry.id)
    };
    let (embedding, head) = (id("embedding.weight"), id("head.weight"));
    if embedding.is_none() || embedding != head {
        return Err(ShakespeareError::Untied("two parameters"));
    }
    // One id over two tensors would be a tie by name only.
    if model.embedding.weight.val().into_data() != model.head.weight.val().into_data() {
        return Err(ShakespeareError::Untied("one parameter with two values"));
    }
    Ok(())
}
