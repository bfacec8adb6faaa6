//! Checkpoints into modules: straight to the device, strictly by name, whatever the layout.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use burn::module::{Module, Param};
use burn::nn::{
    BatchNorm, BatchNormConfig, Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear,
    LinearConfig, LinearLayout, PositionalEncoding, PositionalEncodingConfig,
};
use burn::tensor::{DType, Device, FloatDType, Int, Tensor, TensorData};
use burn_materialize::{
    DTypePolicy, Layout, LoadReport, Materialize, MaterializeError, Meta, Problem, ResetParameters,
    SaveOptions, State, Weights, inventory, load, save,
};
use burn_weights::{Outgoing, WriteOptions, write};
use device_under_test::{device, in_common};
use tempfile::TempDir;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    embedding: Embedding,
    hidden: Linear,
    norm: LayerNorm,
    batch: BatchNorm,
    position: PositionalEncoding,
    output: Linear,
}

impl Net {
    fn new(device: &Device) -> Self {
        Self {
            embedding: EmbeddingConfig::new(5, 4).init(device),
            hidden: LinearConfig::new(4, 6).init(device),
            norm: LayerNormConfig::new(6).init(device),
            batch: BatchNormConfig::new(6).init(device),
            position: PositionalEncodingConfig::new(4)
                .with_max_sequence_size(3)
                .init(device),
            output: LinearConfig::new(6, 2)
                .with_layout(LinearLayout::Col)
                .init(device),
        }
    }
}

/// A folder, and the path of a file in it.
fn place(name: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    (folder, path)
}

fn net(seed: u64) -> Net {
    let meta = Meta::build_for(&device(), Net::new)
        .unwrap()
        .with_seed(seed);
    meta.materialize(&device()).unwrap()
}

/// Every tensor by path, in types that all devices' can be compared in.
fn values<M: Materialize>(module: &M) -> BTreeMap<String, TensorData> {
    struct Values(BTreeMap<String, TensorData>);
    impl burn_materialize::Pass for Values {
        fn tensor(
            &mut self,
            site: &burn_materialize::Site<'_>,
            slot: &mut dyn burn_materialize::Slot,
        ) {
            let data = in_common(burn_meta::read(slot.tensor()).unwrap());
            self.0.insert(site.path().to_owned(), data);
        }
    }
    let mut values = Values(BTreeMap::new());
    burn_materialize::traverse(module.clone(), &mut values);
    values.0
}

fn f32s(name: &str, shape: &[usize], first: f32) -> Outgoing {
    let count = shape.iter().product::<usize>();
    let values: Vec<f32> = (0..count).map(|place| first + place as f32).collect();
    Outgoing::new(name, DType::F32, shape.to_vec(), move || {
        Ok(burn::tensor::Bytes::from_elems(values.clone()))
    })
}

fn file(path: &Path, tensors: Vec<Outgoing>) -> Weights {
    write(path, tensors, &WriteOptions::default()).unwrap();
    Weights::open(path).unwrap()
}

fn refused(result: Result<impl Sized, MaterializeError>) -> Vec<Problem> {
    match result.err().expect("it was to be refused") {
        MaterializeError::Refused(problems) => problems.0,
        other => panic!("{other}"),
    }
}

#[test]
fn every_layout_and_format_gives_back_what_was_saved() {
    let saved = net(1);
    for (name, layout) in [
        ("burn.safetensors", Layout::Burn),
        ("torch.safetensors", Layout::PyTorch),
        ("burn.bpk", Layout::Burn),
    ] {
        for shard in [None, Some(64)] {
            for asked in [layout, Layout::Auto] {
                let (_folder, path) = place(name);
                let mut options = SaveOptions::new().layout(layout);
                if let Some(bytes) = shard {
                    options = options.max_shard_bytes(bytes);
                }
                let written = save(&saved, &path, &options).unwrap();
                assert_eq!(written.files.len() > 1, shard.is_some());
                let weights = Weights::open(&written.path).unwrap().layout(asked);
                let meta = Meta::build_for(&device(), Net::new).unwrap().with_seed(2);
                let loaded = meta.load(&device(), &weights).unwrap();
                assert_eq!(
                    values(&loaded.module),
                    values(&saved),
                    "{name} {layout:?} {shard:?}"
                );
                assert_eq!(loaded.report.layout, layout);
                // The table is computed, and no checkpoint has it.
                assert_eq!(loaded.report.initialised, ["position.sinusoids"]);
                assert!(loaded.report.missing.is_empty() && loaded.report.is_accepted());
            }
        }
    }
}

