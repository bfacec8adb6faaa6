//! Accumulation and clipping, against plain computations in f64.

mod support;

use burn::module::Param;
use burn::optim::{GradientsParams, SgdConfig};
use burn::tensor::{FloatDType, Tensor};
use burn_fabric::prelude::*;
use burn_fabric::{MicroBatch, NonFinite, ShapeMismatch};
use support::{Mlp, Shared, builder, device, fabric, input, model};

fn numbers(gradients: &GradientsParams, model: &Mlp) -> Vec<f64> {
    let ids = [model.hidden.weight.id, model.output.weight.id];
    ids.iter()
        .filter_map(|id| gradients.get::<2>(*id))
        .flat_map(|gradient| gradient.into_data().iter::<f64>().collect::<Vec<_>>())
        .collect()
}

fn close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert_eq!(found.len(), expected.len());
    for (found, expected) in found.iter().zip(expected) {
        assert!(
            (found - expected).abs() <= tolerance * expected.abs().max(1e-3),
            "{found} {expected}"
        );
    }
}

#[test]
fn micro_batches_make_the_gradients_of_the_large_batch() {
    let fabric = fabric();
    let model = model(&fabric);
    let x = input(fabric.device());
    let large = fabric.backward(model.loss(&x), &model).unwrap();
    // Seven batches of one sample, in one group of seven.
    let mut accumulation = fabric.accumulate(7).unwrap();
    let mut mean = None;
    for (sample, place) in accumulation.groups(x.clone().split(1, 0)) {
        assert!(mean.is_none());
        let gradients = fabric.backward(model.loss(&sample), &model).unwrap();
        mean = accumulation.add(place, &model, gradients).unwrap();
        assert_eq!(accumulation.is_pending(), mean.is_none());
    }
    close(
        &numbers(&mean.unwrap(), &model),
        &numbers(&large, &model),
        1e-5,
    );

    // Batches of 2, 2, 2 and 1, weighted by their samples.
    let mut accumulation = fabric.accumulate(4).unwrap();
    let mut mean = None;
    for (samples, place) in accumulation.groups(x.split(2, 0)) {
        let weight = samples.dims()[0] as f64;
        let gradients = fabric.backward(model.loss(&samples), &model).unwrap();
        mean = accumulation
            .add_weighted(place, &model, gradients, weight)
            .unwrap();
    }
    close(
        &numbers(&mean.unwrap(), &model),
        &numbers(&large, &model),
        1e-5,
    );
}

#[test]
fn accumulated_gradients_are_the_mean_in_f64() {
    let fabric = fabric();
    let model = model(&fabric);
    let batches: Vec<Tensor<2>> = (1..=5u8)
        .map(|i| input(fabric.device()).mul_scalar(f32::from(i) * 0.3))
        .collect();
    let mut sum: Vec<f64> = Vec::new();
    for batch in &batches {
        let gradients = fabric.backward(model.loss(batch), &model).unwrap();
        let numbers = numbers(&gradients, &model);
        sum.resize(numbers.len(), 0.0);
        sum.iter_mut()
            .zip(numbers)
            .for_each(|(sum, number)| *sum += number);
    }
    let expected: Vec<f64> = sum.into_iter().map(|sum| sum / 5.0).collect();
    let mut accumulation = fabric.accumulate(5).unwrap();
    let mut mean = None;
    for (batch, place) in accumulation.groups(&batches) {
        let gradients = fabric.backward(model.loss(batch), &model).unwrap();
        mean = accumulation.add(place, &model, gradients).unwrap();
    }
    close(&numbers(&mean.unwrap(), &model), &expected, 1e-5);
}

#[test]
fn the_last_shorter_group_counts_as_what_it_is() {
    let fabric = fabric();
    let accumulation = fabric.accumulate(3).unwrap();
    let groups = accumulation.groups(0..7);
    let last: Vec<u32> = groups
        .filter(|(_, place)| place.is_last())
        .map(|(i, _)| i)
        .collect();
    assert_eq!(last, [2, 5, 6]);

    let model = model(&fabric);
    let x = input(fabric.device());
    let gradients = || fabric.backward(model.loss(&x), &model).unwrap();
    let mut accumulation = fabric.accumulate(3).unwrap();
    assert!(accumulation.finish().is_none());
    for _ in 0..2 {
        assert!(
            accumulation
                .add(MicroBatch::INNER, &model, gradients())
                .unwrap()
                .is_none()
        );
    }
    // Two equal ones: their mean is either of them, exactly.
    let mean = accumulation.finish().unwrap();
    assert_eq!(numbers(&mean, &model), numbers(&gradients(), &model));
    assert!(!accumulation.is_pending());
}

