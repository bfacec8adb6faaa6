//! Loaders: their order, their positions, their workers, and what goes wrong in them.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataloader::{DataLoader, DataLoaderBuilder};
use burn::data::dataset::{Dataset, DatasetError, InMemDataset};
use burn::tensor::{Device, Tensor};
use burn_fabric::DataSource;
use burn_fabric::prelude::*;

use support::fabric;

/// Numbers that count who asks for them, and of which some are bad.
#[derive(Clone, Default)]
struct Numbers {
    count: usize,
    fails: Option<usize>,
    panics: Option<usize>,
    asked: Arc<AtomicUsize>,
}

impl Dataset<usize> for Numbers {
    fn get(&self, index: usize) -> Result<usize, DatasetError> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        if self.fails == Some(index) {
            return Err(DatasetError::new(std::io::Error::other("a torn page")));
        }
        assert!(self.panics != Some(index), "a bad number");
        Ok(index)
    }

    fn len(&self) -> usize {
        self.count
    }
}

fn numbers(count: usize) -> Numbers {
    Numbers {
        count,
        ..Numbers::default()
    }
}

/// Hands the items on; holds a token for as long as something holds it.
#[derive(Clone, Default)]
struct Keep {
    token: Arc<()>,
    panics: Option<usize>,
}

impl Batcher<usize, Vec<usize>> for Keep {
    fn batch(&self, items: Vec<usize>, _device: &Device) -> Vec<usize> {
        assert!(
            !self.panics.is_some_and(|item| items.contains(&item)),
            "items of two shapes"
        );
        items
    }
}

fn over(dataset: Numbers) -> LoaderOverDataset<usize, Vec<usize>> {
    LoaderOverDataset::new(dataset, Keep::default()).batch_size(3)
}

fn set_up<S: DataSource>(source: S) -> FabricDataLoader<S::Batch> {
    fabric().setup_dataloader(source).unwrap()
}

fn rest<O: Send + 'static>(loader: &FabricDataLoader<O>) -> Vec<O> {
    loader.iter().map(Result::unwrap).collect()
}

#[test]
fn batches_come_in_the_order_of_the_dataset() {
    let loader = set_up(over(numbers(7)));
    assert_eq!(loader.num_batches(), Some(3));
    assert_eq!(loader.num_items(), 7);
    assert_eq!(loader.iter().size_hint(), (3, Some(3)));
    let expected = [vec![0, 1, 2], vec![3, 4, 5], vec![6]];
    assert_eq!(rest(&loader), expected);
    assert_eq!(loader.epoch(), 1);
    assert_eq!(rest(&loader), expected);

    let loader = set_up(over(numbers(7)).drop_last(true));
    assert_eq!(loader.num_batches(), Some(2));
    assert_eq!(rest(&loader), expected[..2]);
}

#[test]
fn the_order_is_the_same_for_any_number_of_workers() {
    let epochs = |workers: usize, prefetch: usize| {
        let loader = over(numbers(50))
            .shuffle()
            .workers(workers)
            .prefetch(prefetch);
        let loader = set_up(loader);
        [rest(&loader), rest(&loader)]
    };
    let alone = epochs(0, 1);
    assert_ne!(alone[0], alone[1]);
    let mut items: Vec<usize> = alone[0].concat();
    items.sort_unstable();
    assert_eq!(items, (0..50).collect::<Vec<_>>());
    for (workers, prefetch) in [(1, 1), (2, 0), (4, 3), (100, 1)] {
        assert_eq!(epochs(workers, prefetch), alone, "{workers} workers");
    }
}

#[test]
fn the_order_follows_from_the_seed() {
    let first = |loader: LoaderOverDataset<usize, Vec<usize>>| rest(&set_up(loader));
    let shuffled = || over(numbers(50)).shuffle();
    // The Fabric's own is 3.
    assert_eq!(first(shuffled()), first(shuffled().seed(3)));
    assert_ne!(first(shuffled()), first(shuffled().seed(4)));
}

