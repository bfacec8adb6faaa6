//! What a collector of `tracing` sees of a run.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::optim::SgdConfig;
use burn::tensor::Device;
use burn_fabric::Clip;
use burn_fabric::prelude::*;
use support::{fabric, input, model};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// The names of spans, in the order they began, with their levels.
#[derive(Clone, Default)]
struct Names(Arc<Mutex<Vec<String>>>, Arc<AtomicU64>);

impl Subscriber for Names {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "burn_fabric"
    }

    fn new_span(&self, span: &Attributes<'_>) -> Id {
        let metadata = span.metadata();
        let mut names = self.0.lock().unwrap();
        names.push(format!("{} {}", metadata.level(), metadata.name()));
        Id::from_u64(self.1.fetch_add(1, Ordering::Relaxed) + 1)
    }

    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, _: &Event<'_>) {}
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

struct Count;

impl Batcher<u8, usize> for Count {
    fn batch(&self, items: Vec<u8>, _device: &Device) -> usize {
        items.len()
    }
}

#[test]
fn what_takes_time_is_a_span() {
    let names = Names::default();
    tracing::subscriber::with_default(names.clone(), || {
        let fabric = fabric();
        let mut model = model(&fabric);
        let mut optimizer = fabric.setup_optimizer(&model, SgdConfig::new()).unwrap();
        let loader = LoaderOverDataset::new(InMemDataset::new(vec![0_u8; 4]), Count).batch_size(4);
        let loader = fabric.setup_dataloader(loader).unwrap();
        for batch in loader.iter() {
            assert_eq!(batch.unwrap(), 4);
            let loss = model.loss(&input(fabric.device()));
            let mut gradients = fabric.backward(loss, &model).unwrap();
            fabric
                .clip_gradients(&model, &mut gradients, Clip::Norm(1.0))
                .unwrap();
            optimizer.step(1e-3, &mut model, gradients).unwrap();
        }
        fabric.evaluate(&model, |_, _| ()).unwrap();
        let folder = tempfile::tempdir().unwrap();
        fabric.save(folder.path(), &model).unwrap();
        fabric.load(folder.path(), &mut model).unwrap();
    });
    let names = names.0.lock().unwrap();
    let expected = [
        "INFO setup",
        "DEBUG batch",
        "DEBUG backward",
        "DEBUG clip_gradients",
        "DEBUG step",
        "DEBUG batch", // the end of the epoch
        "DEBUG evaluate",
        "INFO save",
        "INFO load",
    ];
    assert_eq!(names[..], expected);
}