#[test]
fn a_column_layout_is_right_in_every_state() {
    let config = LinearConfig::new(3, 3).with_layout(LinearLayout::Col);
    let saved = Meta::build_for(&device(), |device| config.init(device)).unwrap();
    let saved: Linear = saved.with_seed(5).materialize(&device()).unwrap();
    let expected = in_common(saved.weight.val().into_data());
    for layout in [Layout::Burn, Layout::PyTorch] {
        let (_folder, path) = place("col.safetensors");
        save(&saved, &path, &SaveOptions::new().layout(layout)).unwrap();
        let weights = Weights::open(&path).unwrap();
        let meta = Meta::build_for(&device(), |device| config.init(device)).unwrap();
        let from_meta: Linear = meta.load(&device(), &weights).unwrap().module;
        let mut from_lazy = config.init(&device());
        load(&mut from_lazy, &weights).unwrap();
        let mut from_real = meta.materialize(&device()).unwrap();
        load(&mut from_real, &weights).unwrap();
        for (state, linear) in [
            ("meta", from_meta),
            ("lazy", from_lazy),
            ("real", from_real),
        ] {
            let found = in_common(linear.weight.val().into_data());
            assert_eq!(found, expected, "{layout:?} from {state}");
            // And what Burn saves of it is what it saved before.
            let stored = in_common(linear.weight.transform_for_save().val().into_data());
            assert_eq!(
                stored,
                in_common(saved.weight.transform_for_save().val().into_data())
            );
        }
    }
}

#[test]
fn a_lazy_parameter_is_never_initialised() {
    let (_folder, path) = place("linear.safetensors");
    let weights = file(
        &path,
        vec![f32s("weight", &[2, 3], 0.0), f32s("bias", &[3], 9.0)],
    );
    let initializer = burn::nn::Initializer::Orthogonal { gain: f64::NAN };
    let mut linear = LinearConfig::new(2, 3)
        .with_initializer(initializer)
        .init(&device());
    let ids = (linear.weight.id, linear.bias.as_ref().unwrap().id);
    // On a bias it would panic.
    let report = load(&mut linear, &weights.layout(Layout::Burn)).unwrap();
    assert_eq!(report.loaded.len(), 2);
    assert_eq!(
        linear
            .bias
            .as_ref()
            .unwrap()
            .val()
            .into_data()
            .try_to_vec::<f32>()
            .unwrap(),
        [9.0, 10.0, 11.0]
    );
    assert_eq!(ids, (linear.weight.id, linear.bias.unwrap().id));
}

#[test]
fn case_02_what_the_file_lacks_gets_its_recorded_value() {
    let (_folder, path) = place("part.safetensors");
    let weights = file(&path, vec![f32s("hidden.weight", &[4, 6], 0.0)]);
    let weights = weights.layout(Layout::Burn).allow_missing("**").unwrap();
    let meta = Meta::build_for(&device(), Net::new).unwrap().with_seed(7);
    let loaded = meta.load(&device(), &weights).unwrap();
    let (mut found, mut initial) = (values(&loaded.module), values(&net(7)));
    let weight = found.remove("hidden.weight").unwrap();
    assert_eq!(weight.try_to_vec::<f32>().unwrap()[..3], [0.0, 1.0, 2.0]);
    initial.remove("hidden.weight");
    assert_eq!(found, initial);
    assert_eq!(loaded.report.loaded.len(), 1);
    assert!(
        loaded
            .report
            .initialised
            .contains(&"position.sinusoids".to_owned())
    );
}

#[test]
fn names_are_strict_and_the_nearest_is_told() {
    let (_folder, path) = place("names.safetensors");
    let tensors = vec![f32s("weigth", &[2, 3], 0.0), f32s("bias", &[3], 0.0)];
    let weights = file(&path, tensors).layout(Layout::Burn);
    let meta = Meta::build_for(&device(), |device| LinearConfig::new(2, 3).init(device)).unwrap();
    let problems = refused(meta.load(&device(), &weights));
    assert!(
        matches!(
            &problems[..],
            [
                Problem::Missing { path, hint },
                Problem::Unexpected { name, .. }
            ] if path == "weight" && hint.contains("weigth") && name == "weigth"
        ),
        "{problems:?}"
    );
    let weights = weights.rename("^weigth$", "weight").unwrap();
    assert_eq!(
        meta.load(&device(), &weights).unwrap().report.loaded.len(),
        2
    );
}