#[test]
fn what_cannot_be_accumulated_is_refused_and_loses_nothing() {
    let fabric = fabric();
    assert!(matches!(
        fabric.accumulate(0),
        Err(FabricError::Settings { .. })
    ));
    let (model, other) = (model(&fabric), model(&fabric));
    let x = input(fabric.device());
    let mut accumulation = fabric.accumulate(2).unwrap();
    let gradients = fabric.backward(model.loss(&x), &model).unwrap();
    let expected = numbers(&gradients, &model);
    accumulation
        .add(MicroBatch::INNER, &model, gradients)
        .unwrap();
    let strange = fabric.backward(other.loss(&x), &other).unwrap();
    let error = accumulation
        .add(MicroBatch::LAST, &model, strange)
        .unwrap_err();
    assert!(matches!(error, FabricError::NoGradients { .. }), "{error}");
    for weight in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let gradients = fabric.backward(model.loss(&x), &model).unwrap();
        let error = accumulation.add_weighted(MicroBatch::LAST, &model, gradients, weight);
        assert!(matches!(error, Err(FabricError::Weight { .. })));
    }
    assert_eq!(numbers(&accumulation.finish().unwrap(), &model), expected);
}

#[test]
fn the_norm_is_that_in_f64_and_clipping_scales_to_it() {
    let fabric = fabric();
    let model = model(&fabric);
    let gradients = || {
        fabric
            .backward(model.loss(&input(fabric.device())), &model)
            .unwrap()
    };
    let plain = numbers(&gradients(), &model);
    let norm = plain.iter().map(|x| x * x).sum::<f64>().sqrt();

    let mut clipped = gradients();
    let report = fabric
        .clip_gradients(&model, &mut clipped, Clip::Norm(norm / 3.0))
        .unwrap();
    assert!(
        (report.norm - norm).abs() < 1e-6 * norm,
        "{} {norm}",
        report.norm
    );
    let expected: Vec<f64> = plain.iter().map(|x| x / 3.0).collect();
    close(&numbers(&clipped, &model), &expected, 1e-5);

    // Below the bound, and without one, nothing changes.
    for clip in [Some(Clip::Norm(norm * 1.01)), None] {
        let mut clipped = gradients();
        let report = fabric.clip_gradients(&model, &mut clipped, clip).unwrap();
        assert!(!report.is_skipped());
        assert_eq!(numbers(&clipped, &model), plain);
    }

    let bound = 1e-3;
    let mut clipped = gradients();
    fabric
        .clip_gradients(&model, &mut clipped, Clip::Value(bound))
        .unwrap();
    let expected: Vec<f64> = plain.iter().map(|x| x.clamp(-bound, bound)).collect();
    close(&numbers(&clipped, &model), &expected, 1e-6);
    assert_ne!(expected, plain);

    for clip in [
        Clip::Norm(0.0),
        Clip::Value(f64::NAN),
        Clip::Norm(f64::INFINITY),
    ] {
        let error = fabric
            .clip_gradients(&model, &mut gradients(), clip)
            .unwrap_err();
        assert!(matches!(error, FabricError::Settings { .. }), "{error}");
    }
    let error = fabric
        .clip_gradients(&model, &mut GradientsParams::new(), None)
        .unwrap_err();
    assert!(matches!(error, FabricError::NoGradients { .. }), "{error}");
}

#[test]
fn the_norm_of_many_elements_is_the_same_bits_each_time() {
    // 5 Mi elements: more than flex sums in one order.
    let fabric = fabric();
    let device = fabric.inference_device();
    let shape = [5 << 10, 1 << 10];
    let weight = Param::from_tensor(Tensor::zeros(shape, &device));
    let model = fabric.setup(Shared { weight }).unwrap();
    let large = Tensor::<1, burn::tensor::Int>::arange(0..5 << 20, &device).float();
    let large: Tensor<2> = large.mul_scalar(0.001).sin().reshape(shape);
    let norm = || {
        let mut gradients = GradientsParams::new();
        gradients.register(model.weight.id, large.clone());
        let clipped = fabric.clip_gradients(&model, &mut gradients, None);
        clipped.unwrap().norm
    };
    let first = norm();
    let data = large.to_data();
    let expected = data.iter::<f64>().map(|x| x * x).sum::<f64>().sqrt();
    assert!(
        (first - expected).abs() < 1e-6 * expected,
        "{first} {expected}"
    );
    for _ in 0..5 {
        assert_eq!(norm().to_bits(), first.to_bits());
    }
}

