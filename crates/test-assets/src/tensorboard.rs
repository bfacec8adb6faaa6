//! TensorBoard's own reader of event files, in Python.

use crate::{Asset, AssetFile, Source};

/// The Python package TensorBoard with the two that its reader of event files needs, in a folder to
/// name in `PYTHONPATH`. Apache-2.0; protobuf and numpy BSD-3-Clause.
pub const TENSORBOARD: Asset = Asset {
    name: "tensorboard",
    package: "tensorboard",
    version: "2.21.0",
    source: Source::Packages {
        requirements: include_str!("tensorboard.txt"),
    },
    // The rest is pip's to check, by these hashes. It is written last.
    files: &[AssetFile {
        name: "requirements.txt",
        entry: "requirements.txt",
        bytes: 1326,
        sha256: "82c8e4d627a2546e10219ed131a51c02e2484aa497716e355fc7090a94763167",
    }],
};
