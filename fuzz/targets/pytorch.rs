//! A PyTorch file: as it is, or a pickle within a sound one, whose checksum would be wrong otherwise.

#![no_main]

use std::fs;

use burn_weights::Checkpoint;
use libfuzzer_sys::fuzz_target;

mod exercise;
#[path = "../../crates/burn-weights/tests/support/mod.rs"]
mod support;

use support::torch;

thread_local! {
    static FOLDER: support::Folder = support::Folder::new();
}

fuzz_target!(|data: &[u8]| {
    let Some((kind, rest)) = data.split_first() else {
        return;
    };
    let values = torch::sample_values();
    let file = match kind % 4 {
        0 => rest.to_vec(),
        1 => torch::archive(rest, &[("0", &values)]),
        2 => torch::stream(rest, &[("0", &values, 4)]),
        _ => [b"\x80\x02", rest].concat(),
    };
    FOLDER.with(|folder| {
        let path = folder.join("model.pt");
        fs::write(&path, file).unwrap();
        exercise::exercise(Checkpoint::open(&path));
    });
});
