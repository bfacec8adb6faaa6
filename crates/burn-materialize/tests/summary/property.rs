//! Whatever is folded, the lines add up to everything.

use burn::module::Module;
use burn::nn::{LayerNorm, LayerNormConfig, Linear};
use burn_materialize::{Materialize, Meta, ResetParameters, Summary};
use proptest::prelude::*;

use crate::models::linear;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Tree {
    groups: Vec<Group>,
    rest: Vec<Linear>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Group {
    norm: Option<LayerNorm>,
    layers: Vec<Linear>,
    tied: Option<Linear>,
}

/// A norm or none, widths, whether the first layer is there twice.
type Shape = (bool, Vec<usize>, bool);

fn build(groups: &[Shape], rest: &[usize]) -> Meta<Tree> {
    Meta::build(|device| Tree {
        groups: groups
            .iter()
            .map(|(norm, widths, tied)| {
                let layers: Vec<Linear> = widths
                    .iter()
                    .map(|width| linear(2, *width, device))
                    .collect();
                Group {
                    norm: norm.then(|| LayerNormConfig::new(2).init(device)),
                    tied: layers.first().cloned().filter(|_| *tied),
                    layers,
                }
            })
            .collect(),
        rest: rest.iter().map(|width| linear(2, *width, device)).collect(),
    })
    .unwrap()
}

/// Tensors, tied ones at each path, and parameters, of all lines together.
fn added(summary: &Summary) -> (usize, u64, u64) {
    let mut times = Vec::new();
    let mut sums = (0, 0, 0);
    for line in summary.lines() {
        times.truncate(line.level);
        times.push(line.times);
        if line.tensor.is_some() {
            let times: usize = times.iter().product();
            sums.0 += times;
            sums.1 += times as u64 * line.parameters;
            sums.2 += times as u64 * line.bytes;
        }
    }
    sums
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn folded_lines_add_up_to_the_totals(
        groups in prop::collection::vec(
            (any::<bool>(), prop::collection::vec(1_usize..3, 0..4), any::<bool>()),
            0..8,
        ),
        rest in prop::collection::vec(1_usize..3, 0..6),
    ) {
        let summary = build(&groups, &rest).summary();
        let unfolded = summary.clone().unfolded();
        prop_assert_eq!(added(&summary), added(&unfolded));
        prop_assert_eq!(added(&summary).1, summary.parameters() as u64);
        prop_assert_eq!(added(&summary).2, summary.bytes() as u64);
        prop_assert!(summary.lines().len() <= unfolded.lines().len());
    }
}
