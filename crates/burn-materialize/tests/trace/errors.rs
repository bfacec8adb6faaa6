//! What stops a pass, as errors.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::nn::{BatchNormConfig, Linear, LinearConfig};
use burn::tensor::{DType, Device, Tensor};
use burn_materialize::{Meta, Reached, TraceError};

use crate::models::{Cnn, Mlp};

fn reached(operation: &str, path: &str) -> Option<Reached> {
    Some(Reached {
        operation: Some(operation.to_owned()),
        path: path.to_owned(),
    })
}

#[test]
fn dtypes_that_do_not_go_together_are_told() {
    let meta = Meta::build(Mlp::new).unwrap();
    let error = meta
        .trace(|mlp, device| {
            let hidden = mlp.hidden.forward(Tensor::<2>::zeros([2, 64], device));
            let shape = hidden.dims();
            hidden + Tensor::zeros(shape, (device, DType::BF16))
        })
        .unwrap_err();
    assert!(matches!(error, TraceError::DType { .. }), "{error:?}");
    assert_eq!(error.reached().cloned(), reached("zeros", "hidden"));
}

#[test]
fn sizes_beyond_all_numbers_are_the_most_there_can_be() {
    let meta = Meta::build(Mlp::new).unwrap();
    let trace = meta.trace(|_, device| {
        let x = Tensor::<2>::zeros([1 << 22, 1 << 22], device);
        (0..8).fold(x, |x, _| x.clone().matmul(x))
    });
    let trace = trace.unwrap();
    assert_eq!(trace.cost().products, u64::MAX);
    assert!(trace.memory.peak > 1 << 45, "{}", trace.memory.peak);
    let trace = meta.trace(|_, device| {
        let side: usize = 1 << 31;
        let x = Tensor::<2>::zeros([side, side], device);
        x.clone() + x.exp()
    });
    assert_eq!(trace.unwrap().memory.peak, u64::MAX);
    // Windows of a dimension that is shorter: none.
    let trace = meta.trace(|_, device| Tensor::<1>::zeros([2], device).unfold::<2, _>(0, 3, 2));
    assert_eq!(trace.unwrap().outputs[0].shape, [0, 3]);
}

#[test]
fn shapes_that_do_not_fit_are_told_with_the_last_path() {
    let meta = Meta::build(Mlp::new).unwrap();
    let error = meta
        .trace(|mlp, device| {
            let hidden = mlp.hidden.forward(Tensor::<2>::zeros([2, 64], device));
            hidden.matmul(Tensor::zeros([64, 3], device))
        })
        .unwrap_err();
    assert!(matches!(error, TraceError::Shape { .. }), "{error:?}");
    assert_eq!(error.reached().cloned(), reached("zeros", "hidden"));
    for part in [
        "after `zeros` in `hidden`",
        "matmul",
        "correct the input's shape",
    ] {
        assert!(
            error.to_string().to_lowercase().contains(part),
            "{part}: {error}"
        );
    }

    // A layer of burn-nn's checks by itself.
    let meta = Meta::build(|device| BatchNormConfig::new(3).init(device)).unwrap();
    let error = meta
        .trace(|norm, device| norm.forward(Tensor::<3>::zeros([2, 4, 5], device)))
        .unwrap_err();
    assert!(matches!(error, TraceError::Shape { .. }), "{error:?}");
    // The meta device is as usable as before.
    meta.trace(|norm, device| norm.forward(Tensor::<3>::zeros([2, 3, 5], device)))
        .unwrap();
}

#[test]
fn nothing_may_read_values() {
    let meta = Meta::build(Mlp::new).unwrap();
    let error = meta
        .trace(|mlp, device| {
            let output = mlp.forward(Tensor::zeros([2, 64], device));
            output.sum().into_scalar::<f32>();
        })
        .unwrap_err();
    assert!(matches!(error, TraceError::ValueRead { .. }), "{error:?}");
    assert_eq!(error.reached().cloned(), reached("sum", ""));
    assert!(error.to_string().contains("after `sum`"), "{error}");
}

