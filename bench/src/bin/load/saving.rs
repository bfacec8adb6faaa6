//! Saving the same module, synchronised with the disk.

use anyhow::Result;
use burn_fabric_bench::timed;
use burn_materialize::{Layout, SaveOptions, save};
use burn_store::{BurnToPyTorchAdapter, ModuleSnapshot, SafetensorsStore};
use serde_json::json;

use crate::files::{Files, generated};
use crate::source::Source;
use crate::turns::{Medians, Torch, in_turn};

/// Save in a layout, over what was saved before. PyTorch saves in its own only.
pub fn measure(layout: Layout, files: &Files, torch: &mut Torch) -> Result<Medians<1>> {
    let (layers, _) = generated()?;
    let path = files.new_file("saved.safetensors");
    let is_pytorch = layout == Layout::PyTorch;
    if is_pytorch {
        torch.ask(Source::pytorch(files).copied().request(None))?;
    }
    let options = SaveOptions::new().layout(layout).overwrite(true);
    let medians = in_turn(
        || {
            let (written, time) = timed(|| anyhow::Ok(save(&layers, &path, &options)?));
            written?;
            Ok([time.as_secs_f64() * 1e3])
        },
        || {
            let store = SafetensorsStore::from_file(&path).overwrite(true);
            let mut store = match is_pytorch {
                true => store.with_to_adapter(BurnToPyTorchAdapter),
                false => store,
            };
            let (saved, time) = timed(|| layers.save_into(&mut store));
            saved?;
            Ok([time.as_secs_f64() * 1e3])
        },
        || {
            let asked = is_pytorch.then(|| torch.ask(json!({"do": "save", "path": path})));
            Ok(asked.transpose()?.flatten().map(|ms| [ms]))
        },
    );
    torch.ask(json!({"do": "drop"}))?;
    std::fs::remove_file(&path)?;
    medians
}
