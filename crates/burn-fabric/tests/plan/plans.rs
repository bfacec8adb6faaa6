//! What a plan says.

use burn::optim::{AdamWConfig, LionConfig, SgdConfig};
use burn::tensor::{DType, GradientCheckpointingStrategy, Tensor};
use burn_fabric::burn_materialize::{DeviceMemory, HalfPrecision, Role, TraceOptions};
use burn_fabric::prelude::*;
use burn_fabric::{Change, ParameterGroup, ParameterGroups, Plan, Stage};

use super::model::{LENGTH, Model, PARAMETERS, WIDTH, forward, loss, meta};

const MASK: u64 = 4 * (LENGTH * LENGTH) as u64;

#[test]
fn inference_takes_the_module_and_what_the_trace_says() {
    let meta = meta();
    let plan = Plan::of(&meta).batch(8).inference(forward).unwrap();
    let trace = meta
        .trace(|model, device| forward(model, device, 8))
        .unwrap();
    assert_eq!(*plan.trace, trace);
    let memory = &plan.memory;
    assert_eq!(memory.parameters, 4 * PARAMETERS);
    assert_eq!(memory.buffers, MASK);
    assert_eq!(memory.peak, trace.memory.peak);
    assert_eq!(memory.held() + memory.pass, memory.peak);
    assert_eq!(memory.peak_in, Stage::Forward);
    assert_eq!(
        (memory.gradients, memory.optimizer_state, memory.step),
        (0, 0, 0)
    );
    assert!(plan.fits() && plan.excess() == 0);
    assert_eq!((plan.budget, plan.largest_batch), (None, None));
    assert!(plan.helps.is_empty() && plan.optimizers.is_empty());
}

#[test]
fn training_adds_gradients_state_and_masters() {
    let meta = meta();
    let request = Plan::of(&meta).batch(2);
    let in_precision = |precision| {
        let request = request.clone().precision(precision);
        request.training(AdamWConfig::new(), loss).unwrap()
    };
    let bytes = |plan: &Plan| {
        let memory = &plan.memory;
        let all = [
            memory.parameters,
            memory.optimizer_state,
            memory.master_weights,
            memory.gradients,
        ];
        all.map(|bytes| bytes as f64 / PARAMETERS as f64)
    };
    // As the table of `Precision` has it.
    assert_eq!(bytes(&in_precision(Precision::F32)), [4.0, 8.0, 0.0, 4.0]);
    assert_eq!(bytes(&in_precision(Precision::Bf16)), [2.0, 4.0, 0.0, 2.0]);
    let mixed = in_precision(Precision::MixedBf16);
    assert_eq!(bytes(&mixed), [2.0, 8.0, 4.0, 4.0]);
    assert_eq!(mixed.optimizers, ["AdamWConfig"]);
    assert!(mixed.update.flops > 10 * PARAMETERS);
    let memory = &mixed.memory;
    assert_eq!(memory.peak, memory.held() + memory.pass.max(memory.step));
    assert!(memory.step >= memory.gradients);
}

#[test]
fn layer_norms_in_f16_stay_in_f32() {
    let meta = meta();
    let request = Plan::of(&meta).precision(Precision::MixedF16);
    let plan = request.training(AdamWConfig::new(), loss).unwrap();
    for leaf in &plan.trace.leaves {
        let expected = match leaf.path.starts_with("norm.") {
            true => DType::F32,
            false => DType::F16,
        };
        assert_eq!(leaf.dtype, expected, "{}", leaf.path);
    }
    let masters = plan.memory.master_weights;
    assert_eq!(
        masters,
        4 * (PARAMETERS - 2 * WIDTH as u64),
        "norms need none"
    );
}

