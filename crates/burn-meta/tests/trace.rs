//! What operations cost, those that do several things at once above all.

use burn::backend::DispatchDevice;
use burn::backend::ir::{CustomOpIr, OperationIr, TensorIr};
use burn::tensor::activation::{gelu, log_softmax, softmax};
use burn::tensor::module::{attention, conv2d, deform_conv2d, embedding, layer_norm};
use burn::tensor::ops::{ConvOptions, DeformConvOptions};
use burn::tensor::{DType, Device, GradientCheckpointingStrategy, Int, Shape, Tensor};
use burn_capture::CaptureChannel;
use burn_meta::{
    Cost, DefaultDTypes, HalfPrecision, MetaDevice, OperationKind, OperationList, tensor_id,
};
use burn_router::{RouterClient, get_client};

fn traced(pass: impl FnOnce(&Device)) -> OperationList {
    let meta = MetaDevice::new(DefaultDTypes::default()).unwrap();
    let traced = meta
        .trace(|scope| {
            let begin = scope.mark();
            pass(scope.device());
            begin
        })
        .unwrap();
    traced.tape.list(traced.outcome.unwrap())
}

/// Kind and cost of the one operation of that name.
fn the(list: &OperationList, name: &str) -> (OperationKind, Cost) {
    let mut named = list
        .operations
        .iter()
        .filter(|operation| operation.name == name);
    let operation = named
        .next()
        .unwrap_or_else(|| panic!("no {name}: {list:?}"));
    assert!(named.next().is_none(), "more than one {name}: {list:?}");
    (operation.kind, operation.cost)
}

fn zeros<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::zeros(shape, device)
}

#[test]
fn attention_is_two_products_and_a_softmax() {
    let list = traced(|device| {
        let query = zeros([2, 4, 10, 16], device);
        let [key, value] = [zeros([2, 4, 12, 16], device), zeros([2, 4, 12, 24], device)];
        attention(query, key, value, None, None, Default::default());
    });
    let scores = 2 * 4 * 10 * 12;
    let products = 2 * scores * 16 + 2 * scores * 24;
    let read = 2 * 4 * (10 * 16 + 12 * 16 + 12 * 24);
    let cost = Cost {
        flops: products + 6 * scores,
        products,
        moved: 4 * (read + 2 * 4 * 10 * 24),
    };
    assert_eq!(the(&list, "attention"), (OperationKind::Attention, cost));
}

#[test]
fn norms_count_the_operations_of_their_formulas() {
    let elements = 6 * 32;
    let list = traced(|device| {
        let [gamma, beta] = [Tensor::ones([32], device), zeros([32], device)];
        layer_norm(zeros([6, 32], device), gamma, Some(beta), 1e-5);
    });
    let cost = Cost {
        flops: 7 * elements,
        products: 0,
        moved: 4 * (2 * elements + 64),
    };
    assert_eq!(
        the(&list, "layer_norm"),
        (OperationKind::Normalization, cost)
    );
    let list = traced(|device| {
        softmax(zeros([6, 32], device), 1);
        log_softmax(zeros([6, 32], device), 0);
        gelu(zeros([6, 32], device));
    });
    assert_eq!(the(&list, "softmax").1.flops, 5 * elements);
    assert_eq!(the(&list, "log_softmax").1.flops, 5 * elements);
    assert_eq!(the(&list, "gelu").1.flops, 5 * elements);
}

#[test]
fn a_table_is_read_where_it_is_chosen() {
    let list = traced(|device| {
        let tokens = Tensor::<2, Int>::zeros([2, 3], device);
        embedding(zeros([1000, 16], device), tokens);
    });
    let (kind, cost) = the(&list, "embedding");
    assert_eq!(kind, OperationKind::Indexing);
    assert_eq!(cost.moved, 8 * 2 * 3 + 2 * 4 * (2 * 3 * 16));
}

#[test]
fn what_is_read_twice_is_moved_once_and_views_move_nothing() {
    let list = traced(|device| {
        let x = zeros([5, 7], device);
        let _ = (x.clone() * x).transpose().reshape([35]);
    });
    assert_eq!(the(&list, "mul").1.moved, 2 * 4 * 35);
    assert_eq!(
        the(&list, "swap_dims"),
        (OperationKind::View, Cost::default())
    );
    assert_eq!(
        the(&list, "reshape"),
        (OperationKind::View, Cost::default())
    );
}

