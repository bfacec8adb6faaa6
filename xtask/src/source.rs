//! Reading Rust source.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use syn::{Attribute, File, Item, Meta};

/// Every Rust file below `folder`, in the order of their paths; none where there is no such folder.
pub fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = Vec::from_iter(folder.is_dir().then(|| folder.to_owned()));
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}

/// The syntax tree of a file.
pub fn parse(file: &Path) -> Result<File> {
    let text = std::fs::read_to_string(file)?;
    syn::parse_file(&text).with_context(|| format!("{} is no Rust source", file.display()))
}

/// Every item, and those in modules written out in place; test modules are left out.
pub fn items(file: File) -> Vec<Item> {
    let mut items = Vec::new();
    let mut rest = file.items;
    while let Some(item) = rest.pop() {
        match item {
            Item::Mod(module) if !is_test(&module.attrs) => {
                rest.extend(module.content.into_iter().flat_map(|(_, items)| items));
            }
            Item::Mod(_) => {}
            item => items.push(item),
        }
    }
    items
}

/// Whether an item stands under `#[cfg(test)]`.
pub fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => list.tokens.to_string() == "test",
        _ => false,
    })
}

/// Whether a `derive` names a trait by a path that ends in `path`, such as `["thiserror", "Error"]`.
pub fn derives(attributes: &[Attribute], path: &[&str]) -> bool {
    let mut found = false;
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("derive"))
    {
        // Whatever is no list of paths is no derive either: rustc refuses it.
        let _ = attribute.parse_nested_meta(|derived| {
            let segments = derived
                .path
                .segments
                .iter()
                .map(|segment| segment.ident.to_string());
            let segments: Vec<String> = segments.collect();
            found |= segments.len() >= path.len()
                && segments[segments.len() - path.len()..].iter().eq(path);
            Ok(())
        });
    }
    found
}