#[test]
fn case_16_a_restored_loader_gives_the_batches_that_would_have_come() {
    let make = |workers| set_up(over(numbers(50)).shuffle().workers(workers));
    let whole = make(0);
    let epochs = [rest(&whole), rest(&whole), rest(&whole)].concat();
    let batches = epochs.len() / 3;
    for done in [0, 1, batches - 1, batches, batches + 5, 2 * batches + 1] {
        let before = make(4);
        let mut had = Vec::new();
        while had.len() < done {
            let left = done - had.len();
            had.extend(before.iter().take(left).map(Result::unwrap));
        }
        let text = serde_json::to_string(&before.position()).unwrap();
        drop(before);
        // Elsewhere, another time, with another number of workers and another seed.
        let after = set_up(over(numbers(50)).shuffle().workers(2).seed(99));
        after
            .restore(&serde_json::from_str(&text).unwrap())
            .unwrap();
        while after.epoch() < 3 {
            had.extend(rest(&after));
        }
        assert_eq!(had, epochs, "after {done} batches");
    }
}

#[test]
fn leaving_the_loop_and_coming_back_goes_on() {
    let loader = set_up(over(numbers(9)).workers(2));
    for batch in loader.iter() {
        if batch.unwrap() == [0, 1, 2] {
            break;
        }
    }
    assert_eq!(loader.position().batch, 1);
    assert_eq!(rest(&loader), [vec![3, 4, 5], vec![6, 7, 8]]);
    loader.iter().next();
    loader.start_epoch(7);
    assert_eq!((loader.position().epoch, loader.position().batch), (7, 0));
}

#[test]
fn weighted_items_come_as_often_as_they_weigh() {
    let weighted = Sampling::Weighted {
        weights: [0.0, 1.0, 0.0].into(),
        draws: 5,
    };
    let loader = set_up(over(numbers(3)).sampling(weighted));
    assert_eq!(rest(&loader), [vec![1, 1, 1], vec![1, 1]]);
}

#[test]
fn workers_are_only_so_far_ahead() {
    let dataset = numbers(300);
    let asked = dataset.asked.clone();
    let loader = set_up(over(dataset).workers(2).prefetch(3));
    let mut batches = loader.iter();
    batches.next().unwrap().unwrap();
    std::thread::sleep(std::time::Duration::from_millis(200));
    // One was taken; each of two holds three and is at one more.
    let at_most = (1 + 2 * (3 + 1)) * 3;
    assert!(asked.load(Ordering::SeqCst) <= at_most);
    assert!(asked.load(Ordering::SeqCst) > 3);
}

#[test]
fn no_thread_outlives_the_batches() {
    let batcher = Keep::default();
    let token = batcher.token.clone();
    let loader = LoaderOverDataset::new(numbers(300), batcher).batch_size(3);
    let loader = set_up(loader.workers(4));
    let mut batches = loader.iter();
    batches.next().unwrap().unwrap();
    drop(batches);
    drop(loader);
    // Each thread held the batcher.
    assert_eq!(Arc::strong_count(&token), 1);
}

#[test]
fn an_error_names_its_item_and_the_loop_may_go_on() {
    for workers in [0, 2] {
        let dataset = Numbers {
            fails: Some(4),
            ..numbers(9)
        };
        let loader = set_up(over(dataset).workers(workers));
        let mut batches = loader.iter();
        assert_eq!(batches.next().unwrap().unwrap(), [0, 1, 2]);
        let error = batches.next().unwrap().unwrap_err();
        assert!(matches!(error, FabricError::Item { index: 4, .. }));
        assert!(error.to_string().contains("item 4 of the dataset"));
        assert!(error.to_string().contains("a torn page"));
        assert_eq!(loader.position().batch, 1);
        assert_eq!(batches.next().unwrap().unwrap(), [6, 7, 8]);
        assert!(batches.next().is_none());
    }
}

