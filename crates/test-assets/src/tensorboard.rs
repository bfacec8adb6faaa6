//! TensorBoard's own reader of event files, in Python.

use crate::{Asset, AssetFile, Source};

/// The Python package TensorBoard with the three that its reader of event files needs, in a folder to
/// name in `PYTHONPATH`. TensorBoard and absl-py are under Apache-2.0, protobuf and numpy
/// under BSD-3-Clause.
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
        bytes: 1_426,
        sha256: "bb9a2632b5272fc946bdc2d71231c814c48ed409d63992826ed8da08fddfc825",
    }],
};
