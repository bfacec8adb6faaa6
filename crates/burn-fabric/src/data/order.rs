//! The order of items, which depends on seed and epoch alone.

use std::fmt;
use std::sync::Arc;

use burn::tensor::{DType, Distribution, Shape};
use burn_meta::generator::{DrawKey, fill};

/// In which order the items of a dataset come.
///
/// ```
/// # use burn::data::dataloader::batcher::Batcher;
/// # use burn::data::dataset::InMemDataset;
/// # use burn::tensor::Device;
/// # use burn_fabric::prelude::*;
/// # struct Keep;
/// # impl Batcher<u32, Vec<u32>> for Keep {
/// #     fn batch(&self, items: Vec<u32>, _device: &Device) -> Vec<u32> {
/// #         items
/// #     }
/// # }
/// # let fabric = Fabric::builder().build()?;
/// # let dataset = || InMemDataset::new((0..10).collect::<Vec<u32>>());
/// // Half of the items come from the one of ten that is rare.
/// let weights: Vec<f64> = (0..10).map(|item| if item == 7 { 9.0 } else { 1.0 }).collect();
/// let sampling = Sampling::Weighted { weights: weights.into(), draws: 100 };
/// let loader = LoaderOverDataset::new(dataset(), Keep).batch_size(100).sampling(sampling);
/// let loader = fabric.setup_dataloader(loader)?;
/// let batch = loader.iter().next().transpose()?.unwrap_or_default();
/// assert!((30..70).contains(&batch.iter().filter(|item| **item == 7).count()));
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sampling {
    /// As the dataset has them.
    #[default]
    Sequential,
    /// Each once, in an order of its own every epoch.
    Shuffled,
    /// `draws` of them with replacement, each with a chance in proportion to its weight.
    Weighted {
        /// One for each item: not negative, and not all zero.
        weights: Arc<[f64]>,
        /// Items of an epoch.
        draws: usize,
    },
}

impl fmt::Display for Sampling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sequential => f.write_str("sequential"),
            Self::Shuffled => f.write_str("shuffled"),
            Self::Weighted { weights, draws } => {
                // Other weights are another order.
                let bytes = weights.iter().flat_map(|weight| weight.to_le_bytes());
                let hash = blake3::hash(&bytes.collect::<Vec<u8>>()).to_hex();
                write!(f, "weighted, {draws} draws, weights {}", &hash[..16])
            }
        }
    }
}

impl Sampling {
    /// What is wrong with it over a dataset of `items`.
    pub(super) fn problem(&self, items: usize) -> Option<String> {
        let Self::Weighted { weights, draws } = self else {
            return None;
        };
        let wrong = |weight: &f64| !weight.is_finite() || *weight < 0.0;
        if weights.len() != items {
            let count = weights.len();
            return Some(format!(
                "{count} weights for {items} items: give one for each"
            ));
        }
        if let Some(index) = weights.iter().position(wrong) {
            let weight = weights[index];
            return Some(format!(
                "the weight of item {index} is {weight}: give finite numbers that are not negative"
            ));
        }
        let sum: f64 = weights.iter().sum();
        if sum == 0.0 || !sum.is_finite() {
            return Some(format!(
                "the weights sum to {sum}: give some item a weight, and none a huge one"
            ));
        }
        (*draws == 0).then(|| "an epoch of 0 draws: draw at least one item".to_owned())
    }

    /// How many items an epoch has.
    pub(super) fn len(&self, items: usize) -> usize {
        match self {
            Self::Sequential | Self::Shuffled => items,
            Self::Weighted { draws, .. } => *draws,
        }
    }

    /// The items of an epoch.
    pub(super) fn order(&self, items: usize, seed: u64, epoch: u32) -> Arc<[usize]> {
        match self {
            Self::Sequential => (0..items).collect(),
            Self::Shuffled => {
                // Fisher and Yates, from the end. The high half of a product takes a word to a
                // place, with a bias below items / 2^64.
                let mut order: Vec<usize> = (0..items).collect();
                for (last, word) in (1..items).rev().zip(words(seed, epoch, items)) {
                    let place = (u128::from(word) * (last as u128 + 1)) >> 64;
                    order.swap(last, place as usize);
                }
                order.into()
            }
            Self::Weighted { weights, draws } => {
                let mut sum = 0.0;
                let sums = weights.iter().map(|weight| {
                    sum += weight;
                    sum
                });
                let sums: Vec<f64> = sums.collect();
                let draw = |word: u64| {
                    // 53 bits, as many as the fraction of an f64 has.
                    let at = (word >> 11) as f64 / (1_u64 << 53) as f64 * sum;
                    // The first whose sum is beyond; an item of weight zero never is.
                    let found = sums.partition_point(|sum| *sum <= at);
                    // The product may be rounded up to the sum itself.
                    found.min(sums.partition_point(|below| *below < sum))
                };
                words(seed, epoch, *draws).into_iter().map(draw).collect()
            }
        }
    }
}

/// Words of the generator that draws initial values, under a key that no parameter's path has.
fn words(seed: u64, epoch: u32, count: usize) -> Vec<u64> {
    let key = DrawKey::new(seed, "\0order of items", epoch);
    let drawn = fill(&key, Distribution::Default, DType::U64, Shape::new([count]));
    let drawn = drawn.expect("the generator draws 64-bit words");
    drawn.try_into_vec().expect("they were asked for as such")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_epoch_has_every_item_once_in_an_order_of_its_own() {
        let order = |seed, epoch| Sampling::Shuffled.order(100, seed, epoch).to_vec();
        let mut sorted = order(1, 0);
        assert_ne!(sorted, (0..100).collect::<Vec<_>>());
        sorted.sort_unstable();
        assert_eq!(sorted, (0..100).collect::<Vec<_>>());
        assert_eq!(order(1, 0), order(1, 0));
        assert_ne!(order(1, 0), order(1, 1));
        assert_ne!(order(1, 0), order(2, 0));
    }

    #[test]
    fn the_order_of_a_seed_stays_what_it_is() {
        let order = |epoch| Sampling::Shuffled.order(8, 42, epoch).to_vec();
        assert_eq!([order(0), order(1)], GOLDEN);
    }

    /// A resume with a later version of this crate has to find the same order.
    const GOLDEN: [[usize; 8]; 2] = [[2, 6, 1, 5, 4, 0, 7, 3], [6, 5, 0, 3, 4, 1, 2, 7]];

    #[test]
    fn each_place_gets_each_item_about_as_often() {
        let mut counts = [[0_u32; 5]; 5];
        for epoch in 0..5000 {
            let order = Sampling::Shuffled.order(5, 7, epoch);
            for (place, item) in order.iter().enumerate() {
                counts[place][*item] += 1;
            }
        }
        // 1000 expected, a standard deviation of 28.
        let all = counts.iter().flatten();
        assert!(all.clone().all(|n| (850..1150).contains(n)), "{counts:?}");
    }

    #[test]
    fn weights_are_chances() {
        let weighted = Sampling::Weighted {
            weights: [0.0, 1.0, 0.0, 3.0, 0.0].into(),
            draws: 4000,
        };
        let mut counts = [0; 5];
        for item in weighted.order(5, 3, 0).iter() {
            counts[*item] += 1;
        }
        assert_eq!(counts[0] + counts[2] + counts[4], 0);
        assert!((900..1100).contains(&counts[1]), "{counts:?}");
    }
}
