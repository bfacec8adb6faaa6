//! Failures that users of such systems reported; each must not happen here.

mod common;

use burn::module::{Initializer, Module, Param};
use burn::nn::{
    BatchNorm, BatchNormConfig, Embedding, EmbeddingConfig, Linear, LinearConfig, LinearLayout,
    PositionalEncoding, PositionalEncodingConfig, RotaryEncoding, RotaryEncodingConfig,
    loss::{CrossEntropyLoss, CrossEntropyLossConfig},
};
use burn::optim::GradientsParams;
use burn::tensor::{Bool, Device, Int, Tensor};
use burn_materialize::{Materialize, Meta, Realize, ResetParameters, State, Summary, inventory};
use common::{data, host_values, kinds, values};
use device_under_test::device;

/// Every kind of plain buffer.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Buffers {
    rotary: RotaryEncoding,
    positions: PositionalEncoding,
    mask: Tensor<2, Bool>,
    ids: Tensor<1, Int>,
    loss: CrossEntropyLoss,
    scale: Tensor<1>,
}

impl Buffers {
    fn new(device: &Device) -> Self {
        Self {
            rotary: RotaryEncodingConfig::new(64, 32).init(device),
            positions: PositionalEncodingConfig::new(16)
                .with_max_sequence_size(50)
                .init(device),
            mask: Tensor::<2>::ones([8, 8], device).triu(1).greater_elem(0.5),
            ids: Tensor::arange(0..50, device),
            loss: CrossEntropyLossConfig::new()
                .with_weights(Some(vec![0.1, 0.7, 0.2]))
                .init(device),
            scale: Tensor::from_floats([0.5, 0.25], device),
        }
    }
}

#[test]
fn case_01_every_plain_buffer_equals_the_eager_one_bit_for_bit() {
    // On every device the bits of flex: what others compute is rounded otherwise.
    let eager = host_values(&Buffers::new(&Device::flex()));
    assert_eq!(eager.len(), 7);
    let device = device();
    let open = Meta::build(Buffers::new).unwrap();
    assert_eq!(host_values(&open.materialize(&device).unwrap()), eager);
    let told = Meta::build_for(&device, Buffers::new).unwrap();
    assert_eq!(host_values(&told.materialize(&device).unwrap()), eager);
}

/// A module with every role: parameters, running states, a buffer.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    input: Linear,
    norm: BatchNorm,
    output: Linear,
    mask: Tensor<1>,
}

impl Net {
    fn new(device: &Device) -> Self {
        Self {
            input: LinearConfig::new(12, 20).init(device),
            norm: BatchNormConfig::new(20).init(device),
            output: LinearConfig::new(20, 3)
                .with_layout(LinearLayout::Col)
                .init(device),
            mask: Tensor::arange(0..3, device).float().add_scalar(1.0).recip(),
        }
    }

    fn forward(&self, x: Tensor<2>) -> Tensor<2> {
        let hidden = self.norm.forward::<2>(self.input.forward(x)).tanh();
        self.output.forward(hidden) * self.mask.clone().unsqueeze()
    }
}

#[test]
fn case_03_what_is_real_stays_as_it_is() {
    let device = device();
    let meta = Meta::build(Net::new).unwrap().with_seed(1);
    // Half real: drawn with one seed, then the rest with another.
    let half = meta
        .materialize_where(&device, |path| path.starts_with("input"))
        .unwrap();
    let first = values(&meta.materialize(&device).unwrap());
    let half = half.with_seed(2);
    let whole = values(&half.materialize(&device).unwrap());
    assert_eq!(whole["input.weight"], first["input.weight"]);
    assert_ne!(whole["output.weight"], first["output.weight"]);

    // Materialising again changes nothing.
    let all = half.materialize_where(&device, |_| true).unwrap();
    let again = all.clone().with_seed(3).materialize(&device).unwrap();
    assert_eq!(values(&again), whole);
    let realized = again.realize(&device, 4).unwrap();
    assert_eq!(values(&realized.module), whole);
}