#[test]
fn tensors_of_other_devices_are_refused() {
    let meta = Meta::build(|device| LinearConfig::new(4, 4).init(device)).unwrap();
    let elsewhere = Tensor::<2>::zeros([2, 4], &Device::flex());
    let error = meta
        .trace(|linear: &Linear, _| linear.forward(elsewhere.clone()))
        .unwrap_err();
    assert!(matches!(error, TraceError::OtherDevice { .. }), "{error:?}");
    assert!(
        error.to_string().contains("with nothing recorded before"),
        "{error}"
    );

    // A module that was recorded earlier, instead of the copy.
    let (recorded, _) = burn_meta::record(Default::default(), |device| {
        Tensor::<2>::zeros([2, 4], device)
    })
    .unwrap();
    let error = meta
        .trace(|linear, _| linear.forward(recorded.clone()))
        .unwrap_err();
    assert!(matches!(error, TraceError::OtherDevice { .. }), "{error:?}");
}

#[test]
fn a_batch_norm_may_be_called_once_in_a_training_pass() {
    let meta = Meta::build(Cnn::new).unwrap();
    let images = |device: &Device| Tensor::<4>::zeros([2, 3, 6, 6], device);
    let error = meta
        .trace_training(|cnn, device| {
            let once = cnn.norm.forward(cnn.stem.forward(images(device)));
            cnn.norm.forward(once).mean()
        })
        .unwrap_err();
    assert!(
        matches!(error, TraceError::MovedWithAutodiff { .. }),
        "{error:?}"
    );
    assert_eq!(error.reached().unwrap().path, "norm");
    assert!(error.to_string().contains("a second time"), "{error}");

    // In inference it may.
    meta.trace(|cnn, device| {
        let once = cnn.norm.forward(cnn.stem.forward(images(device)));
        cnn.norm.forward(once)
    })
    .unwrap();
}

#[test]
fn gradients_are_taken_by_the_trace() {
    let meta = Meta::build(Mlp::new).unwrap();
    let error = meta
        .trace_training(|mlp, device| {
            let loss = mlp.forward(Tensor::zeros([2, 64], device)).mean();
            loss.backward();
            loss
        })
        .unwrap_err();
    assert!(
        matches!(error, TraceError::TakesGradients { .. }),
        "{error:?}"
    );
    assert!(error.to_string().contains("return the loss"), "{error}");
}

#[test]
fn a_loss_of_nothing_trainable_is_refused() {
    use burn::module::Module;
    let meta = Meta::build(Mlp::new).unwrap();
    let error = meta
        .trace_training(|_, device| Tensor::<1>::zeros([1], device))
        .unwrap_err();
    assert!(
        matches!(error, TraceError::NothingToTrain { .. }),
        "{error:?}"
    );
    let frozen = meta.map(|mlp, _| mlp.freeze()).unwrap();
    let error = frozen
        .trace_training(|mlp, device| mlp.forward(Tensor::zeros([2, 64], device)).mean())
        .unwrap_err();
    assert!(
        matches!(error, TraceError::NothingToTrain { .. }),
        "{error:?}"
    );
    assert_eq!(error.reached().cloned(), reached("mean", ""));
}

#[test]
fn a_panic_of_the_pass_goes_on_and_leaves_everything_usable() {
    let meta = Meta::build(Mlp::new).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let _ = meta.trace(|mlp, device| -> Tensor<2> {
            mlp.forward(Tensor::zeros([2, 64], device));
            panic!("no such layer")
        });
    }))
    .unwrap_err();
    assert_eq!(
        burn_meta::panic_text(&*panic).as_deref(),
        Some("no such layer")
    );
    meta.trace(|mlp, device| mlp.forward(Tensor::zeros([2, 64], device)))
        .unwrap();
    // One inside another is no trouble: each has a device of its own.
    meta.trace(|mlp, device| {
        meta.trace(|inner, device| inner.forward(Tensor::zeros([2, 64], device)))
            .unwrap();
        mlp.forward(Tensor::zeros([2, 64], device))
    })
    .unwrap();
}