#[test]
fn squares_that_overflow_are_no_infinities() {
    let fabric = fabric();
    let model = model(&fabric);
    let mut gradients = GradientsParams::new();
    let huge = Tensor::<2>::full([5, 8], 1e30, &device());
    gradients.register(model.hidden.weight.id, huge);
    let clipped = fabric
        .clip_gradients(&model, &mut gradients, Clip::Norm(1.0))
        .unwrap();
    let expected = 1e30 * 40f64.sqrt();
    assert!(
        (clipped.norm - expected).abs() < 1e-6 * expected,
        "{}",
        clipped.norm
    );
    let gradient = gradients.get::<2>(model.hidden.weight.id).unwrap();
    let largest: f64 = gradient.max().into_scalar();
    assert!((largest - 1.0 / 40f64.sqrt()).abs() < 1e-6);
}

#[test]
fn half_precision_gradients_are_summed_in_single() {
    let fabric = fabric();
    let model = model(&fabric);
    let mut gradients = GradientsParams::new();
    // 256^2 overflows f16.
    let half = Tensor::<2>::full([5, 8], 300.0, &device()).cast(FloatDType::F16);
    gradients.register(model.hidden.weight.id, half);
    let clipped = fabric
        .clip_gradients(&model, &mut gradients, Clip::Norm(1.0))
        .unwrap();
    assert!(
        (clipped.norm - 300.0 * 40f64.sqrt()).abs() < 1e-3,
        "{}",
        clipped.norm
    );
    let dtype = gradients.get::<2>(model.hidden.weight.id).unwrap().dtype();
    assert_eq!(dtype, burn::tensor::DType::F16);
}

#[test]
fn gradients_that_are_not_finite_are_named() {
    for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        for non_finite in [NonFinite::Refuse, NonFinite::Skip] {
            let fabric = builder().non_finite_gradients(non_finite).build().unwrap();
            let mut model = model(&fabric);
            let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
            let x = input(fabric.device());
            let mut gradients = fabric.backward(model.loss(&x), &model).unwrap();
            let id = model.output.weight.id;
            let one = gradients.remove::<2>(id).unwrap();
            let mask = Tensor::<2>::full([8, 4], 0.0, &device());
            let mask = mask.slice_fill([3..4, 1..2], 1.0).bool();
            gradients.register(id, one.mask_fill(mask, broken));
            let result = fabric.clip_gradients(&model, &mut gradients, Clip::Norm(1.0));
            match non_finite {
                NonFinite::Refuse => {
                    let error = result.unwrap_err();
                    assert!(
                        matches!(&error, FabricError::NonFiniteGradients { parameters } if parameters == &["output.weight"]),
                        "{error}"
                    );
                    assert_eq!(gradients.len(), 2);
                }
                NonFinite::Skip => {
                    let clipped = result.unwrap();
                    assert!(clipped.is_skipped());
                    assert_eq!(clipped.non_finite, ["output.weight"]);
                    // Who steps all the same is told.
                    let error = optimizer.step(0.1, &mut model, gradients).unwrap_err();
                    assert!(matches!(error, FabricError::NoGradients { .. }), "{error}");
                }
            }
        }
    }
}

#[test]
fn the_settings_say_how_much_to_accumulate_and_clip() {
    let fabric = builder()
        .accumulate(2)
        .clip(Clip::Norm(1e-3))
        .build()
        .unwrap();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let mut accumulation = fabric.accumulate(fabric.settings().accumulate).unwrap();
    let mut steps = 0;
    let batches: Vec<Tensor<2>> = input(fabric.device()).split(1, 0);
    for (batch, place) in accumulation.groups(batches) {
        let gradients = fabric.backward(model.loss(&batch), &model).unwrap();
        if let Some(mut gradients) = accumulation.add(place, &model, gradients).unwrap() {
            fabric
                .clip_gradients(&model, &mut gradients, fabric.settings().clip)
                .unwrap();
            let norm = numbers(&gradients, &model)
                .iter()
                .map(|x| x * x)
                .sum::<f64>()
                .sqrt();
            assert!(norm < 1.001e-3, "{norm}");
            optimizer.step(0.1, &mut model, gradients).unwrap();
            steps += 1;
        }
    }
    assert_eq!(steps, 4);
}