#[test]
fn case_04_a_layer_that_was_never_recorded_resets_to_its_documented_default() {
    let device = device();
    let mut net = Net::new(&device);
    net.norm.gamma = net.norm.gamma.map(|gamma| gamma.mul_scalar(7.0));
    let before = values(&net);
    let defaults = burn_materialize::reset_to_defaults(&mut net, 5).unwrap();
    assert!(
        defaults.contains(&"input.weight".to_owned()),
        "{defaults:?}"
    );
    let after = values(&net);
    assert_ne!(after["input.weight"], before["input.weight"]);
    assert_eq!(after["norm.gamma"], data(Tensor::<1>::ones([20], &device)));
    // No layer speaks for a plain buffer: it keeps what it holds.
    assert_eq!(after["mask"], before["mask"]);
    let bound = 1.0 / (12f32).sqrt();
    let largest = after["input.weight"]
        .iter::<f32>()
        .map(f32::abs)
        .fold(0.0, f32::max);
    assert!((0.9 * bound..=bound).contains(&largest), "{largest}");
}

#[test]
fn case_05_a_forward_before_materialising_never_computes() {
    // `Meta` has no forward (a compile-fail test holds that). A module smuggled out of its scope
    // panics instead of computing.
    let mut smuggled = None;
    let _meta = Meta::build(|device| {
        let net = Net::new(device);
        smuggled = Some(net.clone());
        net
    });
    let net = smuggled.unwrap();
    let forward =
        std::panic::AssertUnwindSafe(|| net.forward(Tensor::ones([2, 12], &device())).into_data());
    assert!(std::panic::catch_unwind(forward).is_err());
}

/// Embedding and head are one parameter.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Tied {
    embedding: Embedding,
    body: Linear,
    head: Head,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Head {
    weight: Param<Tensor<2>>,
}

impl Tied {
    fn new(device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(11, 6).init(device);
        let head = Head {
            weight: embedding.weight.clone(),
        };
        Self {
            embedding,
            body: LinearConfig::new(6, 6).init(device),
            head,
        }
    }

    fn loss(&self) -> Tensor<1> {
        let device = self.embedding.weight.device();
        let tokens = Tensor::<2, Int>::from_ints([[1, 2, 3], [4, 5, 10]], &device);
        let hidden = self.body.forward(self.embedding.forward(tokens)).tanh();
        let logits = hidden.matmul(self.head.weight.val().transpose().unsqueeze());
        logits.powi_scalar(2).mean()
    }
}

#[test]
fn case_07_a_tie_survives_build_and_materialise_and_is_one_leaf() {
    let device = device();
    let meta = Meta::build_for(&device, Tied::new).unwrap();
    assert_eq!(meta.summary().parameters(), 11 * 6 + 6 * 6 + 6);
    let realized = meta.realize(&device, 0).unwrap();
    let model = realized.module;
    assert_eq!(model.embedding.weight.id, model.head.weight.id);
    assert_eq!(Summary::of(&model).parameters(), 11 * 6 + 6 * 6 + 6);

    // One leaf: the gradient is the sum over both uses, as it is with one shared tensor.
    let shared = model.embedding.weight.val();
    let mut grads = model.loss().backward();
    let gradient = shared.grad_remove(&mut grads).unwrap();
    let by_hand = {
        let a = Tensor::from_inner(shared.clone().inner()).require_grad();
        let b = Tensor::from_inner(shared.inner()).require_grad();
        let (mut left, mut right) = (model.clone(), model.clone());
        left.embedding.weight = left.embedding.weight.map(|_| a.clone());
        left.head.weight = left.head.weight.map(|_| b.clone());
        right.body = left.body.clone();
        let mut grads = left.loss().backward();
        a.grad_remove(&mut grads).unwrap() + b.grad_remove(&mut grads).unwrap()
    };
    gradient.into_data().assert_approx_eq::<f32>(
        &by_hand.into_data(),
        burn::tensor::Tolerance::absolute(1e-6),
    );
    let grads = GradientsParams::from_grads(model.loss().backward(), &model);
    assert_eq!(grads.len(), 3);
}