#[test]
fn case_09_a_load_that_matches_nothing_is_an_error_with_names_of_both_sides() {
    let (_folder, path) = place("other.safetensors");
    let weights = file(&path, vec![f32s("model.decoder.table", &[2, 3], 0.0)]);
    let weights = weights.layout(Layout::Burn).allow_missing("**").unwrap();
    let weights = weights.allow_unexpected("**").unwrap();
    let meta = Meta::build_for(&device(), |device| LinearConfig::new(2, 3).init(device)).unwrap();
    let problems = refused(meta.load(&device(), &weights));
    let [problem @ Problem::NothingMatched { .. }] = &problems[..] else {
        panic!("{problems:?}");
    };
    let text = problem.to_string();
    assert!(
        text.contains("weight") && text.contains("model.decoder.table"),
        "{text}"
    );
}

#[test]
fn case_08_the_missing_name_of_a_tie_is_filled_from_the_other() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Tied {
        first: Param<Tensor<2>>,
        second: Param<Tensor<2>>,
    }
    let build = |device: &Device| {
        let first = Param::from_tensor(Tensor::<2>::zeros([2, 2], device));
        Tied {
            second: first.clone(),
            first,
        }
    };
    let (_folder, path) = place("tied.safetensors");
    let weights = file(&path, vec![f32s("second", &[2, 2], 3.0)]).layout(Layout::Burn);
    let meta = Meta::build_for(&device(), build).unwrap();
    let loaded = meta.load(&device(), &weights).unwrap();
    assert_eq!(loaded.module.first.id, loaded.module.second.id);
    assert_eq!(
        loaded.module.first.val().into_data(),
        loaded.module.second.val().into_data()
    );
    assert_eq!(loaded.report.ties.len(), 1);
    assert_eq!(loaded.report.ties[0].path, "first");
    // Saved once, with the other name beside it; equal values under both names are as good.
    let (_folder, path) = place("again.safetensors");
    let written = save(&loaded.module, &path, &SaveOptions::new()).unwrap();
    let again = Weights::open(&written.path).unwrap();
    assert_eq!(again.checkpoint().names().collect::<Vec<_>>(), ["first"]);
    assert_eq!(
        again.checkpoint().ties().collect::<Vec<_>>(),
        [("second", "first")]
    );
    assert!(meta.load(&device(), &again).is_ok());
    let (_folder, path) = place("both.safetensors");
    let both = vec![f32s("first", &[2, 2], 3.0), f32s("second", &[2, 2], 3.0)];
    assert!(
        meta.load(&device(), &file(&path, both).layout(Layout::Burn))
            .is_ok()
    );
    let (_folder, path) = place("differ.safetensors");
    let differ = vec![f32s("first", &[2, 2], 3.0), f32s("second", &[2, 2], 4.0)];
    let problems = refused(meta.load(&device(), &file(&path, differ).layout(Layout::Burn)));
    assert!(
        matches!(&problems[..], [Problem::TieDiffers { .. }]),
        "{problems:?}"
    );
}

#[test]
fn case_10_the_dtype_of_a_file_does_not_become_the_modules() {
    let (_folder, path) = place("half.safetensors");
    let halves = |name: &str, count: usize| {
        let ones = vec![burn::tensor::f16::from_f32(1.5); count];
        let shape = if count == 3 { vec![3] } else { vec![2, 3] };
        Outgoing::new(name, DType::F16, shape, move || {
            Ok(burn::tensor::Bytes::from_elems(ones.clone()))
        })
    };
    let weights = file(&path, vec![halves("weight", 6), halves("bias", 3)]).layout(Layout::Burn);
    let device = Device::flex();
    let build = |device: &Device| LinearConfig::new(2, 3).init(device);
    let meta = Meta::build_for(&device, build).unwrap();
    let loaded = meta.load(&device, &weights).unwrap();
    assert_eq!(loaded.module.weight.val().dtype(), DType::F32);
    assert_eq!(loaded.report.casts.len(), 2);
    assert!(!loaded.report.casts[0].narrows());
    let kept = weights.clone().dtypes(DTypePolicy::File);
    let loaded = meta.load(&device, &kept).unwrap();
    assert_eq!(loaded.module.weight.val().dtype(), DType::F16);
    assert!(loaded.report.casts.is_empty());
    let asked = weights.dtypes(DTypePolicy::Float(FloatDType::BF16));
    let loaded = meta.load(&device, &asked).unwrap();
    assert_eq!(loaded.module.weight.val().dtype(), DType::BF16);
    assert!(loaded.report.casts[0].narrows());
    assert!(
        loaded.report.to_string().contains("narrowed 2"),
        "{}",
        loaded.report
    );
}