#[test]
fn a_panic_is_an_error() {
    for workers in [0, 2] {
        let dataset = Numbers {
            panics: Some(4),
            ..numbers(9)
        };
        let loader = set_up(over(dataset).workers(workers));
        let error = loader.iter().nth(1).unwrap().unwrap_err();
        assert!(matches!(&error, FabricError::ItemPanicked { index: 4, .. }));
        assert!(error.to_string().contains("a bad number"));

        let batcher = Keep {
            panics: Some(4),
            ..Keep::default()
        };
        let loader = LoaderOverDataset::new(numbers(9), batcher).batch_size(3);
        let loader = set_up(loader.workers(workers));
        let error = loader.iter().nth(1).unwrap().unwrap_err();
        assert!(matches!(
            &error,
            FabricError::BatcherPanicked { items, .. } if items == &[3, 4, 5]
        ));
        assert!(error.to_string().contains("items 3, 4, 5"));
    }
}

#[test]
fn all_that_is_wrong_with_a_loader_is_told() {
    let problems = |loader: LoaderOverDataset<usize, Vec<usize>>| {
        let Err(FabricError::DataSettings { problems }) = fabric().setup_dataloader(loader) else {
            panic!("it was set up");
        };
        problems
    };
    assert_eq!(problems(over(numbers(0)).batch_size(0)).len(), 2);
    let short = problems(over(numbers(2)).drop_last(true));
    assert!(short[0].contains("no batch of 3"), "{short:?}");
    let weighted = |weights: &[f64], draws| {
        let weights = weights.into();
        let sampling = Sampling::Weighted { weights, draws };
        problems(over(numbers(2)).sampling(sampling)).remove(0)
    };
    assert!(weighted(&[1.0], 1).contains("1 weights for 2 items"));
    assert!(weighted(&[1.0, -1.0], 1).contains("item 1 is -1"));
    assert!(weighted(&[1.0, f64::NAN], 1).contains("item 1 is NaN"));
    assert!(weighted(&[0.0, 0.0], 1).contains("sum to 0"));
    assert!(weighted(&[1.0, 1.0], 0).contains("0 draws"));
}

#[test]
fn a_position_of_other_data_is_refused() {
    let position = set_up(over(numbers(9)).shuffle()).position();
    let refused = |loader: LoaderOverDataset<usize, Vec<usize>>| {
        let loader = set_up(loader);
        let before = loader.position();
        let error = loader.restore(&position).unwrap_err();
        assert_eq!(loader.position(), before);
        let FabricError::OtherData { differences } = error else {
            panic!("{error}");
        };
        differences
    };
    let other = refused(over(numbers(10)).shuffle());
    assert_eq!(
        other,
        [
            "items: 9 there, 10 here",
            "batches of an epoch: 3 there, 4 here"
        ]
    );
    assert_eq!(
        refused(over(numbers(9))),
        ["order: shuffled there, sequential here"]
    );
    assert_eq!(
        refused(over(numbers(9)).shuffle().batch_size(4))[0],
        "items of a batch: 3 there, 4 here"
    );
    let loader = set_up(over(numbers(9)).shuffle());
    let far = DataPosition {
        batch: 4,
        ..position.clone()
    };
    assert!(matches!(
        loader.restore(&far),
        Err(FabricError::OtherData { .. })
    ));
}

#[test]
fn an_older_iterator_ends() {
    let loader = set_up(over(numbers(9)));
    let mut older = loader.iter();
    older.next().unwrap().unwrap();
    let mut newer = loader.iter();
    assert!(matches!(older.next(), Some(Err(FabricError::DataIterator))));
    assert!(older.next().is_none());
    assert_eq!(newer.next().unwrap().unwrap(), [3, 4, 5]);
    loader.restore(&loader.position()).unwrap();
    assert!(matches!(newer.next(), Some(Err(FabricError::DataIterator))));
}

/// Stacks numbers on the device.
#[derive(Clone)]
struct Stack;

impl Batcher<f32, Tensor<1>> for Stack {
    fn batch(&self, items: Vec<f32>, device: &Device) -> Tensor<1> {
        Tensor::from_floats(items.as_slice(), device)
    }
}

fn floats() -> InMemDataset<f32> {
    InMemDataset::new((0..7).map(|n| n as f32).collect())
}