#[test]
fn a_tie_is_materialised_whole() {
    let device = device();
    let meta = Meta::build(Tied::new).unwrap();
    let part = meta
        .materialize_where(&device, |path| path == "head.weight")
        .unwrap();
    let state = |path: &str| {
        part.inventory()
            .iter()
            .find(|e| e.path == path)
            .unwrap()
            .state
    };
    assert_eq!(state("embedding.weight"), State::Real);
    assert_eq!(state("body.weight"), State::Meta);
    let model = part.materialize(&device).unwrap();
    assert_eq!(
        values(&model)["embedding.weight"],
        values(&model)["head.weight"]
    );
}

#[test]
fn case_11_clones_taken_before_equal_clones_taken_after() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Twins {
        first: Linear,
        second: Linear,
    }
    let device = device();
    let meta = Meta::build(|device| {
        let first = LinearConfig::new(7, 5).init(device);
        let second = first.clone();
        Twins { first, second }
    })
    .unwrap();
    let early = meta.clone();
    let model = meta.materialize(&device).unwrap();
    let late = meta.clone();
    let all = values(&model);
    assert_eq!(all["first.weight"], all["second.weight"]);
    assert_eq!(values(&early.materialize(&device).unwrap()), all);
    assert_eq!(values(&late.materialize(&device).unwrap()), all);
}

#[test]
fn case_12_looking_at_a_module_allocates_nothing() {
    // 4 TB: anything that allocated it would not come back.
    let config = LinearConfig::new(1_000_000, 1_000_000);
    let lazy = config.init(&device());
    let meta = Meta::build(|device| config.init(device)).unwrap();
    for summary in [Summary::of(&lazy), meta.summary()] {
        assert_eq!(summary.parameters(), 1_000_001_000_000);
        assert_eq!(summary.bytes(), 4_000_004_000_000);
        assert_eq!(summary.allocated_bytes(), 0);
        assert!(
            summary.to_string().contains("1,000,001,000,000 parameters"),
            "{summary}"
        );
    }
    assert!(format!("{meta:?} {:?}", meta.inventory()).contains("weight"));
    assert!(
        inventory(&lazy)
            .iter()
            .all(|entry| entry.state == State::Lazy)
    );
    assert!(!lazy.weight.is_initialized());
}

#[test]
fn case_13_nothing_is_allocated_anywhere_but_on_the_target() {
    // A lazy module built elsewhere is recorded, not initialised there: its device here is the
    // meta one of a closed scope, on which any initialiser would panic.
    let elsewhere = Device::capture();
    let device = device();
    let lazy = Net {
        mask: Tensor::ones([3], &device),
        ..lazy_net(&elsewhere, &device)
    };
    let realized = lazy.realize(&device, 3).unwrap();
    assert!(
        realized.report.shared_lazy.is_empty(),
        "{}",
        realized.report
    );
    let entries = inventory(&realized.module);
    assert!(
        entries
            .iter()
            .all(|entry| entry.state == State::Real && entry.device == device)
    );
}

/// A net whose linear parameters are lazy on `elsewhere`; the rest is on `device`.
fn lazy_net(elsewhere: &Device, device: &Device) -> Net {
    let mut net = Net::new(device);
    net.input = LinearConfig::new(12, 20).init(elsewhere);
    net.output = LinearConfig::new(20, 3)
        .with_layout(LinearLayout::Col)
        .init(elsewhere);
    net
}

