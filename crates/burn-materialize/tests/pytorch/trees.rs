//! Names in trees of modules: variants, lists, tuples, foreign modules, adapters, skipped fields.

use burn::module::{Lora, Module, Param};
use burn::nn::activation::{Activation, ActivationConfig, SwiGluConfig};
use burn::nn::transformer::{TransformerEncoderConfig, TransformerEncoderLayer};
use burn::nn::{
    LayerNorm, LayerNormConfig, Linear, LinearConfig, LinearLayout, Lstm, LstmConfig,
    PositionalEncoding, PositionalEncodingConfig,
};
use burn::tensor::{Device, Tensor};
use burn_materialize::{
    Layout, Materialize, MaterializeError, Meta, Problem, ResetParameters, SaveOptions, Weights,
    save,
};
use burn_weights::Checkpoint;
use device_under_test::device;

use crate::common::values;
use crate::golden;

fn real<M: Materialize>(build: impl FnOnce(&Device) -> M) -> M {
    let meta = Meta::build_for(&device(), build).unwrap().with_seed(8);
    meta.materialize(&device()).unwrap()
}

/// Save in a layout, and load that with what it notes and without.
fn round_trip<M: Materialize>(
    layout: Layout,
    options: SaveOptions,
    build: impl Fn(&Device) -> M,
) -> Vec<String> {
    let saved = real(&build);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tree.safetensors");
    let written = save(&saved, &path, &options.layout(layout)).unwrap();
    for asked in [Layout::Auto, layout] {
        let weights = Weights::open(&written.path).unwrap().layout(asked);
        let meta = Meta::build_for(&device(), &build).unwrap().with_seed(9);
        let loaded = meta.load(&device(), &weights).unwrap();
        assert_eq!(loaded.report.layout, layout);
        assert_eq!(values(&loaded.module), values(&saved), "{layout:?}");
    }
    let checkpoint = Checkpoint::open(&written.path).unwrap();
    checkpoint.names().map(str::to_owned).collect()
}

