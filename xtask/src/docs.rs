//! Every error has an entry in docs/errors.md and a test that produces it.

use std::collections::BTreeSet;

use anyhow::{Context, Result, bail, ensure};
use quote::ToTokens;
use syn::{File, Item};

use crate::source;
use crate::workspace::Workspace;

const PAGE: &str = "docs/errors.md";

/// Fail with the list of errors that lack an entry or a test, and of entries that lack an error.
pub fn check(workspace: &Workspace) -> Result<()> {
    let mut errors = BTreeSet::new();
    let mut tests = Vec::new();
    for folder in std::fs::read_dir(workspace.root().join("crates"))? {
        let folder = folder?.path();
        for file in source::rust_files(&folder.join("src"))? {
            let source = source::parse(&file)?;
            tests.push(tests_in(&source));
            errors.extend(source::items(source).iter().flat_map(errors_of));
        }
        for file in source::rust_files(&folder.join("tests"))? {
            tests.push(without_spaces(&source::parse(&file)?));
        }
    }
    ensure!(!errors.is_empty(), "no error type found in crates/*/src");
    let page = std::fs::read_to_string(workspace.root().join(PAGE)).context(PAGE)?;
    let mut problems = problems(&errors, &entries(&page), &tests);
    problems.extend(without_remedy(&page));
    if problems.is_empty() {
        println!(
            "all {} errors have an entry in {PAGE} and a test",
            errors.len()
        );
        return Ok(());
    }
    bail!(
        "errors are not held by documentation and tests:\n  {}",
        problems.join("\n  ")
    )
}

fn problems(
    errors: &BTreeSet<String>,
    entries: &BTreeSet<String>,
    tests: &[String],
) -> Vec<String> {
    let undocumented = errors.difference(entries);
    let undocumented = undocumented.map(|error| format!("{error}: no heading in {PAGE}"));
    let unknown = entries.difference(errors);
    let unknown = unknown.map(|entry| format!("{entry}: a heading in {PAGE}, but no such error"));
    let untested = errors
        .iter()
        .filter(|error| !tests.iter().any(|test| mentions(test, error)));
    let untested = untested.map(|error| format!("{error}: no test names it"));
    undocumented.chain(unknown).chain(untested).collect()
}

/// Entries that do not show what to write instead: code with a before and an after.
fn without_remedy(page: &str) -> Vec<String> {
    let entries = page.split("\n### ").skip(1);
    let lacking = entries.filter(|entry| {
        let entry = entry.split("\n## ").next().unwrap_or_default();
        let code = entry.to_lowercase();
        !(code.contains("```rust") && code.contains("before") && code.contains("after"))
    });
    let title = |entry: &str| entry.lines().next().unwrap_or_default().trim().to_owned();
    lacking
        .map(|entry| {
            format!(
                "{}: no code with a before and an after in {PAGE}",
                title(entry)
            )
        })
        .collect()
}

/// `Enum::Variant` for each variant of an error enum, `Struct` for an error struct.
fn errors_of(item: &Item) -> Vec<String> {
    let is_error = |attributes| source::derives(attributes, &["thiserror", "Error"]);
    match item {
        Item::Enum(item) if is_error(&item.attrs) => {
            let variants = item.variants.iter();
            variants
                .map(|variant| format!("{}::{}", item.ident, variant.ident))
                .collect()
        }
        Item::Struct(item) if is_error(&item.attrs) => vec![item.ident.to_string()],
        _ => Vec::new(),
    }
}

/// The third-level headings of the page.
fn entries(page: &str) -> BTreeSet<String> {
    let headings = page.lines().filter_map(|line| line.strip_prefix("### "));
    headings
        .map(|heading| heading.trim().trim_matches('`').to_owned())
        .collect()
}

/// The test modules of a source file. Tokens, not text: what a comment mentions is not tested.
fn tests_in(file: &File) -> String {
    let modules = file.items.iter().filter(|item| match item {
        Item::Mod(module) => source::is_test(&module.attrs),
        _ => false,
    });
    modules.map(without_spaces).collect()
}

fn without_spaces(source: &impl ToTokens) -> String {
    source
        .to_token_stream()
        .to_string()
        .replace(char::is_whitespace, "")
}

/// Whether `source` names `error`, and not only a longer name that contains it.
fn mentions(source: &str, error: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    source.match_indices(error).any(|(start, _)| {
        !source[..start].ends_with(is_name) && !source[start + error.len()..].starts_with(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> BTreeSet<String> {
        list.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn variants_and_structs_are_found() {
        let source = "
            #[derive(Debug, thiserror::Error)] pub enum Refused { Missing { path: String }, Late }
            #[derive(thiserror::Error)] pub struct Unknown;
            #[derive(Debug)] pub enum Plain { A }
        ";
        let items = source::items(syn::parse_file(source).unwrap());
        let errors: BTreeSet<String> = items.iter().flat_map(errors_of).collect();
        assert_eq!(
            errors,
            names(&["Refused::Missing", "Refused::Late", "Unknown"])
        );
    }

    #[test]
    fn each_kind_of_gap_is_told() {
        let errors = names(&["E::Held", "E::Silent", "E::Untested"]);
        let page = "# Errors\n### `E::Held`\n### E::Untested\n### E::Gone\n";
        let tests = ["matches!(e,E::Held{..});E::Silent;E::UntestedButLonger".to_owned()];
        let problems = problems(&errors, &entries(page), &tests);
        let expected = [
            "E::Silent: no heading in docs/errors.md",
            "E::Gone: a heading in docs/errors.md, but no such error",
            "E::Untested: no test names it",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn an_entry_without_a_remedy_is_told() {
        let page = "# Errors\n\n### `E::A`\n```rust\n// before\n// after\n```\n\n## F\n\n### `E::B`\nAfter.\n";
        let expected = ["`E::B`: no code with a before and an after in docs/errors.md"];
        assert_eq!(without_remedy(page), expected);
    }

    #[test]
    fn only_test_modules_count_as_tests() {
        let source = "
            fn make() -> E { E::Used }
            #[cfg(test)] mod tests { /* E::Comment */ fn t() { assert!(matches!(x, E :: Tested)) } }
        ";
        let tests = tests_in(&syn::parse_file(source).unwrap());
        assert!(mentions(&tests, "E::Tested"));
        assert!(!mentions(&tests, "E::Used") && !mentions(&tests, "E::Comment"));
    }
}