#[test]
fn the_module_of_a_plan_is_the_one_that_a_fabric_sets_up() {
    let fabric = Fabric::builder().build().unwrap();
    let meta = fabric.init_module(Model::new).unwrap();
    let plan = fabric.plan(&meta).training(SgdConfig::new(), loss).unwrap();
    // What the device says that it has; a graphics card does not.
    assert_eq!(
        plan.budget,
        DeviceMemory::of(fabric.device()).unwrap().total
    );
    assert_eq!(plan.budget.is_none(), device_under_test::name() == "wgpu");
    if let Some(budget) = plan.budget {
        assert!(budget > 1 << 20);
        assert!(plan.largest_batch.is_some_and(|batch| batch > 1000));
    }
    let model = fabric.setup(meta).unwrap();
    let real = Plan::of_module(model.module().unwrap());
    let real = real.training(SgdConfig::new(), loss).unwrap();
    assert_eq!(real.memory, plan.memory);
    assert_eq!(real.trace.leaves, plan.trace.leaves);
}

#[test]
fn the_settings_of_a_fabric_are_those_of_its_plans() {
    let builder = Fabric::builder().gradient_checkpointing(true).accumulate(3);
    let fabric = builder.build().unwrap();
    let meta = fabric.init_module(Model::new).unwrap();
    let plan = fabric.plan(&meta).training(SgdConfig::new(), loss).unwrap();
    assert!(plan.gradient_checkpointing);
    assert_eq!(plan.accumulate, 3);
    let once = fabric.plan(&meta).accumulate(1);
    let once = once.training(SgdConfig::new(), loss).unwrap();
    assert_eq!(plan.memory.pass, once.memory.pass + once.memory.gradients);
}

#[test]
fn groups_have_the_state_of_their_own_optimizer() {
    let meta = meta();
    let embedding_by_sgd = ParameterGroup::of(["embedding"]).optimizer(SgdConfig::new());
    let groups = ParameterGroups::new(AdamWConfig::new()).with(embedding_by_sgd);
    let plan = Plan::of(&meta).training(groups, loss).unwrap();
    assert_eq!(plan.optimizers, ["AdamWConfig", "SgdConfig"]);
    let embedding = meta.inventory()[0].elements() as u64;
    assert_eq!(plan.memory.optimizer_state, 8 * (PARAMETERS - embedding));
    // The first group takes what the others leave: here nothing, and its optimizer takes no part.
    let rest = ParameterGroup::of(["**"]).optimizer(LionConfig::new());
    let groups = ParameterGroups::new(AdamWConfig::new()).with(rest);
    let plan = Plan::of(&meta).training(groups, loss).unwrap();
    assert_eq!(plan.optimizers, ["LionConfig"]);
}

#[test]
fn what_is_frozen_has_no_gradient_and_no_state() {
    let meta = meta().map(|model, _| Model {
        mixer: burn::module::Module::no_grad(model.mixer),
        ..model
    });
    let meta = meta.unwrap();
    let plan = Plan::of(&meta).training(AdamWConfig::new(), loss).unwrap();
    let frozen = (WIDTH * WIDTH + WIDTH) as u64;
    assert_eq!(plan.memory.parameters, 4 * PARAMETERS);
    assert_eq!(plan.memory.gradients, 4 * (PARAMETERS - frozen));
    assert_eq!(plan.memory.optimizer_state, 8 * (PARAMETERS - frozen));
}

#[test]
fn the_largest_batch_fits_and_the_next_does_not() {
    let meta = meta();
    for budget in [1_000_000, 3 << 20, 64 << 20] {
        let request = Plan::of(&meta).budget(budget);
        let plan = request.training(AdamWConfig::new(), loss).unwrap();
        let largest = plan.largest_batch.unwrap();
        assert!(largest > 1, "{budget}: {largest}");
        let fits = |batch| {
            let request = request.clone().batch(batch);
            request.training(AdamWConfig::new(), loss).unwrap().fits()
        };
        assert!(fits(largest) && !fits(largest + 1), "{budget}: {largest}");
        let at_largest = request.clone().batch(largest);
        let at_largest = at_largest.training(AdamWConfig::new(), loss).unwrap();
        assert_eq!(at_largest.largest_batch, Some(largest));
        assert!(at_largest.room() < budget / 4, "{at_largest}");
    }
}