#[derive(Module, Materialize, ResetParameters, Debug)]
#[allow(clippy::large_enum_variant, reason = "there are two of them")]
enum Block {
    Plain(Linear),
    Deep(Deep),
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Deep {
    pair: (Linear, LayerNorm),
    array: [Linear; 2],
    gate: Option<Activation>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Tree {
    blocks: Vec<Block>,
}

#[test]
fn every_kind_of_container_has_a_name_in_both_layouts() {
    let linear = |device: &Device, width| LinearConfig::new(4, width).init(device);
    let build = |device: &Device| Tree {
        blocks: vec![
            Block::Plain(linear(device, 4)),
            Block::Deep(Deep {
                pair: (linear(device, 3), LayerNormConfig::new(3).init(device)),
                array: [4, 5].map(|width| linear(device, width)),
                gate: Some(ActivationConfig::SwiGlu(SwiGluConfig::new(4, 2)).init(device)),
            }),
        ],
    };
    let names = round_trip(Layout::Burn, SaveOptions::new(), build);
    for name in [
        "blocks.0.Plain.weight",
        "blocks.1.Deep.pair.1.gamma",
        "blocks.1.Deep.array.1.weight",
        "blocks.1.Deep.gate.SwiGlu.linear_inner.weight",
    ] {
        assert!(names.iter().any(|of| of == name), "{name}: {names:?}");
    }
    let names = round_trip(Layout::PyTorch, SaveOptions::new(), build);
    for name in [
        "blocks.0.weight",
        "blocks.1.pair.1.weight",
        "blocks.1.array.1.weight",
        "blocks.1.gate.linear_inner.weight",
    ] {
        assert!(names.iter().any(|of| of == name), "{name}: {names:?}");
    }
}

/// What cannot be PyTorch's one layer of two levels is its list of two layers.
#[test]
fn lists_of_recurrent_layers_that_do_not_follow_each_other() {
    let lstm = |device: &Device, input, hidden| LstmConfig::new(input, hidden, true).init(device);
    let levels = |inputs: [usize; 2], hidden: [usize; 2]| {
        let build = move |device: &Device| -> Vec<Lstm> {
            let layers = inputs.into_iter().zip(hidden);
            layers
                .map(|(input, hidden)| lstm(device, input, hidden))
                .collect()
        };
        round_trip(Layout::PyTorch, SaveOptions::new(), build)
    };
    let stack = levels([3, 4], [4, 4]);
    assert!(stack.contains(&"weight_ih_l1".to_owned()), "{stack:?}");
    for list in [levels([3, 3], [4, 4]), levels([3, 4], [4, 2])] {
        assert!(list.contains(&"1.weight_ih_l0".to_owned()), "{list:?}");
    }
    let mixed = round_trip(Layout::PyTorch, SaveOptions::new(), |device| {
        let linear = LinearConfig::new(4, 3).init(device);
        (lstm(device, 3, 4), linear, lstm(device, 3, 4))
    });
    assert!(mixed.contains(&"2.weight_ih_l0".to_owned()), "{mixed:?}");
    // Coupled gates are three, of PyTorch's four.
    let coupled = round_trip(Layout::PyTorch, SaveOptions::new(), |device| {
        let config = LstmConfig::new(3, 4, true).with_input_forget(true);
        config.init(device)
    });
    let name = "cell_gate.input_transform.weight".to_owned();
    assert!(coupled.contains(&name), "{coupled:?}");
}

#[derive(Module, Debug)]
struct Foreign {
    linear: Linear,
    norm: LayerNorm,
    layers: Vec<TransformerEncoderLayer>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Host {
    #[materialize(foreign)]
    inner: Foreign,
}

fn host(layers: usize) -> impl Fn(&Device) -> Host {
    move |device| Host {
        inner: Foreign {
            linear: LinearConfig::new(4, 3).init(device),
            norm: LayerNormConfig::new(4).init(device),
            layers: TransformerEncoderConfig::new(6, 8, 2, layers)
                .with_norm_first(true)
                .init(device)
                .layers,
        },
    }
}

#[test]
fn foreign_modules_have_the_same_names() {
    let names = round_trip(Layout::PyTorch, SaveOptions::new(), host(0));
    let expected = ["linear.bias", "linear.weight", "norm.bias", "norm.weight"];
    assert_eq!(names, expected.map(|name| format!("inner.{name}")));
    round_trip(Layout::PyTorch, SaveOptions::new(), host(1));
    round_trip(Layout::Burn, SaveOptions::new(), host(1));
}

/// Burn's mapper does not show whether norms come first: which of PyTorch's is which is not known.
#[test]
fn norms_of_transformers_in_foreign_modules_are_not_guessed() {
    let weights = Weights::open(golden("encoder_pre_relu.safetensors")).unwrap();
    let weights = weights.rename("^", "inner.").unwrap();
    let weights = weights.only("inner.layers.0.**").unwrap();
    let meta = Meta::build_for(&device(), host(1)).unwrap();
    let error = meta.load(&device(), &weights).unwrap_err();
    let MaterializeError::Refused(problems) = error else {
        panic!("{error}");
    };
    let missing = problems.0.iter().filter_map(|problem| match problem {
        Problem::Missing { path, .. } => Some(path.as_str()),
        _ => None,
    });
    let norms = ["norm_1.beta", "norm_1.gamma", "norm_2.beta", "norm_2.gamma"];
    let norms = norms.map(|name| format!("inner.layers.0.{name}"));
    assert_eq!(missing.collect::<Vec<_>>(), norms);
    // The user knows.
    let weights = weights.rename("norm1", "norm_2").unwrap();
    let weights = weights.rename("layers.0.norm2", "layers.0.norm_1").unwrap();
    assert!(meta.load(&device(), &weights).is_ok());
}

#[test]
fn adapters_may_be_missing_where_the_base_is_loaded() {
    for layout in [LinearLayout::Row, LinearLayout::Col] {
        let config = LinearConfig::new(5, 3).with_layout(layout);
        let meta = Meta::build_for(&device(), |device| config.init(device)).unwrap();
        let adapted = meta
            .map(|linear, _| linear.apply_lora(Lora::new(2, 4.0)))
            .unwrap()
            .with_seed(4);
        let weights = Weights::open(golden("linear.safetensors")).unwrap();
        let base: Linear = meta.load(&device(), &weights).unwrap().module;
        assert!(adapted.load(&device(), &weights).is_err());
        let weights = weights.allow_missing("**.lora.**").unwrap();
        let loaded = adapted.load(&device(), &weights).unwrap();
        let lora = ["weight.lora.a", "weight.lora.b"];
        assert_eq!(loaded.report.initialised, lora);
        let (found, expected) = (values(&loaded.module), values(&base));
        assert_eq!(found["weight"], expected["weight"], "{layout:?}");
        assert_eq!(found["bias"], expected["bias"]);
        for asked in [Layout::Burn, Layout::PyTorch] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("adapted.safetensors");
            save(&loaded.module, &path, &SaveOptions::new().layout(asked)).unwrap();
            let again = adapted
                .load(&device(), &Weights::open(&path).unwrap())
                .unwrap();
            assert_eq!(values(&again.module), found, "{layout:?} {asked:?}");
            // The base and the adapters are apart in the file.
            let weights = Weights::open(&path).unwrap().except("**.lora.**").unwrap();
            let plain: Linear = meta.load(&device(), &weights).unwrap().module;
            assert_eq!(values(&plain), expected, "{layout:?} {asked:?}");
        }
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Hidden {
    weight: Param<Tensor<2>>,
    #[module(skip)]
    skipped: Option<Linear>,
    #[module(skip)]
    table: Tensor<1>,
    position: PositionalEncoding,
}

#[test]
fn skipped_fields_and_buffers_load_where_the_file_has_them() {
    let build = |first: f32| {
        move |device: &Device| Hidden {
            weight: Param::from_tensor(Tensor::ones([2, 3], device)),
            skipped: Some(LinearConfig::new(2, 3).init(device)),
            table: Tensor::full([3], first, device),
            position: PositionalEncodingConfig::new(4)
                .with_max_sequence_size(2)
                .with_max_timescale(first as usize)
                .init(device),
        }
    };
    let saved = real(build(7.0));
    for layout in [Layout::Burn, Layout::PyTorch] {
        for buffers in [false, true] {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("hidden.safetensors");
            let options = SaveOptions::new().layout(layout).buffers(buffers);
            save(&saved, &path, &options).unwrap();
            let meta = Meta::build_for(&device(), build(9.0)).unwrap().with_seed(9);
            let loaded = meta
                .load(&device(), &Weights::open(&path).unwrap())
                .unwrap();
            let (found, expected) = (values(&loaded.module), values(&saved));
            assert_eq!(found["skipped.weight"], expected["skipped.weight"]);
            for buffer in ["table", "position.sinusoids"] {
                assert_eq!(found[buffer] == expected[buffer], buffers, "{buffer}");
            }
        }
    }
}
