//! Forward passes: shapes, kinds of inputs and outputs, operations and whose they are.

use burn::module::Module;
use burn::nn::attention::{MhaInput, MultiHeadAttentionConfig};
use burn::nn::{LinearConfig, LinearLayout, LstmConfig};
use burn::tensor::{Bool, DType, Device, Int, Tensor};
use burn_materialize::{Meta, OperationKind, Phase, State, Trace, TraceOptions, inventory, trace};

use crate::models::{Cnn, Mlp, Tied};

fn shapes(trace: &Trace) -> Vec<(&str, &[usize], DType)> {
    let outputs = trace.outputs.iter();
    outputs
        .map(|output| (output.name.as_str(), output.shape.as_slice(), output.dtype))
        .collect()
}

/// Names of operations, each with its module.
fn operations(trace: &Trace) -> Vec<(&str, &str)> {
    let operations = trace.operations();
    operations
        .map(|traced| (traced.operation.name.as_ref(), traced.path))
        .collect()
}

#[test]
fn a_forward_pass_gives_shapes_operations_and_their_modules() {
    let meta = Meta::build(Mlp::new).unwrap();
    let before = format!("{:?}", meta.inventory());
    let trace = meta
        .trace(|mlp, device| mlp.forward(Tensor::zeros([32, 64], device)))
        .unwrap();
    assert_eq!(shapes(&trace), [("", [32, 10].as_slice(), DType::F32)]);
    let named: Vec<_> = operations(&trace)
        .into_iter()
        .filter(|(name, _)| !["zeros", "reshape"].contains(name))
        .collect();
    assert_eq!(
        named,
        [
            ("matmul", "hidden"),
            ("add", "hidden"),
            // Reads no parameter: it belongs to what came before.
            ("relu", "hidden"),
            ("matmul", "output"),
            ("add", "output"),
            ("mul", ""),
        ]
    );
    assert!(
        trace
            .operations()
            .all(|traced| traced.phase == Phase::Forward)
    );
    assert_eq!(trace.cost().products, 2 * 32 * (64 * 128 + 128 * 10));
    // Biases, the activation, the scale.
    let more = 32 * (128 + 10) + 32 * 128 + 32 * 10;
    assert_eq!(trace.cost().flops, trace.cost().products + more);
    // The input is made; each operation reads and writes.
    let [input, hidden, output] = [32 * 64, 32 * 128, 32 * 10];
    let moved = input
        + (input + 64 * 128 + hidden)
        + (2 * hidden + 128)
        + 2 * hidden
        + (hidden + 128 * 10 + output)
        + (2 * output + 10)
        + (2 * output + 10);
    assert_eq!(trace.cost().moved, 4 * moved);

    // It stays as it was, and can be traced again.
    assert_eq!(format!("{:?}", meta.inventory()), before);
    let again = meta
        .trace(|mlp, device| mlp.forward(Tensor::zeros([32, 64], device)))
        .unwrap();
    assert_eq!(trace, again);
    meta.materialize(&Device::flex()).unwrap();
}

#[test]
fn costs_are_added_up_by_module() {
    let meta = Meta::build(Mlp::new).unwrap();
    let trace = meta
        .trace(|mlp, device| mlp.forward(Tensor::zeros([32, 64], device)))
        .unwrap();
    let modules = trace.modules();
    let paths: Vec<_> = modules.iter().map(|module| module.path.as_str()).collect();
    assert_eq!(paths, ["", "hidden", "output"]);
    assert_eq!(modules[1].forward.products, 2 * 32 * 64 * 128);
    // The product, the sum with the bias, the activation.
    assert_eq!(modules[1].activations, 4 * 3 * 32 * 128);
    let sum: u64 = modules.iter().map(|module| module.forward.flops).sum();
    assert_eq!(sum, trace.cost().flops);
    let count: usize = modules.iter().map(|module| module.operations).sum();
    assert_eq!(count, trace.operations().len());
    assert_eq!(count, trace.memory.during.len());
}

#[test]
fn inputs_and_outputs_may_be_of_any_kind_and_number() {
    let meta = Meta::build(|device| MultiHeadAttentionConfig::new(16, 4).init(device)).unwrap();
    let trace = meta
        .trace(|attention, device| {
            let query = Tensor::<3>::zeros([2, 5, 16], device);
            let padded = Tensor::<2, Bool>::full([2, 5], false, device);
            let input = MhaInput::self_attn(query).mask_pad(padded.clone());
            (attention.forward(input), [padded], None::<Tensor<1>>)
        })
        .unwrap();
    let names: Vec<_> = shapes(&trace)
        .into_iter()
        .map(|(name, shape, _)| (name, shape))
        .collect();
    assert_eq!(
        names,
        [
            ("0.weights", [2, 4, 5, 5].as_slice()),
            ("0.context", &[2, 5, 16]),
            ("1.0", &[2, 5]),
        ]
    );
    assert!(trace.outputs[2].dtype.is_bool());

    let meta = Meta::build(|device| LstmConfig::new(3, 7, true).init(device)).unwrap();
    let trace = meta
        .trace(|lstm, device| lstm.forward(Tensor::zeros([2, 4, 3], device), None))
        .unwrap();
    let names: Vec<_> = trace
        .outputs
        .iter()
        .map(|output| output.name.as_str())
        .collect();
    assert_eq!(names, ["0", "1.cell", "1.hidden"]);
}

