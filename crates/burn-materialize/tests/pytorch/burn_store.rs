//! Files of Burn's own stores here, and ours in them.

use std::path::Path;

use burn::module::Module;
use burn::nn::activation::{Activation, PReluConfig};
use burn::nn::norm::{Normalization, NormalizationConfig};
use burn::nn::{
    BatchNormConfig, Embedding, EmbeddingConfig, Gru, GruConfig, InstanceNorm, InstanceNormConfig,
    LayerNorm, LayerNormConfig, Linear, LinearConfig, LinearLayout,
};
use burn::tensor::Device;
use burn_materialize::{
    Layout, Materialize, MaterializeError, Meta, Problem, ResetParameters, SaveOptions, Weights,
    save,
};
use burn_store::{
    BurnToPyTorchAdapter, BurnpackStore, ModuleSnapshot, PyTorchToBurnAdapter, SafetensorsStore,
};
use device_under_test::device;

use crate::common::values;

/// Layers whose names or matrices the two layouts have differently.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    embedding: Embedding,
    layers: Vec<Linear>,
    norm: LayerNorm,
    choice: Normalization,
    activation: Activation,
    gru: Gru,
}

impl Net {
    fn new(device: &Device, width: usize) -> Self {
        Self {
            embedding: EmbeddingConfig::new(7, 4).init(device),
            layers: vec![LinearConfig::new(4, width).init(device)],
            norm: LayerNormConfig::new(4).init(device),
            choice: NormalizationConfig::Batch(BatchNormConfig::new(4)).init(device),
            activation: Activation::PRelu(PReluConfig::new().init(device)),
            gru: GruConfig::new(4, 4, true).init(device),
        }
    }
}

/// Linear layers and a norm that Burn's adapter leaves its names.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Plain {
    linear: Linear,
    norm: InstanceNorm,
}

impl Plain {
    fn new(device: &Device, width: usize, layout: LinearLayout) -> Self {
        let config = LinearConfig::new(4, width).with_layout(layout);
        Self {
            linear: config.init(device),
            norm: InstanceNormConfig::new(2).init(device),
        }
    }
}

fn real<M: Materialize>(build: impl FnOnce(&Device) -> M) -> M {
    let meta = Meta::build_for(&device(), build).unwrap().with_seed(8);
    meta.materialize(&device()).unwrap()
}

/// Save with one of Burn's stores: as it is, for PyTorch, or as burnpack.
fn store<M: Module>(module: &M, path: &Path, kind: &str) {
    let safetensors = SafetensorsStore::from_file(path);
    let saved = match kind {
        "burn" => module
            .save_into(&mut { safetensors })
            .map_err(|e| e.to_string()),
        "pytorch" => {
            let mut adapted = safetensors.with_to_adapter(BurnToPyTorchAdapter);
            module.save_into(&mut adapted).map_err(|e| e.to_string())
        }
        _ => {
            let mut pack = BurnpackStore::from_file(path);
            module.save_into(&mut pack).map_err(|e| e.to_string())
        }
    };
    saved.unwrap();
}

fn assert_loads<M: Materialize>(
    saved: &M,
    path: &Path,
    layout: Layout,
    build: impl FnOnce(&Device) -> M,
) {
    let meta = Meta::build_for(&device(), build).unwrap();
    let loaded = meta.load(&device(), &Weights::open(path).unwrap()).unwrap();
    assert_eq!(loaded.report.layout, layout);
    assert_eq!(values(&loaded.module), values(saved));
}

#[test]
fn files_of_burns_stores_load_in_the_layout_they_show() {
    for width in [4, 6] {
        let build = |device: &Device| Net::new(device, width);
        let net = real(build);
        for (kind, name, layout) in [
            ("burn", "net.safetensors", Layout::Burn),
            ("pytorch", "net.safetensors", Layout::PyTorch),
            ("burnpack", "net.bpk", Layout::Burn),
        ] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join(name);
            store(&net, &path, kind);
            assert_loads(&net, &path, layout, build);
        }
        // Without the variants of enums in its names.
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("net.safetensors");
        let mut store = SafetensorsStore::from_file(&path).skip_enum_variants(true);
        net.save_into(&mut store).unwrap();
        assert_loads(&net, &path, Layout::Burn, build);
    }
}