#[test]
fn a_budget_below_the_module_has_no_batch() {
    let meta = meta();
    let plan = Plan::of(&meta).budget(1000).inference(forward).unwrap();
    assert_eq!(plan.largest_batch, Some(0));
    assert_eq!(plan.excess(), plan.memory.peak - 1000);
    assert_eq!(plan.room(), 0);
}

#[test]
fn what_does_not_grow_has_no_largest_batch() {
    let meta = meta();
    let request = Plan::of(&meta).budget(64 << 20);
    let plan = request.inference(|model: &Model, device, _| forward(model, device, 1));
    assert_eq!(plan.unwrap().largest_batch, None);
}

/// Each help is what a plan of its own says.
#[test]
fn helps_are_traced_and_sorted() {
    let meta = meta();
    let request = Plan::of(&meta).budget(1 << 20).batch(64);
    let plan = request.training(AdamWConfig::new(), loss).unwrap();
    assert!(!plan.fits());
    assert!(plan.helps.len() >= 4, "{plan}");
    let alone = plan.helps.iter().filter(|help| help.changes.len() == 1);
    let alone: Vec<_> = alone.collect();
    assert!(alone.is_sorted_by_key(|help| std::cmp::Reverse(help.saves)));
    for help in &plan.helps {
        assert_eq!(help.peak, plan.memory.peak - help.saves);
        assert_eq!(help.fits, help.peak <= 1 << 20);
        let mut changed = request.clone();
        let mut is_frugal = false;
        for change in &help.changes {
            changed = match *change {
                Change::GradientCheckpointing => changed.gradient_checkpointing(true),
                Change::Precision(precision) => changed.precision(precision),
                Change::Batch(batch) => changed.batch(batch),
                Change::Accumulate { batch, accumulate } => {
                    changed.batch(batch).accumulate(accumulate)
                }
                Change::Adafactor => {
                    is_frugal = true;
                    changed
                }
            };
        }
        let planned = match is_frugal {
            true => changed.training(burn::optim::AdafactorConfig::new(), loss),
            false => changed.training(AdamWConfig::new(), loss),
        };
        assert_eq!(planned.unwrap().memory.peak, help.peak, "{help}");
    }
    // Nothing alone is enough for a tenth of a megabyte too little; together they are listed last.
    assert!(plan.helps.last().unwrap().changes.len() > 1, "{plan}");
}

#[test]
fn inference_that_does_not_fit_is_helped_by_half_precision_and_smaller_batches() {
    let meta = meta();
    let request = Plan::of(&meta).budget(2 << 20).batch(100);
    let plan = request.inference(forward).unwrap();
    let changes: Vec<&Change> = plan.helps.iter().flat_map(|help| &help.changes).collect();
    assert!(
        changes.contains(&&Change::Precision(Precision::Bf16)),
        "{plan}"
    );
    assert!(changes.contains(&&Change::Batch(50)), "{plan}");
}

#[test]
fn half_precision_by_f32_takes_more() {
    let meta = meta();
    let request = Plan::of(&meta).batch(16).precision(Precision::Bf16);
    let native = request.inference(forward).unwrap().memory.peak;
    let by_f32 = request.half_precision(HalfPrecision::ByF32);
    let by_f32 = by_f32.inference(forward).unwrap().memory.peak;
    let in_f32 = Plan::of(&meta).batch(16).inference(forward).unwrap();
    assert_eq!(2 * native, in_f32.memory.peak);
    assert!(by_f32 > native, "{by_f32} {native}");
}

