//! The tests that must exist: one for each failure that users of such systems reported, and one
//! for each module of burn-nn.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use anyhow::{Result, ensure};
use heck::ToSnakeCase;
use syn::{Item, Visibility};

use crate::source;
use crate::workspace::Workspace;

/// The reported failures whose tests exist from here on: `case_07_a_tie_survives_…`.
const CASES: std::ops::RangeInclusive<u32> = 1..=19;

/// A test that must exist.
pub enum Expected {
    /// The test of a reported failure, by its number.
    Case(u32),
    /// The test of a module of burn-nn, by its type.
    Module(String),
}

impl Expected {
    /// Whether one of `names` is the test.
    pub fn is_among(&self, names: &BTreeSet<String>) -> bool {
        match self {
            Self::Case(number) => {
                let start = format!("case_{number:02}_");
                names.iter().any(|name| name.starts_with(&start))
            }
            Self::Module(module) => names.contains(&module_test(module)),
        }
    }
}

impl fmt::Display for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Case(number) => write!(f, "reported failure {number}: case_{number:02}_…"),
            Self::Module(module) => write!(f, "burn::nn {module}: {}", module_test(module)),
        }
    }
}

fn module_test(module: &str) -> String {
    format!("module_{}", module.to_snake_case())
}

/// All of them. The modules are read from burn-nn's own source, so that one that is new upstream
/// cannot be forgotten.
pub fn expected(workspace: &Workspace) -> Result<Vec<Expected>> {
    let modules = modules(&workspace.source_of("burn-nn")?)?;
    ensure!(
        !modules.is_empty(),
        "no module found in the source of burn-nn"
    );
    let modules = modules.into_iter().map(Expected::Module);
    Ok(CASES.map(Expected::Case).chain(modules).collect())
}

/// The public types in `folder` that derive Burn's `Module`.
fn modules(folder: &Path) -> Result<BTreeSet<String>> {
    let mut modules = BTreeSet::new();
    for file in source::rust_files(folder)? {
        modules.extend(
            source::items(source::parse(&file)?)
                .iter()
                .filter_map(module),
        );
    }
    Ok(modules)
}

fn module(item: &Item) -> Option<String> {
    let (attributes, visibility, name) = match item {
        Item::Struct(item) => (&item.attrs, &item.vis, &item.ident),
        Item::Enum(item) => (&item.attrs, &item.vis, &item.ident),
        _ => return None,
    };
    let is_public = matches!(visibility, Visibility::Public(_));
    (is_public && source::derives(attributes, &["Module"])).then(|| name.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_tests_follow_the_type() {
        let pairs = [
            ("Conv2d", "module_conv2d"),
            ("BiLstm", "module_bi_lstm"),
            ("GLU", "module_glu"),
            ("PRelu", "module_p_relu"),
            ("CTCLoss", "module_ctc_loss"),
            ("Fold4d", "module_fold4d"),
        ];
        for (module, test) in pairs {
            assert_eq!(module_test(module), test);
        }
    }

    #[test]
    fn only_public_modules_outside_of_tests_count() {
        let source = "
            #[derive(Module, Debug)] pub struct Linear {}
            #[derive(Clone, burn::module::Module)] pub enum Activation {}
            #[derive(Config)] pub struct LinearConfig {}
            #[derive(Module)] struct Private {}
            #[cfg(test)] mod tests { #[derive(Module)] pub struct Helper {} }
            mod inner { #[derive(Module)] pub struct Inner {} }
        ";
        let items = source::items(syn::parse_file(source).unwrap());
        let found: BTreeSet<String> = items.iter().filter_map(module).collect();
        assert_eq!(Vec::from_iter(found), ["Activation", "Inner", "Linear"]);
    }

    #[test]
    fn a_case_is_found_by_its_number() {
        let names = BTreeSet::from(["case_07_a_tie_survives".to_owned()]);
        assert!(Expected::Case(7).is_among(&names));
        assert!(!Expected::Case(70).is_among(&names));
        assert!(!Expected::Module("Linear".to_owned()).is_among(&names));
    }
}
