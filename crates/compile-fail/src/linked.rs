//! The libraries that a test program was linked to, by what cargo notes of the build.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

/// The compiler beside the cargo that runs the tests.
pub fn rustc() -> PathBuf {
    let cargo = env::var_os("CARGO").map(PathBuf::from);
    let rustc =
        cargo.map(|cargo| cargo.with_file_name(format!("rustc{}", env::consts::EXE_SUFFIX)));
    let rustc = rustc.filter(|rustc| rustc.exists());
    rustc.unwrap_or_else(|| "rustc".into())
}

/// What programs may name, and where the rest is.
pub struct Libraries {
    folder: PathBuf,
    named: Vec<(String, PathBuf)>,
}

impl Libraries {
    /// Those of the test program that runs.
    ///
    /// cargo keeps a folder a unit of the build, `name-hash`, where the program is `name-hash` too. It
    /// lists the units it depends on by their fingerprints, and a library's folder has its own.
    pub fn of_this_program() -> Self {
        let program = env::current_exe().expect("a program has a path");
        let folder = program.parent().expect("a program lies in a folder");
        let name = program.file_stem().unwrap_or_default().to_string_lossy();
        let (name, hash) = name.rsplit_once('-').expect("cargo adds a hash to a name");
        let units = folder.with_file_name(".fingerprint");
        let note = format!("test-integration-test-{name}.json");
        let ours = |path: &PathBuf| path.to_string_lossy().ends_with(&format!("-{hash}"));
        let note = entries(&units)
            .filter(ours)
            .map(|unit| unit.join(&note))
            .find_map(|note| fs::read_to_string(note).ok());
        let note = note.unwrap_or_else(|| panic!("no note of {name} in {}", units.display()));
        let note: Value = serde_json::from_str(&note).expect("cargo notes JSON");
        let wanted: Vec<(String, String)> = note["deps"]
            .as_array()
            .expect("cargo notes what a program depends on")
            .iter()
            .filter_map(|dependency| {
                let name = dependency[1].as_str()?.to_owned();
                let print = dependency[3].as_u64()?;
                Some((name, hex(print)))
            })
            .collect();
        let mut named = Vec::new();
        for unit in entries(&units) {
            let hash = unit.to_string_lossy();
            let Some((_, hash)) = hash.rsplit_once('-') else {
                continue;
            };
            for (name, print) in &wanted {
                let found = fs::read_to_string(unit.join(format!("lib-{name}")));
                let library = folder.join(format!("lib{name}-{hash}.rlib"));
                // A macro's library is no rlib, and is reached through the crate that exports it.
                if found.is_ok_and(|found| found == *print) && library.exists() {
                    named.push((name.clone(), library));
                }
            }
        }
        let folder = folder.to_owned();
        assert!(!named.is_empty(), "no library in {}", folder.display());
        Self { folder, named }
    }

    /// For the compiler.
    pub fn arguments(&self) -> Vec<OsString> {
        let mut arguments = vec!["-L".into(), joined("dependency=", &self.folder)];
        for (name, library) in &self.named {
            arguments.push("--extern".into());
            arguments.push(joined(&format!("{name}="), library));
        }
        arguments
    }
}

fn joined(start: &str, path: &Path) -> OsString {
    let mut text = OsString::from(start);
    text.push(path);
    text
}

fn entries(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| {
        panic!("{}: {error}", folder.display());
    });
    entries.filter_map(|entry| Some(entry.ok()?.path()))
}

/// As cargo writes a fingerprint.
fn hex(print: u64) -> String {
    let bytes = print.to_le_bytes();
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_fingerprint_is_written_from_its_lowest_byte() {
        assert_eq!(super::hex(0x5c16_9112_34c1_4c63), "634cc1341291165c");
    }
}