#[test]
fn case_19_a_load_that_fails_leaves_the_module_as_it_was() {
    let mut module = net(1);
    let before = values(&module);
    let ids: Vec<_> = inventory(&module)
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    let (_folder, path) = place("bad.safetensors");
    // By its headers.
    let bad = file(&path, vec![f32s("hidden.weight", &[6, 6], 0.0)]).layout(Layout::Burn);
    let problems = refused(load(&mut module, &bad.allow_missing("**").unwrap()));
    assert!(
        matches!(&problems[..], [Problem::FileShape { .. }]),
        "{problems:?}"
    );
    // By its values, in the middle.
    let (_folder, path) = place("nan.safetensors");
    let nan = Outgoing::new("output.bias", DType::F32, [2], || {
        Ok(burn::tensor::Bytes::from_elems(vec![1.0_f32, f32::NAN]))
    });
    let weights = file(&path, vec![f32s("hidden.weight", &[4, 6], 0.0), nan]);
    let weights = weights.layout(Layout::Burn).allow_missing("**").unwrap();
    let error = load(&mut module, &weights.clone().require_finite(true)).unwrap_err();
    assert!(
        matches!(&error, MaterializeError::NotFinite { path, index: 1, .. } if path == "output.bias"),
        "{error}"
    );
    // By a device that the dtype is not for, or a file that became shorter.
    let copied = weights.copy(true);
    let bytes = std::fs::read(&path).unwrap();
    std::fs::write(&path, &bytes[..bytes.len() - 90]).unwrap();
    let error = load(&mut module, &copied).unwrap_err();
    assert!(matches!(error, MaterializeError::Checkpoint(_)), "{error}");
    assert_eq!(values(&module), before);
    let after: Vec<_> = inventory(&module)
        .into_iter()
        .map(|entry| entry.id)
        .collect();
    assert_eq!(ids, after);
}