#[test]
fn case_14_every_trainable_parameter_is_a_leaf_and_gets_a_gradient() {
    let device = device();
    let meta = Meta::build_for(&device, Net::new).unwrap();
    for model in [
        (&meta).realize(&device, 0).unwrap().module,
        meta.materialize(&device.clone().autodiff()).unwrap(),
        lazy_net(&device, &device)
            .realize(&device, 0)
            .unwrap()
            .module,
        lazy_net(&device.clone().autodiff(), &device)
            .realize(&device, 0)
            .unwrap()
            .module,
    ] {
        let x = Tensor::<2>::random([9, 12], burn::tensor::Distribution::Default, &device);
        let loss = model.forward(x.autodiff()).powi_scalar(2).mean();
        let grads = GradientsParams::from_grads(loss.backward(), &model);
        assert_eq!(grads.len(), 6);
        assert!(grads.get::<2>(model.output.weight.id).is_some());
        assert_eq!(
            grads.get::<2>(model.output.weight.id).unwrap().dims(),
            [20, 3]
        );
    }
}

#[test]
fn case_14_holds_for_lora_as_well() {
    use burn::module::Lora;
    let device = device();
    let meta = Meta::build_for(&device, |device| LinearConfig::new(12, 8).init(device)).unwrap();
    let meta = meta
        .map(|linear, _| linear.apply_lora(Lora::new(2, 4.0)))
        .unwrap();
    let paths: Vec<String> = meta
        .inventory()
        .into_iter()
        .map(|entry| entry.path)
        .collect();
    assert!(paths.contains(&"weight.lora.a".to_owned()), "{paths:?}");
    let model = meta.realize(&device, 0).unwrap().module;
    let loss = model
        .forward(Tensor::<2>::ones([3, 12], &device.clone().autodiff()))
        .sum();
    let grads = GradientsParams::from_grads(loss.backward(), &model);
    assert!(grads.len() >= 2, "{}", grads.len());
}

#[test]
fn a_recorded_module_equals_the_eager_one_in_structure() {
    let device = device();
    let meta = Meta::build_for(&device, Net::new)
        .unwrap()
        .materialize(&device)
        .unwrap();
    let eager = Net::new(&device);
    // A lazy parameter knows neither its dtype nor, in column layout, its shape: initialise them.
    values(&eager);
    assert_eq!(kinds(&meta), kinds(&eager));
}

#[test]
fn a_declared_initialiser_replaces_the_recorded_one() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Declared {
        #[reset(initializer = Initializer::Constant { value: 2.0 })]
        linear: Linear,
        #[reset(with = counting)]
        scale: Param<Tensor<1>>,
        norm: BatchNorm,
    }
    fn counting(shape: burn::tensor::Shape, device: &Device) -> Tensor<1> {
        Tensor::arange(0..shape[0] as i64, device).float()
    }
    let device = device();
    let meta = Meta::build_for(&device, |device| Declared {
        linear: LinearConfig::new(3, 2).init(device),
        scale: Param::from_tensor(Tensor::ones([4], device)),
        norm: BatchNormConfig::new(2).init(device),
    })
    .unwrap();
    let all = values(&meta.materialize(&device).unwrap());
    assert_eq!(
        all["linear.weight"],
        data(Tensor::<2>::full([3, 2], 2.0, &device))
    );
    assert_eq!(
        all["linear.bias"],
        data(Tensor::<1>::full([2], 2.0, &device))
    );
    assert_eq!(
        all["scale"],
        data(Tensor::<1>::from_floats([0.0, 1.0, 2.0, 3.0], &device))
    );
    assert_eq!(
        all["norm.running_var"],
        data(Tensor::<1>::ones([2], &device))
    );
}

#[test]
fn frozen_parameters_stay_frozen() {
    let device = device();
    let meta = Meta::build_for(&device, Net::new).unwrap();
    let frozen = meta.map(|mut net, _| {
        net.input = net.input.no_grad();
        net
    });
    let model = frozen.unwrap().realize(&device, 0).unwrap().module;
    assert!(!model.input.weight.is_require_grad());
    assert!(model.output.weight.is_require_grad());
}
