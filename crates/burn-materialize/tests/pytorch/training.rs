//! What training leaves, saved and loaded.

use burn::module::Module;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{Device, Tensor, TensorData};
use burn_materialize::{
    Layout, Materialize, MaterializeError, Meta, Problem, ResetParameters, SaveOptions, Weights,
    inventory, save,
};
use burn_weights::{Checkpoint, Reading};
use device_under_test::device;

use crate::common::values;

#[derive(Module, Debug)]
struct Foreign {
    norm: BatchNorm,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Norms {
    own: BatchNorm,
    #[materialize(foreign)]
    foreign: Foreign,
}

fn floats(checkpoint: &Checkpoint, name: &str) -> Vec<f32> {
    let bytes = checkpoint.read(name, None, Reading::Copy).unwrap().bytes;
    let floats = bytes.chunks_exact(4);
    floats
        .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

/// Burn keeps the last update apart until somebody asks; a file must have it.
#[test]
fn running_statistics_are_saved_with_their_last_update() {
    let device = device().autodiff();
    let meta = Meta::build_for(&device, |device| Norms {
        own: BatchNormConfig::new(2).init(device),
        foreign: Foreign {
            norm: BatchNormConfig::new(2).init(device),
        },
    });
    let norms = meta.unwrap().materialize(&device).unwrap();
    let batches = [
        [[1.0, 10.0], [3.0, 10.0], [5.0, 40.0]],
        [[-2.0, 7.0], [0.0, 8.0], [5.0, 9.0]],
    ];
    let [mut mean, mut var] = [[0.0_f32; 2], [1.0; 2]];
    for (update, batch) in batches.into_iter().enumerate() {
        let x = Tensor::<2>::from_data(TensorData::from(batch), &device);
        norms.own.forward(x.clone());
        norms.foreign.norm.forward(x);
        for feature in 0..2 {
            let column = batch.map(|row: [f32; 2]| row[feature]);
            let of_batch = column.iter().sum::<f32>() / 3.0;
            // PyTorch's running variance has Bessel's correction; Burn's has not.
            let squares = column.map(|x| (x - of_batch).powi(2));
            mean[feature] = 0.9 * mean[feature] + 0.1 * of_batch;
            var[feature] = 0.9 * var[feature] + 0.1 * squares.iter().sum::<f32>() / 3.0;
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("norms.safetensors");
        let options = SaveOptions::new().layout(Layout::PyTorch);
        let written = save(&norms, path, &options).unwrap();
        let saved = Checkpoint::open(&written.path).unwrap();
        for norm in ["own", "foreign.norm"] {
            for (name, expected) in [("running_mean", mean), ("running_var", var)] {
                let found = floats(&saved, &format!("{norm}.{name}"));
                for (found, expected) in found.iter().zip(expected) {
                    let difference = (found - expected).abs();
                    assert!(
                        difference < 1e-4,
                        "{norm}.{name} {update}: {found} {expected}"
                    );
                }
            }
        }
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Shared {
    layers: Vec<Linear>,
}

impl Shared {
    /// The first and the last are one.
    fn new(device: &Device) -> Self {
        let layer = || LinearConfig::new(3, 3).init(device);
        let first = layer();
        Self {
            layers: vec![first.clone(), layer(), first],
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        self.layers.iter().fold(x, |x, layer| layer.forward(x))
    }
}

fn assert_tied(module: &Shared) {
    let ids: Vec<_> = inventory(module)
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    assert_eq!((ids[0], ids[1]), (ids[4], ids[5]));
    assert_ne!(ids[0], ids[2]);
    let values = values(module);
    assert_eq!(values["layers.0.weight"], values["layers.2.weight"]);
    assert_ne!(values["layers.0.weight"], values["layers.1.weight"]);
}

#[test]
fn a_tie_in_a_list_outlives_load_step_save_load() {
    for (layout, name) in [
        (Layout::Burn, "shared.safetensors"),
        (Layout::PyTorch, "shared.safetensors"),
        (Layout::Burn, "shared.bpk"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let options = SaveOptions::new().layout(layout).overwrite(true);
        let path = folder.path().join(name);
        let meta = Meta::build_for(&device(), Shared::new)
            .unwrap()
            .with_seed(3);
        let initial = meta.materialize(&device()).unwrap();
        save(&initial, &path, &options).unwrap();

        let device = device().autodiff();
        let loaded = meta.load(&device, &Weights::open(&path).unwrap()).unwrap();
        let model = loaded.module;
        assert_tied(&model);
        let before = values(&initial)["layers.0.weight"].clone();
        let x = Tensor::<2>::ones([2, 3], &device);
        let grads = GradientsParams::from_grads(model.forward(x).sum().backward(), &model);
        assert_eq!(grads.len(), 4);
        let mut model = SgdConfig::new().init().step(0.1, model, grads);
        // Burn's optimizer updated the first path only: there is no one value to save.
        let error = save(&model, &path, &options).unwrap_err();
        let MaterializeError::Refused(problems) = error else {
            panic!("{error}");
        };
        assert!(
            matches!(&problems.0[..], [Problem::OneIdTwoTensors { .. }, _]),
            "{problems:?}"
        );
        model.layers[2] = model.layers[0].clone();
        assert_ne!(before, values(&model)["layers.0.weight"]);
        assert_tied(&model);

        let written = save(&model, &path, &options).unwrap();
        let saved = Checkpoint::open(&written.path).unwrap();
        let names = [
            "layers.0.bias",
            "layers.0.weight",
            "layers.1.bias",
            "layers.1.weight",
        ];
        assert_eq!(saved.names().collect::<Vec<_>>(), names);
        let ties: Vec<_> = saved.ties().collect();
        let expected = [
            ("layers.2.bias", "layers.0.bias"),
            ("layers.2.weight", "layers.0.weight"),
        ];
        assert_eq!(ties, expected);
        let again = meta.load(&device, &saved.into()).unwrap();
        assert_tied(&again.module);
        assert_eq!(values(&again.module), values(&model), "{name} {layout:?}");
        assert_eq!(again.report.missing, []);
    }
}
