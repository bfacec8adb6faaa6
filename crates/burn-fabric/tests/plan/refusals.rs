//! What there is no plan for, and what is not even set up.

use burn::nn::LinearConfig;
use burn::optim::{AdamWConfig, MuonConfig, SgdConfig, SgdState};
use burn::tensor::{Device, Tensor};
use burn_fabric::burn_materialize::TraceError;
use burn_fabric::prelude::*;
use burn_fabric::{Custom, Plan, PlanError};

use super::model::{Model, forward, loss, meta};

#[test]
fn shapes_that_do_not_fit_are_told_with_the_batch() {
    let meta = meta();
    let request = Plan::of(&meta).batch(7);
    let error = request.inference(|model: &Model, device, batch| {
        model.mixer.forward(Tensor::<2>::zeros([batch, 3], device))
    });
    let error = error.unwrap_err();
    let is_it = matches!(
        &error,
        PlanError::Trace {
            batch: 7,
            source: TraceError::Shape { .. }
        }
    );
    assert!(is_it, "{error}");
    assert!(
        error.to_string().starts_with("at a batch of 7: shapes"),
        "{error}"
    );
}

#[test]
fn nothing_is_not_a_batch() {
    let meta = meta();
    let empty = Plan::of(&meta).batch(0).inference(forward);
    assert!(matches!(empty, Err(PlanError::EmptyBatch)));
    let never = Plan::of(&meta)
        .accumulate(0)
        .training(SgdConfig::new(), loss);
    assert!(matches!(never, Err(PlanError::EmptyBatch)));
}

#[test]
fn an_optimizer_that_does_not_go_with_the_module_is_refused() {
    let meta = meta();
    let error = Plan::of(&meta)
        .training(MuonConfig::new(), loss)
        .unwrap_err();
    let is_it = matches!(&error, PlanError::Optimizer(error) if matches!(**error, FabricError::Rank { .. }));
    assert!(is_it, "{error}");
}

#[derive(Clone)]
struct Reads;

impl burn::optim::Optimizer for Reads {
    type State<const D: usize> = SgdState<D>;

    fn step<const D: usize>(
        &self,
        rate: f64,
        weight: Tensor<D>,
        gradient: Tensor<D>,
        state: Option<Self::State<D>>,
    ) -> (Tensor<D>, Option<Self::State<D>>) {
        let scale = gradient.clone().abs().max().into_scalar::<f32>();
        (weight - gradient * (rate as f32 / scale), state)
    }

    fn to_device<const D: usize>(state: Self::State<D>, _: &Device) -> Self::State<D> {
        state
    }
}

#[test]
fn an_optimizer_that_reads_values_has_no_plan_and_is_set_up_all_the_same() {
    let meta = meta();
    let error = Plan::of(&meta).training(Custom(Reads), loss).unwrap_err();
    let (optimizer, parameter) = match &error {
        PlanError::Step {
            optimizer,
            parameter,
            ..
        } => (optimizer, parameter),
        other => panic!("{other}"),
    };
    assert!(optimizer.ends_with("Reads"), "{error}");
    assert_eq!(parameter, "embedding.weight");
    let fabric = Fabric::builder().build().unwrap();
    let meta = fabric.init_module(Model::new).unwrap();
    assert!(fabric.setup_with_optimizer(meta, Custom(Reads)).is_ok());
}

/// More than any machine has with its moments, and not without: nothing of it is allocated.
#[test]
fn what_cannot_be_trained_is_refused_before_anything_is_allocated() {
    let fabric = Fabric::builder().build().unwrap();
    let plan = fabric.plan(&meta()).inference(forward).unwrap();
    let Some(budget) = plan.budget else {
        // A graphics card does not say what it has, so nothing is refused.
        assert_eq!(device_under_test::name(), "wgpu");
        let config = LinearConfig::new(4, 4);
        let meta = fabric.init_module(|device| config.init(device)).unwrap();
        assert!(
            fabric
                .setup_with_optimizer(&meta, AdamWConfig::new())
                .is_ok()
        );
        return;
    };
    // Weights in a third of the memory: with gradients and moments that is four thirds.
    let width = ((budget / 3 / 4) as f64).sqrt() as usize;
    let config = LinearConfig::new(width, width).with_bias(false);
    let meta = fabric.init_module(|device| config.init(device)).unwrap();
    let before = resident();
    let error = fabric
        .setup_with_optimizer(&meta, AdamWConfig::new())
        .unwrap_err();
    let (needs, memory) = match &error {
        FabricError::DoesNotFit { needs, memory, .. } => (needs, memory),
        other => panic!("{other}"),
    };
    let weights = 4 * (width * width) as u64;
    assert_eq!(*memory, budget);
    assert_eq!((needs.parameters, needs.gradients), (weights, weights));
    assert_eq!(needs.optimizer_state, 2 * weights);
    assert_eq!(needs.total(), 4 * weights);
    let text = error.to_string();
    for part in ["of parameters", "of optimizer state", "fabric.plan"] {
        assert!(text.contains(part), "{text}");
    }
    assert!(resident() < before + (64 << 20));
    // What the plan says as well.
    let plan = fabric
        .plan(&meta)
        .training(AdamWConfig::new(), |linear, device, batch| {
            linear
                .forward(Tensor::<2>::zeros([batch, width], device))
                .mean()
        });
    assert_eq!(plan.unwrap().largest_batch, Some(0));
}

#[test]
fn a_module_that_cannot_fit_is_refused_with_its_totals() {
    let fabric = Fabric::builder().build().unwrap();
    let config = LinearConfig::new(1 << 24, 1 << 24);
    let meta = fabric.init_module(|device| config.init(device)).unwrap();
    let error = fabric.setup(&meta).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, FabricError::Materialize(_)), "{text}");
    assert!(text.contains("1.0 PiB"), "{text}");
}

/// The resident bytes of this process.
fn resident() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<u64>().ok());
    pages.unwrap_or(0) * 4096
}
