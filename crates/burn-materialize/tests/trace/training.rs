//! Training passes: what the backward pass does, whose it is, what is kept for it.

use std::collections::HashSet;

use burn::module::{Lora, Module};
use burn::nn::loss::CrossEntropyLossConfig;
use burn::tensor::{Device, GradientCheckpointingStrategy, Int, Tensor};
use burn_materialize::{Meta, Phase, Trace, TraceOptions};

use crate::models::{Cnn, Mlp, Tied};

fn loss(mlp: &Mlp, device: &Device) -> Tensor<1> {
    let logits = mlp.forward(Tensor::zeros([32, 64], device));
    let labels = Tensor::<1, Int>::zeros([32], device);
    CrossEntropyLossConfig::new()
        .init(device)
        .forward(logits, labels)
}

fn backward(trace: &Trace) -> Vec<(&str, &str)> {
    let operations = trace.operations();
    operations
        .filter(|traced| traced.phase == Phase::Backward)
        .map(|traced| (traced.operation.name.as_ref(), traced.path))
        .collect()
}

#[test]
fn a_training_pass_has_two_phases_and_gradients() {
    let meta = Meta::build(Mlp::new).unwrap();
    let trace = meta.trace_training(loss).unwrap();
    assert_eq!(trace.outputs[0].shape, [1]);
    let forward = 2 * 32 * (64 * 128 + 128 * 10);
    assert_eq!(trace.cost_of(Phase::Forward).products, forward);
    // The input needs no gradient.
    let backward_products = 2 * 32 * (64 * 128 + 2 * 128 * 10);
    assert_eq!(trace.cost_of(Phase::Backward).products, backward_products);
    let owners = backward(&trace);
    let products = owners.iter().filter(|(name, _)| *name == "matmul");
    let products: Vec<_> = products.map(|(_, path)| *path).collect();
    assert_eq!(products, ["output", "output", "hidden"]);
    assert!(owners.contains(&("relu_backward", "hidden")), "{owners:?}");
    assert!(owners.contains(&("sum_dim", "hidden")), "{owners:?}");
    assert_eq!(trace.memory.gradients, trace.memory.parameters);
    // At least the inputs of both layers.
    assert!(trace.memory.kept >= 4 * 32 * (64 + 128));
    assert!(trace.memory.peak >= trace.memory.parameters + trace.memory.kept);
    // The same as often as one likes, and nothing of it is left in the module.
    assert_eq!(meta.trace_training(loss).unwrap(), trace);
}

#[test]
fn what_is_frozen_gets_no_gradient() {
    let meta = Meta::build(Mlp::new).unwrap();
    let half = meta
        .map(|mlp, _| Mlp {
            hidden: mlp.hidden.freeze(),
            ..mlp
        })
        .unwrap();
    let trace = half.trace_training(loss).unwrap();
    assert_eq!(trace.memory.gradients, 4 * (128 * 10 + 10));
    assert_eq!(trace.cost_of(Phase::Backward).products, 2 * 32 * 128 * 10);
    assert!(backward(&trace).iter().all(|(_, path)| *path != "hidden"));
}

#[test]
fn a_tie_has_one_gradient() {
    let meta = Meta::build(Tied::new).unwrap();
    let trace = meta
        .trace_training(|tied, device| tied.forward(Tensor::<2, Int>::zeros([2, 3], device)).mean())
        .unwrap();
    assert_eq!(trace.memory.gradients, trace.memory.parameters);
    let names: Vec<_> = backward(&trace).into_iter().map(|(name, _)| name).collect();
    // From the scores and from the embedding, added up.
    assert!(names.contains(&"embedding_backward"), "{names:?}");
    assert!(names.contains(&"matmul"), "{names:?}");
}

#[test]
fn batch_norm_and_dropout_train() {
    let meta = Meta::build(Cnn::new).unwrap();
    let trace = meta
        .trace_training(|cnn, device| cnn.forward(Tensor::zeros([2, 3, 6, 6], device)).mean())
        .unwrap();
    let random = trace
        .operations()
        .filter(|traced| traced.operation.name == "random");
    assert_eq!(random.count(), 1);
    let names = backward(&trace);
    assert!(
        names.contains(&("conv2d_weight_backward", "stem")),
        "{names:?}"
    );
    assert!(names.iter().any(|(_, path)| *path == "norm"), "{names:?}");
    // Neither the original nor a later trace sees the statistics of this one.
    let again = meta
        .trace_training(|cnn, device| cnn.forward(Tensor::zeros([2, 3, 6, 6], device)).mean())
        .unwrap();
    assert_eq!(again, trace);
    meta.materialize(&Device::flex()).unwrap();
}

#[test]
fn gradient_checkpointing_keeps_less_and_computes_more() {
    let meta = Meta::build(Mlp::new).unwrap();
    let plain = meta.trace_training(loss).unwrap();
    let balanced =
        TraceOptions::default().gradient_checkpointing(GradientCheckpointingStrategy::Balanced);
    let again = meta.trace_training_with(balanced, loss).unwrap();
    assert!(
        again.memory.kept < plain.memory.kept,
        "{} {}",
        again.memory.kept,
        plain.memory.kept
    );
    let flops = |trace: &Trace| trace.cost_of(Phase::Backward).flops;
    assert!(flops(&again) > flops(&plain));
}

#[test]
fn an_adapter_is_trained_and_belongs_to_the_layer_it_adapts() {
    let meta = Meta::build(Mlp::new).unwrap();
    let adapted = meta
        .map(|mlp, _| {
            let mlp = mlp.freeze();
            Mlp {
                hidden: mlp.hidden.apply_lora(Lora::new(2, 4.0)),
                ..mlp
            }
        })
        .unwrap();
    let trace = adapted.trace_training(loss).unwrap();
    // Two matrices of rank two, beside the weight of 64 by 128.
    assert_eq!(trace.memory.gradients, 4 * 2 * (64 + 128));
    let paths: HashSet<_> = trace.operations().map(|traced| traced.path).collect();
    assert_eq!(paths, HashSet::from(["", "hidden", "output"]));
}
