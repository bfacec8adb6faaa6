//! Patterns over the paths of parameters.

use burn_materialize::{InvalidPattern, PathPattern};

/// Why a pattern over paths is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternProblem {
    /// It is no pattern.
    #[error(transparent)]
    Invalid(#[from] InvalidPattern),
    /// There is no pattern at all.
    #[error("no pattern is given, so nothing is selected: give one, `**` for everything")]
    None,
    /// No parameter has such a path.
    #[error(
        "`{pattern}` matches no parameter; there are, for instance, {examples:?}: correct or \
         remove it"
    )]
    MatchesNothing {
        /// The pattern.
        pattern: String,
        /// Paths that come nearest.
        examples: Vec<String>,
    },
    /// It matches parameters, and none of them is trainable.
    #[error(
        "`{pattern}` matches frozen parameters only ({frozen:?}): unfreeze them before `setup`, or \
         remove it"
    )]
    Frozen {
        /// The pattern.
        pattern: String,
        /// What it matches.
        frozen: Vec<String>,
    },
    /// Groups that come later take all that it matches.
    #[error(
        "the group of `{pattern}` governs nothing: groups that come later match all its \
         parameters ({taken:?}), and the last match counts; put it after them, or remove it"
    )]
    Shadowed {
        /// The pattern.
        pattern: String,
        /// What it matches.
        taken: Vec<String>,
    },
}

/// Compile `patterns`, collecting what is wrong with them.
pub(crate) fn compile(patterns: &[String], problems: &mut Vec<PatternProblem>) -> Vec<PathPattern> {
    if patterns.is_empty() {
        problems.push(PatternProblem::None);
    }
    let compiled = patterns.iter().map(|pattern| PathPattern::new(pattern));
    compiled
        .filter_map(|pattern| {
            pattern
                .map_err(|invalid| problems.push(invalid.into()))
                .ok()
        })
        .collect()
}

/// The few of `names` that are most like `name`.
pub(crate) fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Vec<String> {
    const SHOWN: usize = 3;
    let likeness = |other: &str| strsim::jaro_winkler(name, other);
    let mut names: Vec<&str> = names.collect();
    names.sort_by(|a, b| likeness(b).total_cmp(&likeness(a)));
    names.into_iter().take(SHOWN).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["output.weight", "hidden.weight", "hidden.bias", "norm"];
        assert_eq!(nearest("hiden.bias", names.into_iter())[0], "hidden.bias");
    }
}
