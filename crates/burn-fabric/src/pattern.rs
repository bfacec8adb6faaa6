//! Patterns over the paths of parameters.

use glob::MatchOptions;

/// One pattern: names joined by dots, as paths are.
///
/// `*` and `?` stand for characters within one name, `**` for any number of names. A pattern that
/// matches a module stands for every parameter in it: `encoder`, `layers.*.norm`, `**.bias`.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    text: String,
    glob: glob::Pattern,
}

impl Pattern {
    pub(crate) fn new(text: &str) -> Result<Self, PatternProblem> {
        let glob = glob::Pattern::new(&names(text)).map_err(|error| PatternProblem::Invalid {
            pattern: text.to_owned(),
            message: error.msg,
        })?;
        let text = text.to_owned();
        Ok(Self { text, glob })
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches `path` or a module around it.
    pub(crate) fn matches(&self, path: &str) -> bool {
        const OPTIONS: MatchOptions = MatchOptions {
            case_sensitive: true,
            require_literal_separator: true,
            require_literal_leading_dot: false,
        };
        let path = names(path);
        let modules = path.match_indices('/').map(|(end, _)| &path[..end]);
        modules
            .chain([path.as_str()])
            .any(|path| self.glob.matches_with(path, OPTIONS))
    }
}

/// The crate for patterns knows files: its separator is the slash.
fn names(path: &str) -> String {
    path.replace('.', "/")
}

/// Why a pattern over paths is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatternProblem {
    /// It is no pattern.
    #[error(
        "`{pattern}` is no pattern: {message}; `*` stands for characters within one name, `**` \
         between dots for any number of names"
    )]
    Invalid {
        /// The pattern.
        pattern: String,
        /// What is wrong with it.
        message: &'static str,
    },
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
pub(crate) fn compile(patterns: &[String], problems: &mut Vec<PatternProblem>) -> Vec<Pattern> {
    if patterns.is_empty() {
        problems.push(PatternProblem::None);
    }
    let compiled = patterns.iter().map(|pattern| Pattern::new(pattern));
    compiled
        .filter_map(|pattern| pattern.map_err(|problem| problems.push(problem)).ok())
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
    fn patterns_match_names_and_modules() {
        let matches = |pattern: &str, path| Pattern::new(pattern).unwrap().matches(path);
        assert!(matches("encoder", "encoder.layers.0.weight"));
        assert!(matches("encoder.**", "encoder.layers.0.weight"));
        assert!(!matches("encoder", "encoder2.weight"));
        assert!(matches("**.bias", "encoder.layers.0.bias"));
        assert!(matches("**.bias", "bias"));
        assert!(!matches("*.bias", "encoder.layers.bias"));
        assert!(matches("layers.*.norm", "layers.11.norm.gamma"));
        assert!(!matches("layers.?.norm", "layers.11.norm.gamma"));
        assert!(matches("layers.[01].norm", "layers.1.norm.gamma"));
        assert!(matches("**", "anything.at.all"));
        assert!(!matches("", "weight"));
    }

    #[test]
    fn what_is_no_pattern_says_why() {
        let problem = Pattern::new("a**.bias").unwrap_err();
        assert!(matches!(problem, PatternProblem::Invalid { .. }));
        assert!(
            problem
                .to_string()
                .starts_with("`a**.bias` is no pattern: ")
        );
    }

    #[test]
    fn the_nearest_names_come_first() {
        let names = ["output.weight", "hidden.weight", "hidden.bias", "norm"];
        assert_eq!(nearest("hiden.bias", names.into_iter())[0], "hidden.bias");
    }
}
