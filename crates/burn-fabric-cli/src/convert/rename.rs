//! `--rename 'REGEX=REPLACEMENT'`.

use regex::Regex;

/// One renaming.
#[derive(Clone, Debug)]
pub struct Rename {
    text: String,
    pattern: Regex,
    replacement: String,
}

impl Rename {
    /// The last `=` divides, as an expression may have one and a name rarely does.
    pub fn parse(text: &str) -> Result<Self, String> {
        let Some((pattern, replacement)) = text.rsplit_once('=') else {
            return Err("it has no `=` between the expression and what replaces it".to_owned());
        };
        let pattern = Regex::new(pattern).map_err(|error| {
            // The library draws where the error is, over several lines; the last one says what.
            let text = error.to_string();
            let last = text.lines().last().unwrap_or_default();
            format!("the expression: {}", last.trim_start_matches("error: "))
        })?;
        for group in groups(replacement) {
            let number = group.parse::<usize>();
            let is_there = match number {
                Ok(number) => number < pattern.captures_len(),
                Err(_) => pattern.capture_names().flatten().any(|name| name == group),
            };
            if !is_there {
                return Err(format!(
                    "the expression has no group `{group}`; write ${{1}} where letters follow, and $$ \
                     for a dollar sign"
                ));
            }
        }
        Ok(Self {
            text: text.to_owned(),
            replacement: replacement.to_owned(),
            pattern,
        })
    }

    pub fn matches(&self, name: &str) -> bool {
        self.pattern.is_match(name)
    }

    pub fn apply(&self, name: &str) -> String {
        let replaced = self.pattern.replace_all(name, self.replacement.as_str());
        replaced.into_owned()
    }
}

impl std::fmt::Display for Rename {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.text)
    }
}

/// The groups that a replacement names. One that the expression lacks would be replaced by nothing.
fn groups(replacement: &str) -> Vec<&str> {
    let mut groups = Vec::new();
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            rest = after;
        } else if let Some(braced) = rest.strip_prefix('{') {
            groups.extend(braced.split_once('}').map(|(group, _)| group));
        } else {
            let is_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
            let end = rest.find(|letter| !is_name(letter)).unwrap_or(rest.len());
            groups.extend((end > 0).then_some(&rest[..end]));
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_replaced() {
        let apply = |rename: &str, name: &str| Rename::parse(rename).unwrap().apply(name);
        assert_eq!(apply(r"^model\.=", "model.a"), "a");
        assert_eq!(apply(r"h\.(\d+)=layer.$1", "h.3.w"), "layer.3.w");
        assert_eq!(apply(r"(?<n>\d)=${n}x", "a1"), "a1x");
        assert_eq!(apply("a=$$", "a"), "$");
    }

    #[test]
    fn what_is_wrong_is_told() {
        let wrong = |rename: &str| Rename::parse(rename).unwrap_err();
        assert!(wrong("abc").contains("no `=`"));
        assert!(wrong("(=x").contains("unclosed group"));
        assert!(!wrong("(=x").contains('\n'));
        assert!(wrong(r"(\d)=$1_x").contains("no group `1_x`"));
        assert!(wrong("a=$1").contains("no group `1`"));
    }
}
