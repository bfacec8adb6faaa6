//! Activations computed again in the backward pass: the same numbers, and no two kinds of tensors.

#[path = "precision/model.rs"]
#[allow(dead_code, reason = "the other program uses the rest")]
mod model;
mod support;

use burn::nn::LinearConfig;
use burn::optim::AdamWConfig;
use burn::tensor::GradientCheckpointingStrategy::{self, Balanced};
use burn_fabric::burn_materialize::{Pass, SaveOptions, Site, Slot, save, traverse};
use burn_fabric::prelude::*;
use model::{Model, batch};
use support::{builder, values};

/// The strategy of every tensor.
fn strategies<M: Materialize>(module: &M) -> Vec<(String, Option<GradientCheckpointingStrategy>)> {
    struct Collect(Vec<(String, Option<GradientCheckpointingStrategy>)>);
    impl Pass for Collect {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            let strategy = slot.device().gradient_checkpointing_strategy();
            self.0.push((site.path().to_owned(), strategy));
        }
    }
    let mut collect = Collect(Vec::new());
    traverse(module.clone(), &mut collect);
    collect.0
}

fn all_are_balanced(model: &FabricModule<Model>, when: &str) {
    let found = strategies(model.module().unwrap());
    assert!(found.len() > 10, "{found:?}");
    let other = found
        .iter()
        .filter(|(_, strategy)| *strategy != Some(Balanced));
    assert_eq!(
        other.collect::<Vec<_>>(),
        Vec::<&(String, _)>::new(),
        "{when}"
    );
}

fn step(
    fabric: &Fabric,
    model: &mut FabricModule<Model>,
    optimizer: &mut FabricOptimizer,
    n: usize,
) {
    fabric.inference_device().seed(n as u64); // of the dropout
    let loss = model.loss(batch(n, fabric.device()));
    let gradients = fabric.backward(loss, &*model).unwrap();
    optimizer.step(1e-2, model, gradients).unwrap();
}

/// One test: the generator of the dropout is the process's.
#[test]
fn every_tensor_is_checkpointed_whatever_happens_to_the_module_and_the_numbers_stay() {
    let fabric = |on| {
        builder()
            .seed(5)
            .gradient_checkpointing(on)
            .build()
            .unwrap()
    };
    let train = |on: bool| {
        let fabric = fabric(on);
        let meta = fabric.init_module(Model::new).unwrap();
        let (mut model, mut optimizer) = fabric
            .setup_with_optimizer(meta, AdamWConfig::new())
            .unwrap();
        for n in 0..5 {
            step(&fabric, &mut model, &mut optimizer, n);
        }
        (fabric, model, optimizer)
    };
    let (plain, without, _) = train(false);
    let (fabric, mut model, mut optimizer) = train(true);
    assert_eq!(
        plain.device().gradient_checkpointing_strategy(),
        Some(Default::default())
    );
    assert_eq!(
        fabric.device().gradient_checkpointing_strategy(),
        Some(Balanced)
    );
    assert_eq!(values(&*model), values(&*without));
    all_are_balanced(&model, "after steps");

    // A batch of the loader's, a module set up from plain Burn, a new part, a reset, a file, an
    // average: all meet.
    let lazy = fabric
        .setup(Model::new(&fabric.inference_device()))
        .unwrap();
    all_are_balanced(&lazy, "from a plain module");
    let device = fabric.inference_device();
    model
        .map(|mut module| {
            module.linear = LinearConfig::new(16, 16).init(&device);
            module.linear.weight.val();
            module.linear.bias.as_ref().unwrap().val();
            module
        })
        .unwrap();
    all_are_balanced(&model, "after a new part");
    step(&fabric, &mut model, &mut optimizer, 5);
    model
        .reset_parameters_where(7, |path| path.starts_with("embedding") || path == "head")
        .unwrap();
    all_are_balanced(&model, "after a reset");
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("model.safetensors");
    save(without.module().unwrap(), &file, &SaveOptions::new()).unwrap();
    model.load(&Weights::open(&file).unwrap()).unwrap();
    all_are_balanced(&model, "after a load");
    step(&fabric, &mut model, &mut optimizer, 6);
    fabric.save(folder.path().join("state"), &model).unwrap();
    fabric
        .load(folder.path().join("state"), &mut model)
        .unwrap();
    all_are_balanced(&model, "after a checkpoint");
    step(&fabric, &mut model, &mut optimizer, 7);
    all_are_balanced(&model, "in the end");
    // Plain Burn again, and back.
    let meta_loaded = fabric
        .setup_with(
            fabric.init_module(Model::new).unwrap(),
            &Weights::open(&file).unwrap(),
        )
        .unwrap();
    all_are_balanced(&meta_loaded, "loaded from meta");
    let again = fabric.setup(model.into_inner().unwrap()).unwrap();
    all_are_balanced(&again, "set up again");
}
