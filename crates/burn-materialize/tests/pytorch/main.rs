//! PyTorch's own files and outputs against Burn's layers with those weights in them, and Burn's own
//! stores against ours. What made the files is beside them.

#[path = "../common/mod.rs"]
mod common;

mod attention;
mod burn_store;
mod crepe;
mod layers;
mod model;
mod recurrent;
mod training;
mod trees;

use std::collections::BTreeMap;
use std::path::PathBuf;

use burn::tensor::{Bool, Int, Tensor, TensorData};
use burn_materialize::{Layout, LoadReport, Materialize, Meta, SaveOptions, Weights, save};
use burn_weights::{Checkpoint, Reading};
use device_under_test::device;

/// The largest difference from PyTorch's outputs, relative to those above one.
const TOLERANCE: f32 = 1e-5;

fn golden(file: &str) -> PathBuf {
    let tests = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("pytorch").join("golden").join(file)
}

/// An input or an output that PyTorch had.
fn data(name: &str) -> TensorData {
    let file = match name.starts_with("crepe.") {
        true => "crepe.safetensors",
        false => "examples.safetensors",
    };
    let examples = Checkpoint::open(golden(file)).unwrap();
    let info = examples.tensor(name).unwrap();
    let dtype = info.dtype.burn().unwrap();
    let bytes = examples.read(name, None, Reading::Copy).unwrap().bytes;
    TensorData::from_bytes(bytes, info.shape, dtype)
}

fn input<const D: usize>(name: &str) -> Tensor<D> {
    Tensor::from_data(data(name), &device())
}

fn ints<const D: usize>(name: &str) -> Tensor<D, Int> {
    Tensor::from_data(data(name), &device())
}

fn bools<const D: usize>(name: &str) -> Tensor<D, Bool> {
    Tensor::from_data(data(name), &device())
}

/// Compare with what PyTorch computed.
fn assert_output<const D: usize>(case: &str, output: Tensor<D>) {
    let expected = data(&format!("{case}.output"));
    let output = output.into_data();
    assert_eq!(output.shape(), expected.shape(), "{case}");
    let differences = output.iter::<f32>().zip(expected.iter::<f32>());
    let differences = differences.map(|(a, b)| (a - b).abs() / b.abs().max(1.0));
    // A NaN is the largest.
    let largest = differences.max_by(f32::total_cmp).unwrap();
    println!("{case}: {largest:e}");
    assert!(largest <= TOLERANCE, "{case} differs by {largest:e}");
}

/// Every tensor of a file but the counts that Burn does not keep: dtype, shape and bytes.
fn tensors(checkpoint: &Checkpoint) -> BTreeMap<String, (String, Vec<usize>, Vec<u8>)> {
    let infos = checkpoint.tensors().unwrap().into_iter();
    let infos = infos.filter(|info| !info.name.ends_with("num_batches_tracked"));
    infos
        .map(|info| {
            let bytes = checkpoint.read(&info.name, None, Reading::Copy).unwrap();
            let tensor = (info.dtype.to_string(), info.shape, bytes.bytes.to_vec());
            (info.name, tensor)
        })
        .collect()
}

/// Load a file into a module on the meta device.
fn load<M: Materialize>(
    weights: &Weights,
    build: impl FnOnce(&burn::tensor::Device) -> M,
) -> (M, LoadReport) {
    let meta = Meta::build_for(&device(), build).unwrap();
    let loaded = meta.load(&device(), weights).unwrap();
    assert_eq!(loaded.report.layout, Layout::PyTorch);
    (loaded.module, loaded.report)
}

/// Load PyTorch's file, and see that what we save in its layout is that file again.
fn there_and_back<M: Materialize>(
    case: &str,
    layout: Layout,
    build: impl FnOnce(&burn::tensor::Device) -> M,
) -> M {
    let original = Weights::open(golden(&format!("{case}.safetensors"))).unwrap();
    let (module, report) = load(&original.clone().layout(layout), build);
    assert!(report.is_accepted(), "{case}: {report}");
    assert!(report.initialised.is_empty(), "{case}: {report}");
    assert!(report.missing.is_empty() && report.unexpected.is_empty());
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.safetensors");
    let options = SaveOptions::new().layout(Layout::PyTorch);
    let written = save(&module, path, &options).unwrap();
    let saved = Checkpoint::open(&written.path).unwrap();
    assert_same(case, &saved, original.checkpoint());
    module
}

/// The same names, shapes and bytes.
fn assert_same(case: &str, saved: &Checkpoint, original: &Checkpoint) {
    let (mut saved, mut original) = (tensors(saved), tensors(original));
    let names = |file: &BTreeMap<String, _>| file.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&saved), names(&original), "{case}");
    let same: Vec<String> = names(&saved)
        .into_iter()
        .filter(|name| saved[name] == original[name])
        .collect();
    for name in same {
        saved.remove(&name);
        original.remove(&name);
    }
    assert_eq!(saved, original, "{case}");
}