#[test]
fn batches_are_on_the_device_of_the_fabric() {
    let fabric = fabric();
    let batch = |loader: LoaderOverDataset<f32, Tensor<1>>| {
        let loader = fabric.setup_dataloader(loader.workers(1)).unwrap();
        loader.iter().next().unwrap().unwrap()
    };
    let training = batch(LoaderOverDataset::new(floats(), Stack));
    assert_eq!(&training.device(), fabric.device());
    let evaluation = batch(LoaderOverDataset::new(floats(), Stack).inference(true));
    assert_eq!(evaluation.device(), fabric.inference_device());
}

fn burns(workers: usize) -> Arc<dyn DataLoader<Tensor<1>>> {
    let builder = DataLoaderBuilder::new(Stack).batch_size(3);
    match workers {
        0 => builder.build(floats()),
        workers => builder.num_workers(workers).build(floats()),
    }
}

#[test]
fn a_loader_of_burns_gives_its_batches_here() {
    let fabric = fabric();
    let loader = fabric.setup_dataloader(burns(0)).unwrap();
    assert_eq!((loader.num_items(), loader.num_batches()), (7, None));
    let batches = rest(&loader);
    assert_eq!(batches.len(), 3);
    assert_eq!(&batches[0].device(), fabric.device());
    assert_eq!(loader.epoch(), 1);
    // At the beginning of an epoch there is nothing to find again.
    loader.restore(&loader.position()).unwrap();
    loader.iter().next().unwrap().unwrap();
    let error = loader.restore(&loader.position()).unwrap_err();
    assert!(matches!(error, FabricError::UnknownOrder { batch: 1 }));

    let ready = || ReadyLoader::new(burns(0)).same_order(true).inference(true);
    let loader = fabric.setup_dataloader(ready()).unwrap();
    loader.iter().next().unwrap().unwrap();
    let again = fabric.setup_dataloader(ready()).unwrap();
    again.restore(&loader.position()).unwrap();
    let left = rest(&again);
    assert_eq!(left.len(), 2);
    assert_eq!(left[0].device(), fabric.inference_device());
    assert_eq!(left[0].clone().into_data().iter::<f32>().next(), Some(3.0));
    assert_eq!(again.epoch(), 1);
}

#[test]
fn what_goes_wrong_in_a_loader_of_burns_is_an_error() {
    let burns = |dataset: Numbers| {
        DataLoaderBuilder::new(Keep::default())
            .batch_size(3)
            .build(dataset)
    };
    let fails = Numbers {
        fails: Some(4),
        ..numbers(9)
    };
    let loader = set_up(burns(fails));
    let error = loader.iter().nth(1).unwrap().unwrap_err();
    assert!(matches!(&error, FabricError::Loader { .. }), "{error}");
    let panics = Numbers {
        panics: Some(4),
        ..numbers(9)
    };
    let loader = set_up(burns(panics));
    let mut batches = loader.iter();
    batches.next().unwrap().unwrap();
    let error = batches.next().unwrap().unwrap_err();
    assert!(
        matches!(&error, FabricError::LoaderPanicked { .. }),
        "{error}"
    );
    assert!(batches.next().is_none());
    assert_eq!(loader.position().batch, 1);
    let empty = fabric().setup_dataloader(burns(numbers(0)));
    assert!(matches!(empty, Err(FabricError::DataSettings { .. })));
}

/// Groups of micro-batches ask whether a batch was the last one; that counts for none.
#[test]
fn grouped_batches_count_when_the_loop_has_had_them() {
    let fabric = fabric();
    let positions = |loader: FabricDataLoader<Vec<usize>>| {
        let accumulation = fabric.accumulate(2).unwrap();
        let batches = accumulation.groups(loader.iter());
        let seen = batches.map(|(batch, place)| {
            batch.unwrap();
            (loader.position().batch, place.is_last())
        });
        seen.collect::<Vec<_>>()
    };
    let all = [(1, false), (2, true), (3, true)];
    assert_eq!(positions(set_up(over(numbers(7)))), all);
    let ready = DataLoaderBuilder::new(Keep::default())
        .batch_size(3)
        .build(numbers(7));
    assert_eq!(positions(set_up(ReadyLoader::new(ready))), all);
}
