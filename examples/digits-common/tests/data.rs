//! The data, their split and their order.

use std::collections::{BTreeMap, HashSet};

use burn::tensor::Device;
use digits_common::{CLASSES, Samples, Split};

/// How many samples there are of each digit.
fn counts(samples: &Samples) -> BTreeMap<i32, usize> {
    let mut counts = BTreeMap::new();
    for label in &samples.labels {
        *counts.entry(*label).or_default() += 1;
    }
    counts
}

fn bits(samples: &Samples) -> HashSet<Vec<u32>> {
    samples
        .images
        .iter()
        .map(|image| image.iter().map(|pixel| pixel.to_bits()).collect())
        .collect()
}

#[test]
fn all_digits_are_there() {
    let all = Samples::load().unwrap();
    assert_eq!(all.len(), 1797);
    assert_eq!(counts(&all).len(), CLASSES);
    assert_eq!(counts(&all)[&0], 178);
    assert!(
        all.images
            .iter()
            .flatten()
            .all(|pixel| (0.0..=1.0).contains(pixel))
    );
    // The first line of the file begins 0,0,5,13 and is a zero.
    assert_eq!(all.images[0][..4], [0.0, 0.0, 5.0 / 16.0, 13.0 / 16.0]);
    assert_eq!(all.labels[0], 0);
}

#[test]
fn the_split_holds_out_a_fifth_of_each_digit() {
    let all = Samples::load().unwrap();
    let Split { train, test } = Split::new(&all, 7);
    assert_eq!(train.len() + test.len(), all.len());
    let (all_counts, test_counts) = (counts(&all), counts(&test));
    for (digit, count) in all_counts {
        assert_eq!(test_counts[&digit], count.div_ceil(5), "digit {digit}");
    }
    // No two images are equal, so none may be on both sides.
    assert_eq!(bits(&all).len(), all.len());
    assert!(bits(&train).is_disjoint(&bits(&test)));
}

#[test]
fn the_seed_decides_the_split() {
    let all = Samples::load().unwrap();
    let split = |seed| Split::new(&all, seed).test.images;
    assert_eq!(split(1), split(1));
    assert_ne!(split(1), split(2));
}

#[test]
fn batches_hold_every_sample_once_in_an_order_of_their_epoch() {
    let all = Samples::load().unwrap();
    let device = Device::flex();
    let labels = |seed, epoch| -> Vec<i64> {
        let batches = all.batches(32, seed, epoch, &device);
        let labels = batches.map(|batch| batch.labels.into_data());
        labels
            .flat_map(|labels| labels.iter::<i64>().collect::<Vec<_>>())
            .collect()
    };
    let sorted = |mut labels: Vec<i64>| {
        labels.sort_unstable();
        labels
    };
    let first = labels(0, 0);
    let unshuffled = all.labels.iter().copied().map(i64::from).collect();
    assert_eq!(sorted(first.clone()), sorted(unshuffled));
    assert_eq!(first, labels(0, 0));
    assert_ne!(first, labels(0, 1));
    assert_ne!(first, labels(1, 0));
}