#[test]
fn data_may_be_given_as_input() {
    let meta = Meta::build(Tied::new).unwrap();
    let trace = meta
        .trace(|tied, device| tied.forward(Tensor::<2, Int>::from_ints([[1, 2, 3]], device)))
        .unwrap();
    assert_eq!(trace.outputs[0].shape, [1, 3, 50]);
}

#[test]
fn a_tie_is_one_tensor_and_belongs_to_its_first_path() {
    let meta = Meta::build(Tied::new).unwrap();
    let trace = meta
        .trace(|tied, device| tied.forward(Tensor::<2, Int>::zeros([2, 3], device)))
        .unwrap();
    assert_eq!(trace.memory.parameters, 4 * (50 * 16 + 2 * 16));
    let score = trace
        .operations()
        .find(|traced| traced.operation.name == "matmul");
    assert_eq!(score.unwrap().path, "embed");
    let ids = trace.operations().filter(|traced| traced.path == "embed");
    let tables: std::collections::HashSet<u32> = ids
        .flat_map(|traced| traced.operation.inputs.clone())
        .filter(|&input| trace.tensors[input as usize].shape == [50, 16])
        .collect();
    assert_eq!(tables.len(), 1);
}

#[test]
fn a_module_that_is_real_is_traced_as_well_and_not_touched() {
    let device = Device::flex();
    let lazy = Mlp::new(&device);
    let meta = Meta::build(Mlp::new).unwrap();
    let real = meta.materialize(&device).unwrap();
    let trainable = real.clone().train();
    let expected = meta
        .trace(|mlp, device| mlp.forward(Tensor::zeros([4, 64], device)))
        .unwrap();
    for module in [&lazy, &real, &trainable] {
        let states: Vec<_> = inventory(module)
            .into_iter()
            .map(|entry| entry.state)
            .collect();
        let traced = trace(module, TraceOptions::default(), |mlp, device| {
            mlp.forward(Tensor::zeros([4, 64], device))
        });
        assert_eq!(traced.unwrap(), expected);
        let after: Vec<_> = inventory(module)
            .into_iter()
            .map(|entry| entry.state)
            .collect();
        assert_eq!(after, states);
    }
    assert!(
        inventory(&lazy)
            .iter()
            .any(|entry| entry.state == State::Lazy)
    );
}

#[test]
fn a_lazy_layer_whose_initialiser_transposes_has_its_own_shape() {
    let config = LinearConfig::new(6, 3).with_layout(LinearLayout::Col);
    let lazy = config.init(&Device::flex());
    let trace = trace(&lazy, TraceOptions::default(), |linear, device| {
        linear.forward(Tensor::<2>::zeros([2, 6], device))
    });
    assert_eq!(trace.unwrap().outputs[0].shape, [2, 3]);
    assert!(!lazy.weight.is_initialized());
}

#[test]
fn running_states_and_dropout_do_nothing_in_inference() {
    let meta = Meta::build(Cnn::new).unwrap();
    let forward = |cnn: &Cnn, device: &Device| cnn.forward(Tensor::zeros([2, 3, 6, 6], device));
    let trace = meta.trace(forward).unwrap();
    assert_eq!(trace.outputs[0].shape, [2, 5]);
    let kinds: Vec<_> = trace
        .operations()
        .map(|traced| traced.operation.kind)
        .collect();
    assert!(kinds.contains(&OperationKind::Convolution));
    let random = trace
        .operations()
        .any(|traced| traced.operation.name == "random");
    assert!(!random);
    let norm = trace
        .modules()
        .into_iter()
        .find(|module| module.path == "norm")
        .unwrap();
    assert!(norm.forward.flops > 0);
    assert_eq!(trace.memory.buffers, 4 * 2 * 8);
}

#[test]
fn a_trace_can_be_written_and_read() {
    let meta = Meta::build(Cnn::new).unwrap();
    let trace = meta
        .trace(|cnn, device| cnn.forward(Tensor::zeros([2, 3, 6, 6], device)))
        .unwrap();
    let text = serde_json::to_string(&trace).unwrap();
    assert_eq!(serde_json::from_str::<Trace>(&text).unwrap(), trace);
}

#[test]
fn a_trace_shows_as_a_table() {
    let meta = Meta::build(Mlp::new).unwrap();
    let trace = meta
        .trace(|mlp, device| mlp.forward(Tensor::zeros([32, 64], device)))
        .unwrap();
    let shown = trace.to_string();
    for part in [
        "hidden",
        "output: [32, 10] f32",
        "615.0 k FLOPs",
        "parameters 37.5 KiB",
    ] {
        assert!(shown.contains(part), "{part}:\n{shown}");
    }
}
