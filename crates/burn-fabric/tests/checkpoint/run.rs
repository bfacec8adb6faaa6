//! A training run with everything that can be lost: a tie, dropout, batch norm, accumulation, a
//! shuffled loader with workers, an average.

use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::module::{Module, Param};
use burn::nn::{BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Linear, LinearConfig};
use burn::optim::lr_scheduler::LrSchedulerConfig;
use burn::optim::lr_scheduler::composed::ComposedLrSchedulerConfig;
use burn::optim::lr_scheduler::cosine::CosineAnnealingLrSchedulerConfig;
use burn::optim::lr_scheduler::exponential::ExponentialLrSchedulerConfig;
use burn::optim::lr_scheduler::linear::LinearLrSchedulerConfig;
use burn::optim::lr_scheduler::module_lr_scheduler::ModuleLrScheduler;
use burn::optim::lr_scheduler::noam::NoamLrSchedulerConfig;
use burn::optim::lr_scheduler::sequential::SequentialLrSchedulerConfig;
use burn::optim::lr_scheduler::step::StepLrSchedulerConfig;
use burn::optim::momentum::MomentumConfig;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, LambConfig, LionConfig,
    MuonConfig, RmsPropConfig, SgdConfig,
};
use burn::tensor::{Device, Tensor, TensorData};
use burn_fabric::prelude::*;
use burn_fabric::{Accumulation, MovingAverage};

/// Encoder and decoder are one matrix.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Net {
    pub encoder: Linear,
    pub norm: BatchNorm,
    pub dropout: Dropout,
    pub decoder: Param<Tensor<2>>,
    pub scale: Tensor<1>,
}

impl Net {
    pub fn new(device: &Device) -> Self {
        let encoder = LinearConfig::new(6, 8).init(device);
        Self {
            decoder: encoder.weight.clone(),
            encoder,
            norm: BatchNormConfig::new(8).init(device),
            dropout: DropoutConfig::new(0.3).init(),
            scale: Tensor::from_floats([0.9, 1.1, 1.0, 0.8, 1.2, 1.0], device),
        }
    }

    pub fn loss(&self, x: Tensor<2>) -> Tensor<1> {
        let hidden = self.norm.forward(self.encoder.forward(x.clone())).tanh();
        let hidden = self.dropout.forward(hidden);
        let out = hidden.matmul(self.decoder.val().transpose());
        (out * self.scale.clone().unsqueeze() - x)
            .powi_scalar(2)
            .mean()
    }
}

pub struct Rows;

impl Batcher<usize, Tensor<2>> for Rows {
    fn batch(&self, items: Vec<usize>, device: &Device) -> Tensor<2> {
        let values = items
            .iter()
            .flat_map(|item| (0..6).map(move |column| ((item * 6 + column) as f32 * 0.7).sin()));
        let data = TensorData::new(values.collect::<Vec<f32>>(), [items.len(), 6]);
        Tensor::from_data(data, device)
    }
}

pub const OPTIMIZERS: [&str; 10] = [
    "Sgd",
    "Adam",
    "AdamW",
    "AdaGrad",
    "Adafactor",
    "Adan",
    "Lamb",
    "Lion",
    "Muon",
    "RmsProp",
];

pub fn optimizer(fabric: &Fabric, model: &FabricModule<Net>, name: &str) -> FabricOptimizer {
    let momentum = MomentumConfig::new();
    let made = match name {
        "Sgd" => fabric.setup_optimizer(model, SgdConfig::new().with_momentum(Some(momentum))),
        "Adam" => fabric.setup_optimizer(model, AdamConfig::new().with_amsgrad(true)),
        "AdamW" => fabric.setup_optimizer(model, AdamWConfig::new()),
        "AdaGrad" => fabric.setup_optimizer(model, AdaGradConfig::new()),
        "Adafactor" => fabric.setup_optimizer(model, AdafactorConfig::new()),
        "Adan" => fabric.setup_optimizer(model, AdanConfig::new()),
        "Lamb" => fabric.setup_optimizer(model, LambConfig::new()),
        "Lion" => fabric.setup_optimizer(model, LionConfig::new()),
        "Muon" => {
            let matrices = ParameterGroup::of(["encoder.weight"]).optimizer(MuonConfig::new());
            fabric.setup_optimizer(
                model,
                ParameterGroups::new(AdamWConfig::new()).with(matrices),
            )
        }
        "RmsProp" => {
            let config = RmsPropConfig::new().with_centered(true);
            fabric.setup_optimizer(model, config)
        }
        name => panic!("no optimizer {name}"),
    };
    made.unwrap()
}

pub const SCHEDULERS: [&str; 8] = [
    "Constant",
    "Linear",
    "Cosine",
    "Exponential",
    "Noam",
    "Step",
    "Composed",
    "Sequential",
];

