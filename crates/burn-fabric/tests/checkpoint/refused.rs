//! A checkpoint and a state that do not belong together.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::optim::{AdamConfig, SgdConfig};
use burn::tensor::{Device, FloatDType, Tensor};
use burn_fabric::burn_materialize::{DefaultDTypes, Meta};
use burn_fabric::prelude::*;
use burn_fabric::{
    Accumulation, Custom, FabricError, Loading, MovingAverage, Saving, StateProblem,
};

use crate::run::{Training, alone, scheduler};
use crate::support::{fabric, values};

/// All problems of a refusal, with what is said of them.
fn problems(result: Result<impl Sized, FabricError>) -> (Vec<StateProblem>, String) {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => {
            let text = error.to_string();
            // A message that was wrapped in the source is one line all the same.
            assert!(!text.contains("    "), "{text}");
            match error {
                FabricError::Checkpoint { problems, .. } => (problems, text),
                error => panic!("{error}"),
            }
        }
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Mlp {
    hidden: Linear,
    output: Linear,
}

fn mlp(width: usize) -> impl Fn(&Device) -> Mlp {
    move |device| Mlp {
        hidden: LinearConfig::new(3, width).init(device),
        output: LinearConfig::new(width, 2).init(device),
    }
}

#[derive(TrainingState)]
struct Pair {
    model: FabricModule<Mlp>,
    optimizer: FabricOptimizer,
}

fn pair(fabric: &Fabric, width: usize) -> Pair {
    let model = fabric
        .setup(fabric.init_module(mlp(width)).unwrap())
        .unwrap();
    let mut optimizer = fabric.setup_optimizer(&model, AdamConfig::new()).unwrap();
    let mut model = model;
    step(fabric, &mut model, &mut optimizer);
    Pair { model, optimizer }
}

fn step(fabric: &Fabric, model: &mut FabricModule<Mlp>, optimizer: &mut FabricOptimizer) {
    let x = Tensor::<2>::ones([2, 3], fabric.device());
    let loss = model
        .output
        .forward(model.hidden.forward(x))
        .powi_scalar(2)
        .mean();
    let gradients = fabric.backward(loss, model).unwrap();
    optimizer.step(1e-2, model, gradients).unwrap();
}

#[test]
fn another_architecture_is_told_part_by_part_and_path_by_path() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    fabric.save(folder.path(), &pair(&fabric, 4)).unwrap();
    let mut wider = pair(&fabric, 5);
    let before = values(&*wider.model);
    let (problems, text) = problems(fabric.load(folder.path(), &mut wider));
    assert!(
        matches!(&problems[..], [
            StateProblem::Part { part, source },
            StateProblem::OtherOptimizer { part: second, differences },
        ] if part == "model" && second == "optimizer" && differences.len() == 3
            && matches!(**source, FabricError::Materialize(_))),
        "{text}"
    );
    for part in [
        "`hidden.weight`",
        "[3, 4]",
        "[3, 5]",
        "`output.weight`: the shape [4, 2] there, [5, 2] here",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert_eq!(values(&*wider.model), before);
}

#[test]
fn parts_that_only_one_side_has_are_told() {
    #[derive(TrainingState)]
    struct There {
        number: u32,
        gone: String,
    }
    #[derive(TrainingState)]
    struct Here {
        number: u32,
        new: f32,
    }
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    let there = There {
        number: 7,
        gone: "x".to_owned(),
    };
    fabric.save(folder.path(), &there).unwrap();
    let mut here = Here {
        number: 0,
        new: 0.5,
    };
    let (problems, text) = problems(fabric.load(folder.path(), &mut here));
    assert!(
        matches!(&problems[..], [
            StateProblem::MissingPart { part, there },
            StateProblem::UnexpectedPart { part: second, kind },
        ] if part == "new" && there == &["gone", "number"] && second == "gone" && kind == "value"),
        "{text}"
    );
    assert_eq!(here.number, 0);
    let options = LoadOptions::new().except("new").except("gone");
    fabric
        .load_with(folder.path(), &mut here, &options)
        .unwrap();
    assert_eq!((here.number, here.new), (7, 0.5));
}

#[test]
fn a_part_of_another_kind_is_told() {
    #[derive(TrainingState)]
    struct There {
        part: DeviceRng,
    }
    #[derive(TrainingState)]
    struct Here {
        part: u64,
    }
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    fabric
        .save(
            folder.path(),
            &There {
                part: fabric.device_rng(),
            },
        )
        .unwrap();
    let (problems, text) = problems(fabric.load(folder.path(), &mut Here { part: 1 }));
    assert!(
        matches!(&problems[..], [StateProblem::OtherKind { part, found, expected: "value" }]
            if part == "part" && found == "generator"),
        "{text}"
    );
}

#[test]
fn a_value_of_another_type_is_told() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    fabric.save(folder.path(), &"text".to_owned()).unwrap();
    let mut number = 3_u8;
    let (problems, text) = problems(fabric.load(folder.path(), &mut number));
    assert!(
        matches!(&problems[..], [StateProblem::Value { .. }]),
        "{text}"
    );
    assert_eq!(number, 3);
    // And one that serde cannot write, before anything is.
    struct Unwritable;
    impl serde::Serialize for Unwritable {
        fn serialize<S: serde::Serializer>(&self, _: S) -> Result<S::Ok, S::Error> {
            Err(serde::ser::Error::custom("it is a socket"))
        }
    }
    struct Holds;
    impl TrainingState for Holds {
        fn save_state(&self, saving: &mut Saving) {
            saving.value("socket", &Unwritable);
        }
        fn load_state<'s>(&'s mut self, _: &mut Loading<'s>) {}
    }
    let (problems, text) = self::problems(fabric.save(folder.path(), &Holds));
    assert!(
        matches!(&problems[..], [StateProblem::Value { part, message }]
            if part == "socket" && message.contains("it is a socket")),
        "{text}"
    );
}

