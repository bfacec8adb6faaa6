//! Which lists of recurrent layers are one layer in `torch.nn`.

use std::collections::{BTreeMap, HashSet};

use super::names::Candidate;
use super::save::Kept;

/// The shape and the count of gates of each tensor of a level, by name and direction.
type Gates<'k> = BTreeMap<(&'k str, bool), (&'k [usize], usize)>;

/// The levels of a list, by index.
type Levels<'k> = BTreeMap<&'k str, Gates<'k>>;

/// The lists that are layers with as many levels: they hold nothing else, and each level takes what
/// the one before gives.
pub(super) fn stacks(tensors: &[Kept]) -> HashSet<&str> {
    let mut lists: BTreeMap<&str, Levels<'_>> = BTreeMap::new();
    for kept in tensors {
        for candidate in &kept.candidates {
            let Candidate { level, part, .. } = candidate;
            let (Some(level), Some((_, of))) = (level, part) else {
                continue;
            };
            let levels = lists.entry(&level.list).or_default();
            let gates = levels.entry(&level.level).or_default();
            gates.insert((&level.tensor, level.is_reverse), (&kept.shape, *of));
        }
    }
    lists.retain(|list, levels| are_levels(levels) && !holds_more(tensors, list));
    lists.into_keys().collect()
}

/// Whether a list holds a tensor that is of no level.
fn holds_more(tensors: &[Kept], list: &str) -> bool {
    tensors.iter().any(|kept| {
        let rest = kept.path.strip_prefix(list);
        let is_in = rest.is_some_and(|rest| list.is_empty() || rest.starts_with('.'));
        let mut levels = kept
            .candidates
            .iter()
            .filter_map(|name| name.level.as_ref());
        is_in && !levels.any(|level| level.list == list)
    })
}

fn are_levels(levels: &Levels<'_>) -> bool {
    let Some(first) = levels.get("0") else {
        return false;
    };
    let Some(&(&[_, hidden], _)) = first.get(&("weight_hh", false)) else {
        return false;
    };
    let given = match first.contains_key(&("weight_hh", true)) {
        true => 2 * hidden,
        false => hidden,
    };
    (0..levels.len()).all(|place| {
        let Some(level) = levels.get(place.to_string().as_str()) else {
            return false;
        };
        let fits = |(key, (shape, gates)): (&(&str, bool), &(&[usize], usize))| {
            first.get(key).is_some_and(|(of_first, gates_of_first)| {
                let fits = match (key.0, *shape) {
                    ("weight_ih", [rows, width]) if place > 0 => (*rows, *width) == (hidden, given),
                    _ => shape == of_first,
                };
                fits && gates == gates_of_first
            })
        };
        level.len() == first.len() && level.iter().all(fits)
    })
}
