//! Patterns over the paths of tensors.

use glob::MatchOptions;

/// One pattern: names joined by dots, as paths are.
///
/// `*` and `?` stand for characters within one name, `**` for any number of names. A pattern that
/// matches a module stands for every tensor in it: `encoder`, `layers.*.norm`, `**.bias`.
///
/// ```
/// use burn_materialize::PathPattern;
///
/// assert!(PathPattern::new("layers.*.norm")?.matches("layers.11.norm.gamma"));
/// # Ok::<(), burn_materialize::InvalidPattern>(())
/// ```
#[derive(Clone, Debug)]
pub struct PathPattern {
    text: String,
    glob: glob::Pattern,
}

impl PathPattern {
    /// Understand a pattern.
    ///
    /// # Errors
    /// [`InvalidPattern`] where it is none.
    pub fn new(text: &str) -> Result<Self, InvalidPattern> {
        let glob = glob::Pattern::new(&names(text)).map_err(|error| InvalidPattern {
            pattern: text.to_owned(),
            message: error.msg,
        })?;
        let text = text.to_owned();
        Ok(Self { text, glob })
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it matches `path` or a module around it.
    pub fn matches(&self, path: &str) -> bool {
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

/// A text that is no pattern.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{pattern}` is no pattern: {message}; `*` stands for characters within one name, `**` between \
     dots for any number of names"
)]
pub struct InvalidPattern {
    /// The text.
    pub pattern: String,
    /// What is wrong with it.
    pub message: &'static str,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_match_names_and_modules() {
        let matches = |pattern: &str, path| PathPattern::new(pattern).unwrap().matches(path);
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
        let problem: InvalidPattern = PathPattern::new("a**.bias").unwrap_err();
        assert!(
            problem
                .to_string()
                .starts_with("`a**.bias` is no pattern: ")
        );
    }
}
