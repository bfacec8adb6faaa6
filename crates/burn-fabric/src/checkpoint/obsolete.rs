//! What no checkpoint needs any more.

use std::fs;
use std::path::Path;

use super::manifest::{self, Manifest};

/// Remove what only earlier saves made: what the manifest before this named, and what saves that were
/// killed left of parts `like` those of another. Nothing else: the folder may have files of the user's.
pub(super) fn remove_obsolete(
    folder: &Path,
    before: Option<&Manifest>,
    like: &Manifest,
    keep: &[&str],
) {
    let is_named =
        |name: &str| before.is_some_and(|manifest| manifest.names().any(|one| one == name));
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if !keep.contains(&name.as_str()) && (is_named(&name) || is_ours(&name, like)) {
            // What is kept is complete without it.
            let _ = fs::remove_file(entry.path());
        }
    }
}

/// Whether a save of these parts may have made it: a file of a part, or one that was being written.
fn is_ours(name: &str, manifest: &Manifest) -> bool {
    let (name, is_scratch) = match name
        .strip_suffix(".tmp")
        .and_then(|name| name.rsplit_once('.'))
    {
        // `.<process>-<number>.tmp` stands after the name of the file that was to be.
        Some((file, _)) => (file, true),
        None => (name, false),
    };
    if is_scratch && name == manifest::FILE {
        return true;
    }
    let Some(stem) = name.strip_suffix(".safetensors") else {
        return false;
    };
    stem.rsplit_once('-').is_some_and(|(part, number)| {
        number.parse::<u32>().is_ok() && manifest.parts.contains_key(part)
    })
}