pub fn scheduler(name: &str) -> ModuleLrScheduler {
    let linear = LinearLrSchedulerConfig::new(2e-2, 1e-3, 20);
    let cosine = CosineAnnealingLrSchedulerConfig::new(2e-2, 25);
    let made = match name {
        "Constant" => Ok(ModuleLrScheduler::new(1e-2)),
        "Linear" => linear.init(),
        "Cosine" => cosine.init(),
        "Exponential" => ExponentialLrSchedulerConfig::new(2e-2, 0.93).init(),
        "Noam" => NoamLrSchedulerConfig::new(1e-1)
            .with_warmup_steps(9)
            .with_model_size(8)
            .init(),
        "Step" => StepLrSchedulerConfig::new(2e-2, 4).with_gamma(0.7).init(),
        "Composed" => ComposedLrSchedulerConfig::new()
            .linear(linear)
            .cosine(cosine)
            .init(),
        "Sequential" => SequentialLrSchedulerConfig::new(
            vec![
                LrSchedulerConfig::Linear(linear),
                LrSchedulerConfig::Cosine(cosine),
            ],
            vec![6],
        )
        .init(),
        name => panic!("no scheduler {name}"),
    };
    made.unwrap()
}

#[derive(TrainingState)]
pub struct Training {
    pub model: FabricModule<Net>,
    pub optimizer: FabricOptimizer,
    pub scheduler: ModuleLrScheduler,
    pub data: FabricDataLoader<Tensor<2>>,
    pub accumulation: Accumulation,
    pub average: MovingAverage,
    pub rng: DeviceRng,
    pub steps: u64,
    #[state(serde)]
    pub history: Vec<(u64, f64)>,
    #[state(skip)]
    fabric: Fabric,
}

pub fn flex() -> Fabric {
    let nothing: [(&str, &str); 0] = [];
    let builder = Fabric::builder().environment(nothing).seed(11);
    builder
        .accelerator(burn_fabric::Accelerator::Flex)
        .build()
        .unwrap()
}

impl Training {
    pub fn new(optimizer_name: &str, scheduler_name: &str, workers: usize) -> Self {
        Self::on(flex(), optimizer_name, scheduler_name, workers)
    }

    pub fn on(fabric: Fabric, optimizer_name: &str, scheduler_name: &str, workers: usize) -> Self {
        let model = fabric.setup(fabric.init_module(Net::new).unwrap()).unwrap();
        let items = InMemDataset::new((0..40).collect());
        let loader = LoaderOverDataset::new(items, Rows);
        let loader = loader.batch_size(3).shuffle().workers(workers);
        Self {
            optimizer: optimizer(&fabric, &model, optimizer_name),
            scheduler: scheduler(scheduler_name),
            data: fabric.setup_dataloader(loader).unwrap(),
            accumulation: fabric.accumulate(3).unwrap(),
            average: MovingAverage::new(&model, 0.9).unwrap(),
            rng: fabric.device_rng(),
            model,
            steps: 0,
            history: Vec::new(),
            fabric,
        }
    }

    /// So many micro-batches.
    pub fn train(&mut self, count: usize) {
        self.train_and(count, |_, _| {});
    }

    /// The same, doing something with what it is by then, after each.
    pub fn train_and(&mut self, count: usize, mut after: impl FnMut(usize, &Self)) {
        let mut left = count;
        while left > 0 {
            for (batch, place) in self.accumulation.groups(self.data.iter()) {
                let batch = batch.unwrap();
                self.rng.begin_step();
                let loss = self.model.loss(batch);
                let value: f32 = loss.clone().into_scalar();
                let gradients = self.fabric.backward(loss, &self.model).unwrap();
                let gradients = self
                    .accumulation
                    .add(place, &self.model, gradients)
                    .unwrap();
                if let Some(gradients) = gradients {
                    let rate = self.scheduler.step();
                    self.optimizer
                        .step(rate, &mut self.model, gradients)
                        .unwrap();
                    self.average.update(&self.model).unwrap();
                    self.steps += 1;
                    self.history.push((self.steps, f64::from(value)));
                }
                left -= 1;
                after(count - left, &*self);
                if left == 0 {
                    break;
                }
            }
        }
    }

    pub fn save(&self, folder: &Path) {
        self.fabric.save(folder, self).unwrap();
    }

    pub fn load_except(&mut self, folder: &Path, part: Option<&str>) {
        let options = LoadOptions::new();
        let options = match part {
            Some(part) => options.except(part),
            None => options,
        };
        flex().load_with(folder, self, &options).unwrap();
    }

    pub fn fabric(&self) -> &Fabric {
        &self.fabric
    }
}

/// The device has one generator for all threads: tests that compare what it drew go one by one.
pub fn alone() -> MutexGuard<'static, ()> {
    static GENERATOR: Mutex<()> = Mutex::new(());
    GENERATOR.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a checkpoint is, to the bit: its manifest has the hash of every tensor.
pub fn manifest(folder: &Path) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.join("manifest.json")).unwrap();
    serde_json::from_str::<serde_json::Value>(&text).unwrap()["manifest"].take()
}