#[test]
fn what_only_an_instance_norm_tells_is_nothing() {
    for kind in ["burn", "pytorch"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain.safetensors");
        let build = |device: &Device| Plain::new(device, 4, LinearLayout::Row);
        store(&real(build), &path, kind);
        let meta = Meta::build_for(&device(), build).unwrap();
        let error = meta
            .load(&device(), &Weights::open(&path).unwrap())
            .unwrap_err();
        let MaterializeError::Refused(problems) = error else {
            panic!("{error}");
        };
        assert_eq!(problems.0, [Problem::LayoutUnknown], "{kind}");
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plain.safetensors");
        let build = |device: &Device| Plain::new(device, 6, LinearLayout::Row);
        let plain = real(build);
        store(&plain, &path, kind);
        let layout = match kind {
            "burn" => Layout::Burn,
            _ => Layout::PyTorch,
        };
        assert_loads(&plain, &path, layout, build);
    }
}

/// Its records are PyTorch's matrices already, and Burn's adapter turns them once more.
#[test]
fn a_column_layout_that_burns_adapter_turned_is_told_from_its_shape() {
    let build = |device: &Device| Plain::new(device, 6, LinearLayout::Col);
    let plain = real(build);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.safetensors");
    store(&plain, &path, "burn");
    assert_loads(&plain, &path, Layout::PyTorch, build);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("plain.safetensors");
    store(&plain, &path, "pytorch");
    let meta = Meta::build_for(&device(), build).unwrap();
    let error = meta
        .load(&device(), &Weights::open(&path).unwrap())
        .unwrap_err();
    let MaterializeError::Refused(problems) = error else {
        panic!("{error}");
    };
    assert!(
        matches!(&problems.0[..], [Problem::FileShape { path, .. }] if path == "linear.weight"),
        "{problems:?}"
    );
}

#[test]
fn burns_stores_load_what_we_save_in_its_layout() {
    for layout in [LinearLayout::Row, LinearLayout::Col] {
        let build = |device: &Device| {
            let plain = Plain::new(device, 6, layout);
            (plain, Net::new(device, 4))
        };
        let module = real(build);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("module.safetensors");
        save(&module, &path, &SaveOptions::new()).unwrap();
        let mut loaded = build(&device());
        let result = loaded
            .load_from(&mut SafetensorsStore::from_file(&path))
            .unwrap();
        assert!(
            result.unused.is_empty() && result.missing.is_empty(),
            "{result:?}"
        );
        assert_eq!(values(&loaded), values(&module));
        let path = folder.path().join("module.bpk");
        save(&module, &path, &SaveOptions::new()).unwrap();
        let mut loaded = build(&device());
        let result = loaded
            .load_from(&mut BurnpackStore::from_file(&path))
            .unwrap();
        assert!(
            result.unused.is_empty() && result.missing.is_empty(),
            "{result:?}"
        );
        assert_eq!(values(&loaded), values(&module));
    }
}

/// Of PyTorch's layers, its adapter knows those that are packed nowhere.
#[test]
fn burns_adapter_loads_what_we_save_in_pytorchs_layout() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Known {
        linear: Linear,
        norm: LayerNorm,
        choice: Normalization,
    }
    let build = |device: &Device| Known {
        linear: LinearConfig::new(4, 4).init(device),
        norm: LayerNormConfig::new(4).init(device),
        choice: NormalizationConfig::Batch(BatchNormConfig::new(4)).init(device),
    };
    let module = real(build);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("known.safetensors");
    save(&module, &path, &SaveOptions::new().layout(Layout::PyTorch)).unwrap();
    let mut loaded = build(&device());
    let mut store = SafetensorsStore::from_file(&path)
        .with_from_adapter(PyTorchToBurnAdapter)
        .skip_enum_variants(true);
    loaded.load_from(&mut store).unwrap();
    assert_eq!(values(&loaded), values(&module));
}