#[test]
fn convolutions_count_their_kernels_as_a_whole() {
    let list = traced(|device| {
        let options = ConvOptions::new([2, 2], [1, 1], [1, 1], 2);
        let bias = Some(zeros([8], device));
        conv2d(
            zeros([3, 4, 11, 9], device),
            zeros([8, 2, 3, 3], device),
            bias,
            options,
        );
    });
    let out = 3 * 8 * 6 * 5;
    let (kind, cost) = the(&list, "conv2d");
    assert_eq!(kind, OperationKind::Convolution);
    assert_eq!(
        (cost.products, cost.flops),
        (2 * out * 18, 2 * out * 18 + out)
    );

    // A deformable one samples its input besides: four neighbours, weighted and added, and a mask.
    let list = traced(|device| {
        let options = DeformConvOptions::new([1, 1], [0, 0], [1, 1], 1, 1);
        let places = [1, 18, 4, 3];
        deform_conv2d(
            zeros([1, 4, 6, 5], device),
            zeros(places, device),
            zeros([8, 4, 3, 3], device),
            Some(zeros([1, 9, 4, 3], device)),
            None,
            options,
        );
    });
    let (_, cost) = the(&list, "deform_conv2d");
    let products = 2 * (8 * 4 * 3) * (4 * 9);
    assert_eq!(cost.products, products);
    assert_eq!(cost.flops, products + 4 * 9 * (4 * 3) * 9);
}

#[test]
fn an_operation_that_nobody_knows_is_listed_and_its_memory_counted() {
    let meta = MetaDevice::new(DefaultDTypes::default()).unwrap();
    let traced = meta
        .trace(|scope| {
            let begin = scope.mark();
            let DispatchDevice::Capture(device) = scope.device().as_dispatch() else {
                panic!("a meta device is a capture device")
            };
            let client = get_client::<CaptureChannel>(device);
            let out = TensorIr::uninit(client.create_empty_handle(), Shape::new([256]), DType::F32);
            client.register_op(OperationIr::Custom(CustomOpIr::new("mine", &[], &[out])));
            begin
        })
        .unwrap();
    let begin = traced.outcome.unwrap();
    let list = traced.tape.list(begin);
    let (kind, cost) = the(&list, "mine");
    assert_eq!(kind, OperationKind::Uncounted);
    assert_eq!((cost.flops, cost.moved), (0, 1024));
    let live = traced.tape.live_bytes(begin, [], HalfPrecision::ByF32);
    assert_eq!(live.peak(), Some((0, 1024)));
}

#[test]
fn a_backward_pass_is_recorded_with_the_gradients_it_leaves() {
    let meta = MetaDevice::new(DefaultDTypes::default()).unwrap();
    let traced = meta
        .trace(|scope| {
            let device = scope.training_device(GradientCheckpointingStrategy::Disabled);
            let weight = Tensor::<2>::zeros([4, 3], &device).require_grad();
            let frozen = Tensor::<2>::zeros([4, 3], &device);
            let begin = scope.mark();
            let loss = (weight.clone() * frozen.clone()).exp().sum();
            let backward = scope.mark();
            let gradients = scope.backward(loss.into_bridge()).unwrap();
            let [weight, frozen] = [weight, frozen].map(|leaf| gradients.of(leaf.into_bridge()));
            assert_eq!(frozen, None);
            // What nothing depends on has no backward pass.
            let constant = Tensor::<1>::zeros([1], scope.device());
            assert!(tensor_id(&constant.clone().into_bridge()).is_some());
            assert!(scope.backward(constant.into_bridge()).is_none());
            (begin, backward, weight.unwrap())
        })
        .unwrap();
    let (begin, backward, gradient) = traced.outcome.unwrap();
    let list = traced.tape.list(begin);
    let names: Vec<_> = list
        .operations
        .iter()
        .map(|operation| operation.name.as_ref())
        .collect();
    assert_eq!(names[..list.first_after(backward)], ["mul", "exp", "sum"]);
    let place = list.place(gradient).unwrap();
    assert_eq!(list.tensors[place as usize].shape, [4, 3]);
    assert_eq!(
        list.operations
            .iter()
            .map(|operation| operation.cost)
            .sum::<Cost>(),
        list.cost()
    );
}
