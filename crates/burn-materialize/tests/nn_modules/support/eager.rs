//! A materialised module against the eagerly built one.

use burn::tensor::{Device, Distribution, Tensor, Tolerance};
use burn_materialize::{Materialize, Meta, RecipeKind, Role, is_meta_device};
use device_under_test::device;

use super::distribution::assert_same_distribution;
use super::same::{assert_same, check_same_on_flex};
use super::snapshot::{Leaf, Name, Seen, Snapshot};

/// Same structure; constants and buffers bit for bit, random tensors by distribution. Where
/// nothing is random, the same output as well.
pub fn check_like_eager<M: Materialize>(
    build: impl Fn(&Device) -> M,
    output: impl Fn(&M, &Device) -> Tensor<1>,
) {
    let device = device();
    let (eager, real) = check_values(&build);
    let snapshot = Snapshot::of(&eager);
    if snapshot != Snapshot::of(&build(&device)) {
        return;
    }
    let same = snapshot == Snapshot::of(&real);
    let [eager, real] = [eager, real].map(|module| output(&module, &device).into_data());
    if same {
        assert_eq!(eager, real, "the outputs differ");
    } else {
        // What a constructor computes comes from flex, and is rounded otherwise than here.
        eager.assert_approx_eq::<f32>(&real, Tolerance::default());
    }
}

/// Compare everything but the output; returns the eager and the materialised module.
pub fn check_values<M: Materialize>(build: impl Fn(&Device) -> M) -> (M, M) {
    let device = device();
    let meta = Meta::build_for(&device, &build)
        .expect("it records")
        .with_seed(1);
    let real = meta.materialize(&device).expect("it materialises");
    let eager = build(&device);
    let (ours, theirs) = (Snapshot::of(&real), Snapshot::of(&eager));
    let again = Snapshot::of(&build(&device));

    let on_meta = real.devices().iter().any(is_meta_device);
    assert!(!on_meta, "the traversal misses a tensor");
    assert_eq!(ours.flags, theirs.flags, "flags");
    assert_eq!(ours.leaves.len(), theirs.leaves.len(), "number of tensors");
    check_seen_by_burn(&real, &ours);
    let recipes = meta.recipes();
    let flex = Snapshot::of(&build(&Device::flex()));
    let others = theirs.leaves.iter().zip(&again.leaves).zip(&flex.leaves);
    for (ours, ((theirs, again), flex)) in ours.leaves.iter().zip(others) {
        assert_eq!(
            format!("{:?}", ours.structure()),
            format!("{:?}", theirs.structure())
        );
        if theirs.data == again.data {
            assert_same(ours, flex);
        } else {
            let kind = recipes
                .kind(&ours.path)
                .expect("it has a recipe")
                .expect("of known kind");
            check_random(kind, ours, theirs);
        }
    }
    check_same_on_flex(&build);
    (eager, real)
}

fn check_random(kind: RecipeKind, ours: &Leaf, theirs: &Leaf) {
    let (path, ours, theirs) = (&ours.path, ours.values(), theirs.values());
    assert_same_distribution(&ours, &theirs, path);
    match kind {
        RecipeKind::Random(Distribution::Uniform(low, high)) => {
            // Both bounds are rounded to the tensor's dtype.
            let slack = (high - low) * 1e-6;
            let bounds = (low - slack)..=(high + slack);
            let inside = |values: &[f64]| values.iter().all(|value| bounds.contains(value));
            assert!(
                inside(&theirs),
                "{path}: eager values outside of {bounds:?}"
            );
            assert!(inside(&ours), "{path}: values outside of {bounds:?}");
            if ours.len() >= 10_000 {
                let reach = (high - low) * 0.01;
                assert!(
                    ours.iter().any(|value| *value < low + reach),
                    "{path}: no low value"
                );
                assert!(
                    ours.iter().any(|value| *value > high - reach),
                    "{path}: no high value"
                );
            }
        }
        RecipeKind::Random(Distribution::Normal(mean, std)) => {
            // Beyond that with a chance of 1e-17.
            let farthest = ours
                .iter()
                .map(|value| (value - mean).abs())
                .fold(0.0, f64::max);
            assert!(farthest < 9.0 * std, "{path}: {farthest} from the mean");
            if ours.len() >= 10_000 {
                assert!(
                    farthest > 3.0 * std,
                    "{path}: only {farthest} from the mean"
                );
            }
        }
        _ => {}
    }
}

/// Burn's visitor sees the same tensors and flags under the same names in the same order, except
/// plain tensors and what a skipped field holds.
fn check_seen_by_burn<M: Materialize>(module: &M, ours: &Snapshot) {
    let seen = Seen::of(module);
    let (both, hidden): (Vec<&Leaf>, Vec<&Leaf>) = ours
        .leaves
        .iter()
        .partition(|leaf| seen.tensors.contains(&leaf.name()));
    let both: Vec<Name> = both.into_iter().map(Leaf::name).collect();
    assert_eq!(both, seen.tensors);
    for leaf in hidden {
        let skipped = leaf.role == Role::Buffer || leaf.path.contains("activation.");
        assert!(skipped, "{} is not seen by Burn", leaf.path);
    }
    let flags: Vec<Name> = ours.flags.iter().map(|(name, _)| name.clone()).collect();
    assert_eq!(flags, seen.flags);
}
