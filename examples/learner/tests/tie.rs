//! What becomes of a tie in Burn's `Learner`, whose steps know none: the first path gets the gradient
//! of the last.

use std::path::Path;

use burn::data::dataloader::DataLoaderBuilder;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLearningRate;
use burn::optim::{AdamWConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::Device;
use burn::train::renderer::CliMetricsRenderer;
use burn::train::{
    ClassificationOutput, InferenceStep, Learner, SupervisedTraining, TrainOutput, TrainStep,
};
use burn_fabric::burn_materialize::{MaterializeError, Problem};
use burn_fabric::prelude::*;
use digits_common::{Batch, PIXELS, Samples};
use learner::{BATCH, RATE, Stack, dataset};
use run_common::{digest, tensors};

/// Two layers over one weight.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Tied {
    first: Linear,
    second: Linear,
    /// Whether each step puts the tie together again.
    #[module(skip)]
    together: bool,
}

impl Tied {
    fn new(device: &Device, together: bool) -> Self {
        let layer = LinearConfig::new(PIXELS, PIXELS).with_bias(false);
        let first = layer.init(device);
        let second = first.clone();
        Self {
            first,
            second,
            together,
        }
    }

    fn tie(mut self) -> Self {
        self.second.weight = self.first.weight.clone();
        self
    }

    fn is_tied(&self) -> bool {
        let tensors = tensors(self);
        tensors["first.weight"] == tensors["second.weight"]
    }

    fn classify(&self, batch: Batch) -> ClassificationOutput {
        let scores = self.second.forward(self.first.forward(batch.images).tanh());
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        let loss = criterion.forward(scores.clone(), batch.labels.clone());
        ClassificationOutput::new(loss, scores, batch.labels)
    }
}

impl TrainStep for Tied {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> TrainOutput<ClassificationOutput> {
        // The Learner moved the module to its device path by path: the first step has two leaves.
        let model = match self.together {
            true => self.clone().tie(),
            false => self.clone(),
        };
        let item = model.classify(batch);
        TrainOutput::new(&model, item.loss.backward(), item)
    }

    fn optimize(
        self,
        optimizer: &mut ModuleOptimizer,
        rate: ModuleLearningRate,
        gradients: GradientsParams,
    ) -> Self {
        let stepped = optimizer.step(rate, self, gradients);
        if stepped.together {
            stepped.tie()
        } else {
            stepped
        }
    }
}

impl InferenceStep for Tied {
    type Input = Batch;
    type Output = ClassificationOutput;

    fn step(&self, batch: Batch) -> ClassificationOutput {
        self.classify(batch)
    }
}

fn samples() -> Samples {
    let Samples {
        mut images,
        mut labels,
    } = Samples::load().unwrap();
    images.truncate(3 * BATCH);
    labels.truncate(3 * BATCH);
    Samples { images, labels }
}

fn through_the_learner(model: Tied, folder: &Path) -> Tied {
    let loader = || {
        DataLoaderBuilder::new(Stack)
            .batch_size(BATCH)
            .build(dataset(&samples()))
    };
    let training = SupervisedTraining::<Tied>::new(folder, loader(), loader())
        .renderer(Box::new(CliMetricsRenderer::new()))
        .with_application_logger(None);
    let result = training.launch(Learner::new(model, AdamWConfig::new().init(), RATE));
    assert!(result.error.is_none());
    result.model
}

fn set_up(fabric: &Fabric, together: bool) -> FabricModule<Tied> {
    let meta = fabric.init_module(|device| Tied::new(device, together));
    fabric.setup(meta.unwrap()).unwrap()
}

#[test]
fn a_tie_comes_apart_in_the_learner_and_setup_says_so() {
    let fabric = Fabric::builder().build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let model = set_up(&fabric, false);
    let before = tensors(&*model);
    assert!(model.is_tied());

    let learned = through_the_learner(model.into_inner().unwrap(), folder.path());
    let after = tensors(&learned);
    assert_ne!(after["first.weight"], before["first.weight"]);
    assert_eq!(after["second.weight"], before["second.weight"]);

    let error = fabric.setup(learned.clone()).unwrap_err();
    let text = error.to_string();
    match &error {
        FabricError::Materialize(MaterializeError::Refused(problems)) => {
            let paths = ["first.weight", "second.weight"]
                .map(str::to_owned)
                .to_vec();
            assert_eq!(problems.0, [Problem::OneIdTwoTensors { paths }]);
        }
        _ => panic!("{text}"),
    }
    assert!(text.contains("share the tensor"), "{text}");

    // As the message says.
    let model = fabric.setup(learned.tie()).unwrap();
    assert!(model.is_tied());
    assert!(fabric.setup_optimizer(&model, AdamWConfig::new()).is_ok());
}

#[test]
fn a_tie_that_each_step_puts_together_is_trained_as_a_fabric_trains_it() {
    let fabric = || Fabric::builder().seed(3).build().unwrap();
    let folder = tempfile::tempdir().unwrap();
    let model = set_up(&fabric(), true);
    let before = digest(&*model);
    let learned = through_the_learner(model.into_inner().unwrap(), folder.path());
    assert!(learned.is_tied());
    assert_ne!(digest(&learned), before);

    let fabric = fabric();
    let mut model = set_up(&fabric, false);
    assert_eq!(digest(&*model), before);
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new()).unwrap();
    let loader = LoaderOverDataset::new(dataset(&samples()), Stack).batch_size(BATCH);
    let loader = fabric.setup_dataloader(loader).unwrap();
    for batch in loader.iter() {
        let loss = model.classify(batch.unwrap()).loss;
        let gradients = fabric.backward(loss, &model).unwrap();
        optimizer.step(RATE, &mut model, gradients).unwrap();
    }
    assert_eq!(digest(&*model), digest(&learned));

    let model = fabric.setup(learned).unwrap();
    assert!(model.is_tied());
    assert!(fabric.setup_optimizer(&model, AdamWConfig::new()).is_ok());
}
