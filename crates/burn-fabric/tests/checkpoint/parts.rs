//! What a part keeps beside its tensors, on whatever device.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::{AdamWConfig, SgdConfig};
use burn_fabric::prelude::*;
use burn_fabric::{FabricError, StateProblem};

use crate::run::{Net, Training, alone};
use crate::support::{builder, fabric, values};

fn on_device() -> Training {
    Training::on(builder().seed(11).build().unwrap(), "AdamW", "Cosine", 2)
}

#[test]
fn everything_comes_back_on_the_device_it_was_on() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut there = on_device();
    there.train(20);
    there.save(folder.path());
    let mut here = on_device();
    let report = here.fabric().load(folder.path(), &mut on_device()).unwrap();
    assert_eq!(report.parts.len(), 9);
    here.train(1);
    let fabric = builder().build().unwrap();
    fabric.load(folder.path(), &mut here).unwrap();
    assert_eq!(values(&*here.model), values(&*there.model));
    assert_eq!(here.data.position(), there.data.position());
    assert_eq!((here.steps, &here.history), (there.steps, &there.history));
    let again = tempfile::tempdir().unwrap();
    here.save(again.path());
    assert_eq!(
        crate::run::manifest(folder.path()),
        crate::run::manifest(again.path())
    );
    // And it trains on.
    here.train(5);
    there.train(5);
    let device = fabric.inference_device();
    assert!(here.model.devices().iter().all(|one| *one == device));
}

/// One weight is one leaf at both places, before and after.
#[test]
fn a_tie_is_a_tie_after_a_load() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let mut there = on_device();
    there.train(4);
    there.save(folder.path());
    let mut here = on_device();
    builder()
        .build()
        .unwrap()
        .load(folder.path(), &mut here)
        .unwrap();
    here.train(6);
    let net: &Net = &here.model;
    assert_eq!(net.encoder.weight.id, net.decoder.id);
    assert_eq!(net.encoder.weight.to_data(), net.decoder.to_data());
}

#[test]
fn flags_and_frozen_parameters_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let fabric = fabric();
    let new = || fabric.setup(fabric.init_module(Net::new).unwrap()).unwrap();
    let mut there = new();
    there
        .map(|mut net| {
            net.norm = net.norm.no_grad();
            net.dropout.training = net.dropout.training.with_value(false);
            net
        })
        .unwrap();
    fabric.save(folder.path(), &State { model: there }).unwrap();
    let mut here = State { model: new() };
    assert!(here.model.norm.gamma.is_require_grad());
    fabric.load(folder.path(), &mut here).unwrap();
    assert!(!here.model.norm.gamma.is_require_grad());
    assert!(here.model.encoder.weight.is_require_grad());
    assert!(!here.model.dropout.training.is_enabled());
    assert!(here.model.norm.training.is_enabled());
    // What is frozen is not optimised, and what was frozen can be thawed by another checkpoint.
    let optimizer = fabric
        .setup_optimizer(&here.model, SgdConfig::new())
        .unwrap();
    assert!(optimizer.paths().all(|path| !path.starts_with("norm")));
    drop(optimizer);
    let thawed = tempfile::tempdir().unwrap();
    fabric.save(thawed.path(), &State { model: new() }).unwrap();
    fabric.load(thawed.path(), &mut here).unwrap();
    assert!(here.model.norm.gamma.is_require_grad());
}

#[derive(TrainingState)]
struct State {
    model: FabricModule<Net>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Two {
    first: Linear,
    second: Linear,
}

impl Two {
    fn new(device: &burn::tensor::Device) -> Self {
        Self {
            first: LinearConfig::new(3, 3).init(device),
            second: LinearConfig::new(3, 2).init(device),
        }
    }
}

#[derive(TrainingState)]
struct Partly {
    model: FabricModule<Two>,
    optimizer: FabricOptimizer,
}

impl Partly {
    fn over(fabric: &Fabric, part: &str) -> Self {
        let model = fabric.setup(fabric.init_module(Two::new).unwrap()).unwrap();
        let of = match part {
            "" => model.parameters(),
            part => model.parameters().only([part]),
        };
        let optimizer = fabric.setup_optimizer(&of, AdamWConfig::new()).unwrap();
        Self { model, optimizer }
    }