#[test]
fn several_precisions_share_what_they_trace() {
    let meta = meta();
    let count = std::cell::Cell::new(0);
    let counted = |model: &Model, device: &burn::tensor::Device, batch| -> Tensor<1> {
        count.set(count.get() + 1);
        loss(model, device, batch)
    };
    let precisions = [Precision::F32, Precision::Bf16, Precision::MixedBf16];
    let request = Plan::of(&meta);
    let plans = request
        .training_in(precisions, AdamWConfig::new(), counted)
        .unwrap();
    assert_eq!(count.get(), 2, "both of bf16 are one pass");
    assert!(std::sync::Arc::ptr_eq(&plans[1].trace, &plans[2].trace));
    for (plan, precision) in plans.iter().zip(precisions) {
        let alone = request.clone().precision(precision);
        assert_eq!(*plan, alone.training(AdamWConfig::new(), loss).unwrap());
    }
    let plans = request
        .inference_in([Precision::F32, Precision::Bf16], forward)
        .unwrap();
    assert!(plans[0].memory.peak > plans[1].memory.peak);
}

#[test]
fn a_plan_can_be_written_and_read() {
    let meta = meta();
    let request = Plan::of(&meta).budget(1 << 20).batch(64);
    let plan = request.training(AdamWConfig::new(), loss).unwrap();
    let text = serde_json::to_string(&plan).unwrap();
    assert!(text.len() < 4000, "{text}");
    let read: Plan = serde_json::from_str(&text).unwrap();
    assert_eq!(read.memory, plan.memory);
    assert_eq!(read.helps, plan.helps);
    assert_eq!(read.to_string(), plan.to_string());
    let trace = serde_json::to_string(&*plan.trace).unwrap();
    assert_eq!(*plan.trace, serde_json::from_str(&trace).unwrap());
}

#[test]
fn gradient_checkpointing_is_that_of_the_trace() {
    let meta = meta();
    let request = Plan::of(&meta).batch(4).gradient_checkpointing(true);
    let plan = request.training(SgdConfig::new(), loss).unwrap();
    let options =
        TraceOptions::default().gradient_checkpointing(GradientCheckpointingStrategy::Balanced);
    let trace = meta
        .trace_training_with(options, |model, device| loss(model, device, 4))
        .unwrap();
    assert_eq!(*plan.trace, trace);
    let buffers = trace
        .leaves
        .iter()
        .filter(|leaf| leaf.role != Role::Parameter);
    assert_eq!(buffers.map(|leaf| leaf.bytes()).sum::<u64>(), MASK);
}

#[test]
fn gradients_of_several_batches_are_summed_in_f32() {
    let meta = meta();
    let request = Plan::of(&meta).precision(Precision::Bf16).batch(4);
    let plan = |accumulate| {
        let request = request.clone().accumulate(accumulate);
        request.training(SgdConfig::new(), loss).unwrap().memory
    };
    let (one, several) = (plan(1), plan(2));
    assert_eq!(one.gradients, 2 * PARAMETERS);
    assert_eq!(several.gradients, 4 * PARAMETERS);
    assert!(several.pass >= one.pass + 4 * PARAMETERS);
}

#[test]
fn a_help_that_cannot_be_traced_costs_no_plan() {
    let meta = meta();
    // In f32 alone, and by fours.
    let stubborn = |model: &Model, device: &burn::tensor::Device, batch: usize| {
        assert_eq!(batch % 4, 0, "by fours");
        let x = forward(model, device, batch);
        let ones = Tensor::<3>::ones(x.dims(), (device, burn::tensor::DType::F32));
        (x + ones).mean()
    };
    let request = Plan::of(&meta).batch(4).budget(1 << 10);
    let plan = request.training(AdamWConfig::new(), stubborn).unwrap();
    assert!(!plan.fits());
    let changes = plan.helps.iter().flat_map(|help| &help.changes);
    let changes: Vec<&Change> = changes.collect();
    assert!(changes.contains(&&Change::Adafactor), "{plan}");
    let cannot =
        |change: &&Change| matches!(change, Change::Precision(_) | Change::Accumulate { .. });
    assert!(!changes.iter().any(cannot), "{plan}");
}
