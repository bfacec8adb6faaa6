//! safetensors in memory.

#![no_main]

use burn_weights::Checkpoint;
use libfuzzer_sys::fuzz_target;

mod exercise;

fuzz_target!(|data: &[u8]| {
    exercise::exercise(Checkpoint::from_bytes("fuzz", data.to_vec()));
});