#[test]
fn names_that_no_file_could_have_are_refused_with_those_that_are_there_twice() {
    struct Named(&'static [&'static str]);
    impl TrainingState for Named {
        fn save_state(&self, saving: &mut Saving) {
            for name in self.0 {
                saving.part(name, &1_u8);
            }
        }
        fn load_state<'s>(&'s mut self, _: &mut Loading<'s>) {}
    }
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    let bad = [
        "", ".hidden", "a/b", "a\\b", "a:b", "a.b", "fine", "fine", "-x",
    ];
    let bad: &'static [&'static str] = Vec::leak(bad.to_vec());
    let (problems, text) = problems(fabric.save(folder.path(), &Named(bad)));
    let all = problems
        .iter()
        .all(|problem| matches!(problem, StateProblem::PartName { .. }));
    assert!(all && problems.len() == 8, "{text}");
    assert!(!folder.path().join("manifest.json").exists());
}

#[test]
fn another_schedule_is_told_with_its_rates() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    for (there, here) in [
        ("Linear", "Cosine"),
        ("Noam", "Constant"),
        ("Sequential", "Step"),
    ] {
        let mut saved = scheduler(there);
        saved.step();
        fabric.save(folder.path(), &saved).unwrap();
        let mut other = scheduler(here);
        let (problems, text) = problems(fabric.load(folder.path(), &mut other));
        assert!(
            matches!(&problems[..], [StateProblem::OtherSchedule { found, expected, .. }]
                if found.len() == 10 && found != expected),
            "{text}"
        );
        assert_eq!(other.step().base(), scheduler(here).step().base());
    }
}

/// A scheduler of the user's own that panics ends no process.
#[test]
fn a_scheduler_that_panics_is_an_error() {
    use burn::optim::lr_scheduler::{LrScheduler, LrSchedulerRecord};
    #[derive(Clone)]
    struct Bad;
    impl LrScheduler for Bad {
        fn step(&mut self) -> f64 {
            panic!("there are no more steps")
        }
        fn to_record(&self) -> LrSchedulerRecord {
            panic!("the warm-up was never set")
        }
        fn load_record(&mut self, _: LrSchedulerRecord) {}
    }
    let folder = tempfile::tempdir().unwrap();
    let scheduler = ModuleLrScheduler::new(Bad);
    let (_, text) = problems(fabric().save(folder.path(), &scheduler));
    assert!(text.contains("the warm-up was never set"), "{text}");
}

#[test]
fn another_kind_of_optimizer_is_told() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    fabric.save(folder.path(), &pair(&fabric, 4)).unwrap();
    let Pair { model, optimizer } = pair(&fabric, 4);
    drop(optimizer);
    let optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
    let mut here = Pair { model, optimizer };
    let (problems, text) = problems(fabric.load(folder.path(), &mut here));
    assert!(
        matches!(&problems[..], [StateProblem::OtherOptimizer { differences, .. }] if differences.len() == 4),
        "{text}"
    );
    assert!(
        text.contains("`hidden.weight`: AdamConfig there, SgdConfig here"),
        "{text}"
    );
}