    fn step(&mut self, fabric: &Fabric) {
        let x = burn::tensor::Tensor::<2>::ones([2, 3], fabric.device());
        let loss = self
            .model
            .second
            .forward(self.model.first.forward(x))
            .powi_scalar(2)
            .mean();
        let gradients = fabric.backward(loss, &self.model).unwrap();
        self.optimizer
            .step(1e-2, &mut self.model, gradients)
            .unwrap();
    }
}

#[test]
fn case_17_optimizer_state_is_matched_by_path() {
    let fabric = fabric();
    let folder = tempfile::tempdir().unwrap();
    let mut there = Partly::over(&fabric, "");
    there.step(&fabric);
    fabric.save(folder.path(), &there).unwrap();

    // Ids are others in every module, and do not matter.
    let mut here = Partly::over(&fabric, "");
    assert_ne!(here.model.first.weight.id, there.model.first.weight.id);
    let report = fabric.load(folder.path(), &mut here).unwrap();
    let matched = &report.optimizers["optimizer"];
    let all = ["first.weight", "first.bias", "second.weight", "second.bias"];
    assert_eq!(matched.matched, all);
    assert!(matched.orphaned.is_empty() && matched.fresh.is_empty());
    here.step(&fabric);
    there.step(&fabric);
    assert_eq!(values(&*here.model), values(&*there.model));

    // Over a part only: told, and refused unless it is meant.
    let mut head = Partly::over(&fabric, "second");
    let error = fabric.load(folder.path(), &mut head).unwrap_err();
    let FabricError::Checkpoint { problems, .. } = &error else {
        panic!("{error}");
    };
    assert!(
        matches!(&problems[..], [StateProblem::OtherParameters { part, orphaned, fresh }]
            if part == "optimizer" && orphaned == &["first.bias", "first.weight"] && fresh.is_empty()),
        "{error}"
    );
    let options = LoadOptions::new().allow_orphans(true);
    let report = fabric
        .load_with(folder.path(), &mut head, &options)
        .unwrap();
    assert_eq!(
        report.optimizers["optimizer"].orphaned,
        ["first.bias", "first.weight"]
    );
    let text = report.to_string();
    assert!(
        text.contains("state of 2 parameters; lost, of `first.bias`, `first.weight`"),
        "{text}"
    );
}

#[test]
fn parts_within_parts_are_named_by_both() {
    #[derive(TrainingState)]
    struct Inner {
        number: u32,
    }
    #[derive(TrainingState)]
    struct Outer {
        one: Inner,
        some: Vec<Inner>,
        perhaps: Option<Inner>,
        r#type: String,
    }
    let state = |base: u32, perhaps: bool| Outer {
        one: Inner { number: base },
        some: vec![Inner { number: base + 1 }, Inner { number: base + 2 }],
        perhaps: perhaps.then(|| Inner { number: base + 3 }),
        r#type: base.to_string(),
    };
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    fabric.save(folder.path(), &state(7, true)).unwrap();
    let saved = SavedState::open(folder.path()).unwrap();
    let names: Vec<&str> = saved.parts().map(|(name, _)| name).collect();
    let all = [
        "one.number",
        "perhaps.number",
        "some.0.number",
        "some.1.number",
        "type",
    ];
    assert_eq!(names, all);
    let mut here = state(0, true);
    fabric.load(folder.path(), &mut here).unwrap();
    assert_eq!(here.some[1].number, 9);
    assert_eq!(here.perhaps.map(|inner| inner.number), Some(10));
    assert_eq!((here.one.number, here.r#type.as_str()), (7, "7"));
    // What is not there is not passed over.
    let error = fabric
        .load(folder.path(), &mut state(0, false))
        .unwrap_err();
    assert!(
        error.to_string().contains("`perhaps.number`, a value"),
        "{error}"
    );
    let except = LoadOptions::new().except("perhaps");
    fabric
        .load_with(folder.path(), &mut state(0, false), &except)
        .unwrap();
}

#[test]
fn one_part_alone_is_a_state() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    fabric.save(folder.path(), &42_u64).unwrap();
    let mut number = 0_u64;
    fabric.load(folder.path(), &mut number).unwrap();
    assert_eq!(number, 42);
}

/// A loop that counts its groups itself.
#[test]
fn micro_batches_counted_by_hand_go_on_after_a_load() {
    use burn_fabric::{Accumulation, MicroBatch};
    #[derive(TrainingState)]
    struct Waiting {
        model: FabricModule<Two>,
        accumulation: Accumulation,
    }
    let fabric = fabric();
    let begin = || Waiting {
        model: fabric.setup(fabric.init_module(Two::new).unwrap()).unwrap(),
        accumulation: fabric.accumulate(2).unwrap(),
    };
    let add = |state: &mut Waiting, place| {
        let loss = state.model.first.weight.val().powi_scalar(2).sum();
        let gradients = fabric.backward(loss, &state.model).unwrap();
        state
            .accumulation
            .add(place, &state.model, gradients)
            .unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    let mut there = begin();
    assert!(add(&mut there, MicroBatch::INNER).is_none());
    fabric.save(folder.path(), &there).unwrap();
    let mut here = begin();
    fabric.load(folder.path(), &mut here).unwrap();
    let ends = [&mut there, &mut here].map(|state| {
        let mean = add(state, MicroBatch::LAST).unwrap();
        let gradient = mean.get::<2>(state.model.first.weight.id).unwrap();
        gradient.into_data()
    });
    assert_eq!(ends[0], ends[1]);
}

/// The derive works where a macro gives the types.
#[test]
fn a_state_can_come_from_a_macro() {
    macro_rules! state {
        ($name:ident, $kind:ident) => {
            #[derive(TrainingState)]
            struct $name {
                number: $kind,
            }
        };
    }
    state!(Number, u32);
    let folder = tempfile::tempdir().unwrap();
    fabric().save(folder.path(), &Number { number: 3 }).unwrap();
    let mut here = Number { number: 0 };
    fabric().load(folder.path(), &mut here).unwrap();
    assert_eq!(here.number, 3);
}
