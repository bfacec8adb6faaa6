//! What one loss and one module mean to several optimizers, norms and dtypes.

use burn::module::{Module, Param};
use burn::nn::{LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{DType, Device, FloatDType, Tensor};
use burn_fabric::Clip;
use burn_fabric::prelude::*;

use super::{child, fabric, fabric_of, job};
use crate::support::data;

/// Run `run` in a process of its own with that precision.
fn apart(test: &str, precision: Precision, run: impl FnOnce(Fabric)) {
    match job(test) {
        None => {
            child(test, precision, std::path::Path::new("-"));
        }
        Some((asked, _)) if asked == precision => {
            if let Some(fabric) = fabric(precision) {
                let device = fabric.device().clone();
                run(fabric);
                // A graphics driver that still computes while its process ends may crash it.
                device.sync().unwrap();
            }
        }
        Some(_) => {}
    }
}

fn values(tensor: Tensor<2>) -> Vec<f64> {
    data(tensor).iter::<f64>().collect()
}

fn sum(linear: &Linear, fabric: &Fabric, factor: f64) -> Tensor<1> {
    let output = linear.forward(Tensor::<2>::ones([1, 4], fabric.device()));
    output.cast(FloatDType::F32).mul_scalar(factor).sum()
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Two {
    a: Linear,
    b: Linear,
}

/// A module, an optimizer for each half.
fn two(fabric: &Fabric) -> (FabricModule<Two>, [FabricOptimizer; 2]) {
    let linear = |device: &Device| LinearConfig::new(4, 1).with_bias(false).init(device);
    let meta = fabric.init_module(|device| Two {
        a: linear(device),
        b: linear(device),
    });
    let model = fabric.setup(meta.unwrap()).unwrap();
    let optimizers = ["a.*", "b.*"].map(|paths| {
        let parameters = model.parameters().only([paths]);
        fabric
            .setup_optimizer(&parameters, SgdConfig::new())
            .unwrap()
    });
    (model, optimizers)
}

#[test]
fn one_loss_moves_the_scale_once_for_all_optimizers() {
    let name = "several::one_loss_moves_the_scale_once_for_all_optimizers";
    apart(name, Precision::MixedF16, |fabric| {
        let (mut model, mut optimizers) = two(&fabric);
        let mut step = |factor: f64| {
            let loss = sum(&model.a, &fabric, factor) + sum(&model.b, &fabric, factor);
            let mut gradients = fabric.backward(loss, &model).unwrap();
            for optimizer in &mut optimizers {
                optimizer.step(1e-3, &mut model, &mut gradients).unwrap();
            }
            fabric.loss_scale().unwrap()
        };
        let scale = step(1e6);
        assert_eq!((scale.scale, scale.skipped), (16_384.0, 1));
        let scale = step(1.0);
        assert_eq!((scale.scale, scale.steady), (16_384.0, 1));
    });
}

#[test]
fn an_overflow_in_one_optimizer_undoes_the_growth_by_another() {
    let name = "several::an_overflow_in_one_optimizer_undoes_the_growth_by_another";
    apart(name, Precision::MixedF16, |_| {
        let fabric = fabric_of(Precision::MixedF16, |builder| {
            builder.loss_scale(1024.0).loss_scale_interval(1)
        });
        let fabric = fabric.unwrap();
        let (mut model, mut optimizers) = two(&fabric);
        let mut skipped = Vec::new();
        for _ in 0..8 {
            // The second overflows at any scale above 65.5.
            let loss = sum(&model.a, &fabric, 1.0) + sum(&model.b, &fabric, 1000.0);
            let mut gradients = fabric.backward(loss, &model).unwrap();
            for optimizer in &mut optimizers {
                let report = optimizer.step(1e-3, &mut model, &mut gradients);
                skipped.push(report.unwrap().is_skipped());
            }
        }
        // Halved four times, taken once and doubled, left out, and so on.
        let second: Vec<bool> = skipped.into_iter().skip(1).step_by(2).collect();
        assert_eq!(second[..5], [true, true, true, true, false], "{second:?}");
    });
}

#[test]
fn gradients_that_no_scale_can_help_end_the_run_whoever_computed_them() {
    let name = "several::gradients_that_no_scale_can_help_end_the_run_whoever_computed_them";
    apart(name, Precision::MixedF16, |_| {
        let fabric = fabric_of(Precision::MixedF16, |builder| builder.loss_scale(4.0)).unwrap();
        let (mut model, [mut optimizer, _]) = two(&fabric);
        let mut steps = (0..4).map(|_| {
            // Burn's own backward.
            let gradients = sum(&model.a, &fabric, f64::NAN).backward();
            let gradients = GradientsParams::from_grads(gradients, &*model);
            optimizer.step(1e-3, &mut model, gradients)
        });
        assert!(steps.next().unwrap().unwrap().is_skipped());
        assert!(steps.next().unwrap().unwrap().is_skipped());
        let error = steps.next().unwrap().unwrap_err();
        assert!(matches!(error, FabricError::LossScale { .. }), "{error}");
    });
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct GammaTied {
    scale: Param<Tensor<1>>,
    norm: LayerNorm,
}

#[test]
fn a_parameter_of_a_norm_that_is_tied_outside_stays_in_f16() {
    let name = "several::a_parameter_of_a_norm_that_is_tied_outside_stays_in_f16";
    apart(name, Precision::F16, |fabric| {
        let new = |device: &Device| {
            let norm = LayerNormConfig::new(4).init(device);
            GammaTied {
                scale: norm.gamma.clone(),
                norm,
            }
        };
        let meta = fabric.init_module(new).unwrap();
        let model = fabric.setup(meta).unwrap();
        assert_eq!(model.norm.gamma.id, model.scale.id);
        assert_eq!(model.norm.gamma.val().dtype(), DType::F16);
        let beta = model.norm.beta.as_ref().unwrap();
        assert_eq!(beta.val().dtype(), DType::F32);
        let x = Tensor::<2>::ones([2, 4], fabric.device());
        let loss = model.norm.forward(x * model.scale.val().unsqueeze());
        let loss = loss.cast(FloatDType::F32).powi_scalar(2).mean();
        fabric.backward(loss, &model).unwrap();
    });
}

#[test]
fn a_change_cannot_bring_a_lazy_norm() {
    let name = "several::a_change_cannot_bring_a_lazy_norm";
    apart(name, Precision::F16, |fabric| {
        let config = LayerNormConfig::new(4);
        let meta = fabric.init_module(|device| config.init(device)).unwrap();
        let mut model: FabricModule<LayerNorm> = fabric.setup(meta).unwrap();
        let device = fabric.inference_device();
        let error = model.map(|_| config.init(&device)).unwrap_err();
        assert!(matches!(error, FabricError::Changed { .. }), "{error}");
    });
}

#[test]
fn what_is_clipped_together_is_left_out_together() {
    let name = "several::what_is_clipped_together_is_left_out_together";
    apart(name, Precision::MixedF16, |fabric| {
        let (mut model, mut optimizers) = two(&fabric);
        let loss = sum(&model.a, &fabric, 1e6) + sum(&model.b, &fabric, 1.0);
        let mut gradients = fabric.backward(loss, &model).unwrap();
        let clip = Clip::Norm(0.1);
        let clipped = fabric.clip_gradients(&model, &mut gradients, clip).unwrap();
        assert_eq!(clipped.non_finite, ["a.weight"]);
        let before = (values(model.a.weight.val()), values(model.b.weight.val()));
        for optimizer in &mut optimizers {
            let report = optimizer.step(1.0, &mut model, &mut gradients).unwrap();
            assert!(report.is_skipped(), "{report:?}");
        }
        let after = (values(model.a.weight.val()), values(model.b.weight.val()));
        assert_eq!(before, after);
    });
}

#[test]
fn a_weight_that_is_set_takes_no_other_master_away() {
    let name = "several::a_weight_that_is_set_takes_no_other_master_away";
    apart(name, Precision::MixedBf16, |fabric| {
        let config = LinearConfig::new(4, 4).with_bias(false);
        let meta = fabric.init_module(|device| config.init(device)).unwrap();
        let (mut model, mut optimizer) =
            fabric.setup_with_optimizer(meta, SgdConfig::new()).unwrap();
        let set = |model: &mut FabricModule<Linear>, rows, value: f64| {
            let change = |mut linear: Linear| {
                let fill = |weight: Tensor<2>| weight.slice_fill([0..rows, 0..4], value);
                linear.weight = linear.weight.map(fill);
                linear
            };
            model.map(change).unwrap();
        };
        set(&mut model, 4, 1.0);
        for step in 0..100 {
            let gradients = fabric.backward(sum(&model, &fabric, 1.0), &model).unwrap();
            optimizer.step(1e-4, &mut model, gradients).unwrap();
            // A constraint on one row, with another value each time.
            set(&mut model, 1, if step % 2 == 0 { 0.5 } else { 0.25 });
        }
        let found = values(model.weight.val());
        assert_eq!(found[..4], [0.25; 4]);
        assert!(
            found[4..].iter().all(|one| (one - 0.99).abs() < 4e-3),
            "{found:?}"
        );
    });
}

#[test]
fn weighted_gradients_in_f16_are_summed_in_f32() {
    let name = "several::weighted_gradients_in_f16_are_summed_in_f32";
    apart(name, Precision::F16, |fabric| {
        let config = LinearConfig::new(4, 1).with_bias(false);
        let meta = fabric.init_module(|device| config.init(device)).unwrap();
        let model = fabric.setup(meta).unwrap();
        let mut accumulation = fabric.accumulate(2).unwrap();
        let mut mean = None;
        for (factor, place) in accumulation.groups([200.0, 400.0]) {
            let gradients = fabric
                .backward(sum(&model, &fabric, factor), &model)
                .unwrap();
            // 400 * 256 is above f16.
            mean = accumulation
                .add_weighted(place, &model, gradients, 256.0)
                .unwrap();
        }
        let mean = mean.unwrap().get::<2>(model.weight.id).unwrap();
        assert_eq!(values(mean), [300.0; 4]);
    });
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Beside {
    linear: Linear,
    wide: Param<Tensor<1>>,
}

#[test]
fn gradients_of_several_dtypes_are_measured_together() {
    let name = "several::gradients_of_several_dtypes_are_measured_together";
    for precision in [Precision::F32, Precision::MixedF16] {
        apart(name, precision, |fabric| {
            if device_under_test::name() == "wgpu" {
                return; // has no f64
            }
            let linear = LinearConfig::new(4, 1).with_bias(false);
            let meta = fabric.init_module(|device| Beside {
                linear: linear.init(device),
                wide: Param::from_tensor(Tensor::<1>::ones([5], (device, DType::F64))),
            });
            let (mut model, mut optimizer) = fabric
                .setup_with_optimizer(meta.unwrap(), SgdConfig::new())
                .unwrap();
            let wide = model.wide.val().sum().cast(FloatDType::F32);
            let loss = sum(&model.linear, &fabric, 1.0) + wide;
            let mut gradients = fabric.backward(loss, &model).unwrap();
            let clipped = fabric.clip_gradients(&model, &mut gradients, Clip::Norm(9.0));
            assert!((clipped.unwrap().norm - 3.0).abs() < 1e-6);
            let report = optimizer.step(1e-3, &mut model, gradients).unwrap();
            assert_eq!(report.updated, 2);
        });
    }
}

mod own {
    //! A norm of somebody's own, with the name of Burn's.
    use super::*;

    #[derive(Module, Materialize, ResetParameters, Debug)]
    pub struct LayerNorm {
        pub scale: Param<Tensor<1>>,
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Norms {
    burns: LayerNorm,
    own: own::LayerNorm,
}

fn norms(device: &Device) -> Norms {
    Norms {
        burns: LayerNormConfig::new(4).init(device),
        own: own::LayerNorm {
            scale: burn::nn::Initializer::Ones.init([4], device),
        },
    }
}

#[test]
fn only_layer_norms_of_burns_that_are_set_up_in_f16_stay_in_f32() {
    let name = "several::only_layer_norms_of_burns_that_are_set_up_in_f16_stay_in_f32";
    apart(name, Precision::F16, |fabric| {
        let dtypes = |norms: &Norms| {
            let burns = norms.burns.gamma.val().dtype();
            (burns, norms.own.scale.val().dtype())
        };
        let device = fabric.inference_device();
        let mut model = fabric.setup(fabric.init_module(norms).unwrap()).unwrap();
        assert_eq!(dtypes(&model), (DType::F32, DType::F16));
        // The same where a function of the module puts another one there.
        let replaced = model.map(|mut model| {
            model.burns = LayerNormConfig::new(4).init(&device);
            // Real: what is lazy is refused.
            model.burns.gamma.val();
            model.burns.beta.as_ref().unwrap().val();
            model
        });
        replaced.unwrap();
        assert_eq!(dtypes(&model), (DType::F32, DType::F16));
        // A plain module that is lazy; and one that is real, which is left alone.
        let lazy = fabric.setup(norms(&device)).unwrap();
        assert_eq!(dtypes(&lazy), (DType::F32, DType::F16));
        let real = norms(&device);
        assert_eq!(dtypes(&real), (DType::F16, DType::F16));
        let mut real = fabric.setup(real).unwrap();
        assert_eq!(dtypes(&real), (DType::F16, DType::F16));
        real.map(|model| model).unwrap();
        assert_eq!(dtypes(&real), (DType::F16, DType::F16));
    });
}

#[test]
fn without_a_precision_a_norm_keeps_the_dtype_it_was_given() {
    let fabric = crate::support::builder().build().unwrap();
    if device_under_test::name() == "wgpu" {
        return; // whether an adapter has f16 is its own affair
    }
    let mut norm = LayerNormConfig::new(4).init(&fabric.inference_device());
    let named = (&fabric.inference_device(), DType::F16);
    norm.gamma = Param::from_tensor(Tensor::<1>::ones([4], named));
    let model = fabric.setup(norm).unwrap();
    assert_eq!(model.gamma.val().dtype(), DType::F16);
}