/// State that is none of Burn's optimizers' is restored in the device's default dtype; another one
/// would not come back as it was.
#[test]
fn state_of_a_dtype_that_burn_would_not_restore_is_refused_before_it_is_written() {
    let (fabric, folder) = (crate::run::flex(), tempfile::tempdir().unwrap());
    let device = fabric.inference_device();
    let dtypes = DefaultDTypes {
        float: FloatDType::F64,
        ..DefaultDTypes::of(&device)
    };
    let mut model = fabric
        .setup(Meta::build_with(dtypes, mlp(4)).unwrap())
        .unwrap();
    let own = Custom(AdamConfig::new().build());
    let mut optimizer = fabric.setup_optimizer(&model, own).unwrap();
    let x = Tensor::<2>::ones([2, 3], (fabric.device(), burn::tensor::DType::F64));
    let loss = model.output.forward(model.hidden.forward(x)).mean();
    let gradients = fabric.backward(loss, &model).unwrap();
    optimizer.step(1e-2, &mut model, gradients).unwrap();
    // The module alone is as exact as any.
    fabric.save(folder.path(), &model).unwrap();
    let state = Pair { model, optimizer };
    let (problems, text) = problems(fabric.save(folder.path(), &state));
    assert!(
        matches!(&problems[..], [StateProblem::OptimizerState { part, path, .. }]
            if part == "optimizer" && path == "hidden.weight"),
        "{text}"
    );
    assert!(text.contains("f64") && text.contains("f32"), "{text}");
    SavedState::open(folder.path()).unwrap().verify().unwrap();
}

#[test]
fn a_module_of_another_dtype_is_told() {
    let (fabric, folder) = (crate::run::flex(), tempfile::tempdir().unwrap());
    let device = fabric.inference_device();
    let of = |float| {
        let dtypes = DefaultDTypes {
            float,
            ..DefaultDTypes::of(&device)
        };
        fabric
            .setup(Meta::build_with(dtypes, mlp(4)).unwrap())
            .unwrap()
    };
    fabric.save(folder.path(), &of(FloatDType::F32)).unwrap();
    let (problems, text) = problems(fabric.load(folder.path(), &mut of(FloatDType::BF16)));
    assert!(
        matches!(&problems[..], [StateProblem::OtherDType { tensors, .. }] if tensors.len() == 4),
        "{text}"
    );
}

#[test]
fn other_data_are_told() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    let there = Training::new("Sgd", "Constant", 0);
    there.save(folder.path());
    #[derive(TrainingState)]
    struct Data {
        data: FabricDataLoader<Tensor<2>>,
    }
    let items = burn::data::dataset::InMemDataset::new((0..41).collect());
    let loader = LoaderOverDataset::new(items, crate::run::Rows).batch_size(3);
    let mut here = Data {
        data: fabric().setup_dataloader(loader).unwrap(),
    };
    let parts = [
        "model",
        "optimizer",
        "scheduler",
        "accumulation",
        "average",
        "rng",
        "steps",
        "history",
    ];
    let options = parts
        .iter()
        .fold(LoadOptions::new(), |options, part| options.except(*part));
    let (problems, text) = problems(fabric().load_with(folder.path(), &mut here, &options));
    assert!(
        matches!(&problems[..], [StateProblem::Part { part, source }]
            if part == "data" && matches!(&**source, FabricError::OtherData { differences } if differences.len() == 2)),
        "{text}"
    );
}

#[derive(TrainingState)]
struct Waiting {
    model: Option<FabricModule<Mlp>>,
    accumulation: Accumulation,
}

fn waiting(fabric: &Fabric, size: usize) -> Waiting {
    let model = fabric.setup(fabric.init_module(mlp(4)).unwrap()).unwrap();
    let mut accumulation = fabric.accumulate(size).unwrap();
    let x = Tensor::<2>::ones([2, 3], fabric.device());
    let (_, place) = accumulation.groups(0..9).next().unwrap();
    let loss = model.output.forward(model.hidden.forward(x)).mean();
    let gradients = fabric.backward(loss, &model).unwrap();
    accumulation.add(place, &model, gradients).unwrap();
    Waiting {
        model: Some(model),
        accumulation,
    }
}

