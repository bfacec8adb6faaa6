//! A module that a Fabric set up goes through Burn's `Learner` and comes back; Burn's metrics count
//! what they should in a Fabric loop.

use std::path::Path;

use burn::data::dataloader::Progress;
use burn::optim::AdamWConfig;
use burn::tensor::Tensor;
use burn::train::metric::PerplexityMetric;
use burn::train::metric::{ItemLazy, Metric, MetricMetadata, Numeric, PerplexityInput};
use burn::train::renderer::CliMetricsRenderer;
use burn_fabric::prelude::*;
use digits_common::{Batch, Options, Samples, Split};
use learner::{BATCH, Learned, Mlp, RATE, Scores, Stack, dataset, learn, one_more_epoch, training};
use run_common::{digest, tensors};

const OPTIONS: Options = Options { seed: 7, epochs: 1 };

/// Three batches to learn from, the last of them shorter; two to test on.
fn data() -> Split {
    let first = |samples: Samples, count: usize| Samples {
        images: samples.images.into_iter().step_by(9).take(count).collect(),
        labels: samples.labels.into_iter().step_by(9).take(count).collect(),
    };
    let Split { train, test } = Split::new(&Samples::load().unwrap(), OPTIONS.seed);
    Split {
        train: first(train, 2 * BATCH + 11),
        test: first(test, BATCH + 3),
    }
}

fn fabric() -> Fabric {
    let flex = Accelerator::Device(burn::tensor::Device::flex());
    Fabric::builder().accelerator(flex).seed(7).build().unwrap()
}

fn model(fabric: &Fabric) -> FabricModule<Mlp> {
    fabric.setup(fabric.init_module(Mlp::new).unwrap()).unwrap()
}

/// One epoch in Burn's `Learner`, without a terminal and without the process's panic hook.
fn through_the_learner(model: FabricModule<Mlp>, data: &Split, folder: &Path) -> Learned {
    let training = training(data, &OPTIONS, folder)
        .renderer(Box::new(CliMetricsRenderer::new()))
        .with_application_logger(None);
    learn(training, model).unwrap()
}

#[test]
fn a_module_goes_through_the_learner_and_comes_back() {
    let (fabric, data) = (fabric(), data());
    let folder = tempfile::tempdir().unwrap();
    let before = model(&fabric);
    let initial = tensors(&*before);

    let Learned { model, stopped } = through_the_learner(before, &data, folder.path());
    assert_eq!(stopped, None);
    let learned = tensors(&model);
    assert!(learned.keys().eq(initial.keys()));
    for (path, value) in &learned {
        assert_ne!(value, &initial[path], "{path} was not trained");
    }
    for name in ["model", "optim", "scheduler"] {
        let file = folder.path().join(format!("checkpoint/{name}-1.bpk"));
        assert!(file.metadata().unwrap().len() > 0, "{}", file.display());
    }
    for part in ["train", "valid"] {
        let log = folder.path().join(part).join("epoch-1/Accuracy.log");
        assert!(log.exists(), "{}", log.display());
    }

    // What comes back is off autodiff; `setup` takes it with its values and makes it trainable.
    assert!(!model.hidden.weight.val().device().is_autodiff());
    let mut model = fabric.setup(model).unwrap();
    assert_eq!(tensors(&*model), learned);
    assert!(model.hidden.weight.val().device().is_autodiff());
    assert!(model.hidden.weight.is_require_grad());
    one_more_epoch(&fabric, &mut model, &data.train).unwrap();
    for (path, value) in tensors(&*model) {
        assert_ne!(value, learned[&path], "{path} was not trained on");
    }
}

/// The checkpoint of Burn's `Learner` is the model that it gave back, and loads into a Fabric's.
#[test]
fn the_learners_checkpoint_loads_into_a_set_up_module() {
    use burn::module::Module;
    use burn::store::ModuleRecord;

    let (fabric, data) = (fabric(), data());
    let folder = tempfile::tempdir().unwrap();
    let learned = through_the_learner(model(&fabric), &data, folder.path()).model;
    let mut fresh = model(&fabric);
    assert_ne!(digest(&*fresh), digest(&learned));
    let record = ModuleRecord::load(folder.path().join("checkpoint/model-1.bpk")).unwrap();
    fresh.map(|module| module.load_record(record)).unwrap();
    assert_eq!(digest(&*fresh), digest(&learned));
}

/// The scores of a batch as numbers.
fn rows(scores: Tensor<2>) -> Vec<Vec<f64>> {
    let [_, classes] = scores.dims();
    let scores: Vec<f32> = scores.into_data().try_to_vec().unwrap();
    let rows = scores.chunks(classes);
    rows.map(|row| row.iter().copied().map(f64::from).collect())
        .collect()
}

fn labels(batch: &Batch) -> Vec<usize> {
    let labels = batch.labels.clone().into_data();
    labels.iter::<i64>().map(|label| label as usize).collect()
}

/// The negative logarithm of the probability that `row` gives to `label`.
fn surprise(row: &[f64], label: usize) -> f64 {
    row.iter().map(|score| score.exp()).sum::<f64>().ln() - row[label]
}

#[test]
fn burns_metrics_count_in_a_fabric_loop() {
    let (fabric, data) = (fabric(), data());
    let mut model = model(&fabric);
    let mut optimizer = fabric.setup_optimizer(&model, AdamWConfig::new()).unwrap();
    let loader = LoaderOverDataset::new(dataset(&data.train), Stack).batch_size(BATCH);
    let loader = fabric.setup_dataloader(loader.shuffle()).unwrap();

    let mut scores = Scores::default();
    let mut perplexity = PerplexityMetric::new();
    let (mut right, mut items, mut surprises) = (0, 0, 0.0);
    let mut losses = Vec::new();
    for batch in loader.iter() {
        let batch = batch.unwrap();
        let targets = labels(&batch);
        let output = model.classify(batch);

        let rows = rows(output.output.clone());
        let batch_surprises = rows.iter().zip(&targets).map(|(row, t)| surprise(row, *t));
        let batch_surprise: f64 = batch_surprises.sum();
        right += (rows.iter().zip(&targets))
            .filter(|(row, target)| row.iter().all(|score| *score <= row[**target]))
            .count();
        items += targets.len();
        surprises += batch_surprise;
        losses.push(batch_surprise / targets.len() as f64);

        let gradients = fabric.backward(output.loss.clone(), &model).unwrap();
        let output = output.sync().unwrap();
        let input = PerplexityInput::new(output.output.clone(), output.targets.clone());
        let metadata = MetricMetadata {
            progress: Progress::new(items, data.train.len(), None),
            iteration: None,
            lr: Some(RATE.into()),
        };
        perplexity.update(&input, &metadata).unwrap();
        scores.update(output).unwrap();
        optimizer.step(RATE, &mut model, gradients).unwrap();
    }
    assert_eq!((items, losses.len()), (data.train.len(), 3));
    assert!(0 < right && right < items, "{right} of {items}");

    let close = |found: f64, expected: f64| {
        let difference = (found - expected).abs() / expected.abs();
        assert!(difference < 1e-5, "{found} for {expected}");
    };
    close(scores.accuracy(), 100.0 * right as f64 / items as f64);
    // Each batch's loss is one number, the shorter one's as well; perplexity goes by items.
    let mean_of_batches = losses.iter().sum::<f64>() / 3.0;
    close(scores.loss(), mean_of_batches);
    close(
        perplexity.final_value().current(),
        (surprises / items as f64).exp(),
    );
    assert!((mean_of_batches / (surprises / items as f64) - 1.0).abs() > 1e-5);
}