#[test]
fn a_group_that_was_left_without_its_end_is_told() {
    let fabric = fabric();
    let model = model(&fabric);
    let x = input(fabric.device());
    let gradients = || fabric.backward(model.loss(&x), &model).unwrap();
    let mut accumulation = fabric.accumulate(2).unwrap();
    // A loop that leaves out the last batch of its first group.
    let mut result = Ok(None);
    for (batch, place) in accumulation.groups(0..4) {
        if batch != 1 {
            result = accumulation.add(place, &model, gradients());
            if result.is_err() {
                break;
            }
        }
    }
    assert!(matches!(result, Err(FabricError::GroupUnfinished)));
    assert!(accumulation.finish().is_some());
    // One that says so loses nothing.
    let mut steps = 0;
    for (batch, place) in accumulation.groups(0..4) {
        let step = match batch {
            1 => accumulation.skip(place),
            _ => accumulation.add(place, &model, gradients()).unwrap(),
        };
        steps += usize::from(step.is_some());
    }
    assert_eq!(steps, 2);
}

#[test]
fn gradients_of_another_shape_or_rank_are_refused_everywhere() {
    let fabric = fabric();
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let device = fabric.inference_device();
    for wrong_rank in [true, false] {
        let wrong = || {
            let mut gradients = GradientsParams::new();
            let id = model.output.weight.id;
            if wrong_rank {
                gradients.register(id, Tensor::<1>::ones([32], &device));
            } else {
                gradients.register(id, Tensor::<2>::ones([4, 8], &device));
            }
            gradients
        };
        let mut accumulation = fabric.accumulate(2).unwrap();
        let errors = [
            fabric
                .clip_gradients(&model, &mut wrong(), None)
                .unwrap_err(),
            accumulation
                .add(MicroBatch::INNER, &model, wrong())
                .unwrap_err(),
        ];
        let wrong = wrong();
        let stepped = optimizer.step(0.1, &mut model, wrong).unwrap_err();
        for error in errors.iter().chain([&stepped]) {
            let FabricError::GradientShape { gradients } = error else {
                panic!("{error}");
            };
            let expected = ShapeMismatch {
                path: "output.weight".to_owned(),
                expected: [8, 4].into(),
                found: (!wrong_rank).then(|| [4, 8].into()),
            };
            assert_eq!(gradients, &[expected]);
        }
    }
}

#[test]
fn a_graph_that_was_walked_already_is_an_error() {
    let fabric = fabric();
    let model = model(&fabric);
    let hidden = model.hidden.forward(input(fabric.device()));
    let first = hidden.clone().powi_scalar(2).mean();
    let second = model.output.forward(hidden).mean();
    assert!(fabric.backward(first, &model).is_ok());
    let error = fabric.backward(second, &model).unwrap_err();
    assert!(matches!(error, FabricError::Backward { .. }), "{error}");
    assert!(error.to_string().contains("Combine losses"), "{error}");
    // Together they work, and so does what comes after.
    let hidden = model.hidden.forward(input(fabric.device()));
    let both = hidden.clone().powi_scalar(2).mean() + model.output.forward(hidden).mean();
    assert_eq!(fabric.backward(both, &model).unwrap().len(), 2);
}

#[test]
fn tiny_and_huge_gradients_have_a_norm() {
    let fabric = fabric();
    let model = model(&fabric);
    let device = fabric.inference_device();
    for (value, dtype) in [
        (1e-30, FloatDType::F32),
        (1e200, FloatDType::F64),
        (1e-200, FloatDType::F64),
        (0.0, FloatDType::F32),
    ] {
        let mut gradients = GradientsParams::new();
        let gradient =
            Tensor::<2>::full([5, 8], value, (&device, burn::tensor::DType::from(dtype)));
        gradients.register(model.hidden.weight.id, gradient);
        let norm = fabric
            .clip_gradients(&model, &mut gradients, None)
            .unwrap()
            .norm;
        let expected = value * 40f64.sqrt();
        assert!(
            (norm - expected).abs() <= 1e-6 * expected,
            "{norm} {expected}"
        );
    }
}