#[test]
fn kinds_are_not_converted_and_ints_are_not_cut() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Table {
        steps: Param<Tensor<1, Int>>,
    }
    let meta = Meta::build_for(&Device::flex(), |device| Table {
        steps: Param::initialized(
            burn::module::ParamId::new(),
            Tensor::<1, Int>::zeros([2], (device, DType::I8)),
        ),
    });
    let meta = meta.unwrap();
    let (_folder, path) = place("float.safetensors");
    let problems = refused(meta.load(
        &Device::flex(),
        &file(&path, vec![f32s("steps", &[2], 0.0)]),
    ));
    assert!(
        matches!(&problems[..], [Problem::FileKind { .. }]),
        "{problems:?}"
    );
    let ints = |last: i64| {
        vec![Outgoing::new("steps", DType::I64, [2], move || {
            Ok(burn::tensor::Bytes::from_elems(vec![-128_i64, last]))
        })]
    };
    let (_folder, path) = place("fits.safetensors");
    let loaded = meta.load(&Device::flex(), &file(&path, ints(127))).unwrap();
    assert_eq!(
        loaded
            .module
            .steps
            .val()
            .into_data()
            .try_to_vec::<i8>()
            .unwrap(),
        [-128, 127]
    );
    let (_folder, path) = place("large.safetensors");
    let error = meta
        .load(&Device::flex(), &file(&path, ints(128)))
        .unwrap_err();
    assert!(
        matches!(
            &error,
            MaterializeError::TooLargeFor {
                value: 128,
                dtype: DType::I8,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn on_flex_tensors_are_views_of_the_file_until_they_are_written_to() {
    let (_folder, path) = place("linear.safetensors");
    let weights = file(
        &path,
        vec![f32s("weight", &[3, 2], 0.0), f32s("bias", &[3], 9.0)],
    );
    let meta = Meta::build_for(&Device::flex(), |device| {
        LinearConfig::new(2, 3).init(device)
    });
    let meta = meta.unwrap();
    let weights = weights.layout(Layout::PyTorch);
    let loaded = meta.load(&Device::flex(), &weights).unwrap();
    assert!(loaded.report.copies.is_empty(), "{}", loaded.report);
    let linear = loaded.module;
    let expected = [0.0, 2.0, 4.0, 1.0, 3.0, 5.0];
    assert_eq!(
        linear.weight.val().into_data().try_to_vec::<f32>().unwrap(),
        expected
    );
    // Writing in place writes into a copy: the file and a second load see nothing of it.
    let written = linear.bias.unwrap().val().add_scalar(1.0);
    assert_eq!(
        written.into_data().try_to_vec::<f32>().unwrap(),
        [10.0, 11.0, 12.0]
    );
    let again: Linear = meta.load(&Device::flex(), &weights).unwrap().module;
    assert_eq!(
        again
            .bias
            .unwrap()
            .val()
            .into_data()
            .try_to_vec::<f32>()
            .unwrap(),
        [9.0, 10.0, 11.0]
    );
}

#[test]
fn the_layout_is_told_by_shapes_and_refused_where_nothing_tells() {
    let build = |n: usize| move |device: &Device| LinearConfig::new(n, 3).init(device);
    let report = |n: usize, shape: [usize; 2]| -> LoadReport {
        let (_folder, path) = place("layout.safetensors");
        let weights = file(
            &path,
            vec![f32s("weight", &shape, 0.0), f32s("bias", &[3], 0.0)],
        );
        let meta = Meta::build_for(&Device::flex(), build(n)).unwrap();
        meta.preview_load(&Device::flex(), &weights).unwrap()
    };
    assert_eq!(report(2, [2, 3]).layout, Layout::Burn);
    assert_eq!(report(2, [3, 2]).layout, Layout::PyTorch);
    let square = report(3, [3, 3]);
    assert_eq!(square.layout, Layout::Auto);
    assert_eq!(square.problems, [Problem::LayoutUnknown]);
}

#[test]
fn what_has_no_value_is_not_saved() {
    let (_folder, path) = place("lazy.safetensors");
    let linear = LinearConfig::new(2, 3).init(&device());
    let problems = refused(save(&linear, &path, &SaveOptions::new()));
    assert!(
        matches!(
            &problems[..],
            [
                Problem::NothingToSave {
                    state: State::Lazy,
                    ..
                },
                _
            ]
        ),
        "{problems:?}"
    );
    assert!(!path.exists());
}

#[test]
fn rules_patterns_and_filters_are_checked() {
    let (_folder, path) = place("linear.safetensors");
    let tensors = vec![
        f32s("a.weight", &[2, 3], 0.0),
        f32s("b.weight", &[2, 3], 0.0),
    ];
    let weights = file(&path, tensors).layout(Layout::Burn);
    let error = weights.clone().rename("(", "").unwrap_err();
    assert!(matches!(error, MaterializeError::Rename { .. }), "{error}");
    let error = weights.clone().allow_missing("a**").unwrap_err();
    assert!(matches!(error, MaterializeError::Pattern(_)), "{error}");
    let meta = Meta::build_for(&device(), |device| {
        LinearConfig::new(2, 3).with_bias(false).init(device)
    });
    let meta = meta.unwrap();
    let together = weights.clone().rename("^[ab].", "").unwrap();
    let problems = refused(meta.load(&device(), &together));
    assert!(
        matches!(&problems[0], Problem::RenamedTogether { .. }),
        "{problems:?}"
    );
    let one = weights.except("b").unwrap().strip_prefix("a.");
    assert_eq!(
        meta.load(&device(), &one.clone())
            .unwrap()
            .report
            .loaded
            .len(),
        1
    );
    let problems = refused(meta.load(&device(), &one.only("nothing").unwrap()));
    assert!(
        matches!(&problems[..], [Problem::NothingMatched { .. }]),
        "{problems:?}"
    );
}

#[test]
fn foreign_dtypes_are_an_error_only_when_wanted() {
    let (_folder, path) = place("fp8.safetensors");
    let header = r#"{"weight":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]},"scale":{"dtype":"F8_E4M3","shape":[8],"data_offsets":[24,32]}}"#;
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header.as_bytes());
    bytes.extend([0; 32]);
    std::fs::write(&path, bytes).unwrap();
    let weights = Weights::open(&path).unwrap().layout(Layout::Burn);
    let build = |device: &Device| LinearConfig::new(2, 3).with_bias(false).init(device);
    let meta = Meta::build_for(&device(), build).unwrap();
    assert!(
        meta.load(
            &device(),
            &weights.clone().allow_unexpected("scale").unwrap()
        )
        .is_ok()
    );
    let wanted = weights.rename("scale", "bias").unwrap();
    let meta = Meta::build_for(&device(), |device| LinearConfig::new(2, 8).init(device)).unwrap();
    let wanted = wanted.only("bias").unwrap();
    let problems = refused(meta.load(&device(), &wanted));
    assert!(
        matches!(&problems[..], [Problem::ForeignDType { dtype, .. }] if dtype == "F8_E4M3"),
        "{problems:?}"
    );
}
