//! An index beside two sound shards.

#![no_main]

use std::fs;

use burn_weights::Checkpoint;
use libfuzzer_sys::fuzz_target;

mod exercise;
#[path = "../../crates/burn-weights/tests/support/mod.rs"]
mod support;

thread_local! {
    static FOLDER: support::Folder = {
        let folder = support::Folder::new();
        folder.put("1.safetensors", support::safetensors::sample());
        folder.put("2.bpk", support::burnpack::sample());
        folder
    };
}

fuzz_target!(|data: &[u8]| {
    FOLDER.with(|folder| {
        let path = folder.join("model.safetensors.index.json");
        fs::write(&path, data).unwrap();
        exercise::exercise(Checkpoint::open(&path));
        exercise::exercise(Checkpoint::open(folder.path()));
    });
});