#[test]
fn accumulated_gradients_belong_to_modules_of_the_state() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    let mut there = waiting(&fabric, 3);
    fabric.save(folder.path(), &there).unwrap();
    // Another size of groups.
    let (problems, text) = problems(fabric.load(folder.path(), &mut waiting(&fabric, 4)));
    assert!(
        matches!(&problems[..], [StateProblem::Part { .. }]),
        "{text}"
    );
    assert!(
        text.contains("micro-batches of a group: 3 there, 4 here"),
        "{text}"
    );
    // No module in the state that loads, or in the one that saves.
    let mut without = Waiting {
        model: None,
        ..waiting(&fabric, 3)
    };
    let options = LoadOptions::new().except("model");
    let (problems, text) = self::problems(fabric.load_with(folder.path(), &mut without, &options));
    assert!(
        matches!(&problems[..], [StateProblem::NoSuchParameter { part, parameters }]
            if part == "accumulation" && parameters.len() == 4),
        "{text}"
    );
    there.model = None;
    let (problems, text) = self::problems(fabric.save(folder.path(), &there));
    assert!(
        matches!(&problems[..], [StateProblem::NoSuchParameter { .. }]),
        "{text}"
    );
}

#[test]
fn an_average_of_another_module_is_told() {
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    let average = |width| {
        let model = fabric
            .setup(fabric.init_module(mlp(width)).unwrap())
            .unwrap();
        MovingAverage::new(&model, 0.9).unwrap()
    };
    fabric.save(folder.path(), &average(4)).unwrap();
    let (problems, text) = problems(fabric.load(folder.path(), &mut average(5)));
    assert!(
        matches!(&problems[..], [StateProblem::NoSuchParameter { parameters, .. }]
            if parameters == &["hidden.bias", "hidden.weight", "output.weight"]),
        "{text}"
    );
}

/// Several things at once: all are told.
#[test]
fn everything_that_is_wrong_is_told_at_once() {
    let _alone = alone();
    let folder = tempfile::tempdir().unwrap();
    Training::new("Adam", "Linear", 0).save(folder.path());
    let mut other = Training::new("Sgd", "Cosine", 0);
    let (problems, text) = problems(fabric().load(folder.path(), &mut other));
    assert_eq!(problems.len(), 2, "{text}");
    assert!(
        text.contains("\n  1. `optimizer`") && text.contains("\n  2. `scheduler`"),
        "{text}"
    );
}

/// A module without tensors was saved, and one with some is there now.
#[test]
fn a_module_that_had_no_tensors_is_not_taken_for_one_that_has() {
    #[derive(Module, Materialize, ResetParameters, Debug)]
    struct Layers {
        layers: Vec<Linear>,
    }
    let fabric = fabric();
    let module = |count: usize| {
        let new = |device: &Device| Layers {
            layers: (0..count)
                .map(|_| LinearConfig::new(2, 2).init(device))
                .collect(),
        };
        fabric.setup(fabric.init_module(new).unwrap()).unwrap()
    };
    let folder = tempfile::tempdir().unwrap();
    fabric.save(folder.path(), &module(0)).unwrap();
    fabric.load(folder.path(), &mut module(0)).unwrap();
    let (_, text) = problems(fabric.load(folder.path(), &mut module(1)));
    assert!(text.contains("`state`: "), "{text}");
    assert!(
        text.contains("`layers.0.weight` is missing from the file: "),
        "{text}"
    );
}

/// A group that only one side has does not show in the base rates.
#[test]
fn another_group_of_a_schedule_is_told() {
    use burn::module::ParamGroup;
    use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
    use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrSchedulerConfig;
    let (fabric, folder) = (fabric(), tempfile::tempdir().unwrap());
    let linear = || LinearLrSchedulerConfig::new(1e-2, 1e-4, 50);
    let plain = || ModuleLrSchedulerConfig::new(linear().into());
    let mut grouped = plain()
        .with_group(ParamGroup::from_predicate("head"), linear())
        .init()
        .unwrap();
    let mut alone = plain().init().unwrap();
    for _ in 0..4 {
        grouped.step();
        alone.step();
    }
    for (there, here) in [
        (&grouped, &mut alone.clone()),
        (&alone, &mut grouped.clone()),
    ] {
        fabric.save(folder.path(), there).unwrap();
        let (problems, text) = problems(fabric.load(folder.path(), here));
        assert!(
            matches!(&problems[..], [StateProblem::OtherSchedule { .. }]),
            "{text}"
        );
    }
}
