//! A libtorch to build and run with: one that is there, or one from the Python package index.
//!
//! The Python package for Linux is built for CUDA, and links on the CPU without CUDA's libraries but
//! for two small ones. So a folder is made that holds links to what is needed and nothing else, in
//! the layout of a libtorch release.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace::Workspace;

/// The version that burn-tch 0.22 binds.
const VERSION: &str = "2.9.0";

/// Packages of the CUDA libraries that `libtorch_cpu.so` itself is linked to.
const CUDA_PACKAGES: [&str; 2] = [
    "nvidia-cuda-runtime-cu12==12.8.90",
    "nvidia-cuda-cupti-cu12==12.8.90",
];

/// Where the packages have them.
const CUDA_LIBRARIES: [&str; 2] = [
    "nvidia/cuda_runtime/lib/libcudart.so.12",
    "nvidia/cuda_cupti/lib/libcupti.so.12",
];

/// Libraries of PyTorch that are linked to, by how their names begin (a hash may follow).
const LIBRARIES: [&str; 3] = ["libtorch_cpu.so", "libc10.so", "libgomp"];

/// What has to be in the environment of a build, and of a program that was built so.
pub struct LibTorch {
    folder: PathBuf,
}

impl LibTorch {
    /// Take the libtorch of the variable `LIBTORCH`, else of an importable PyTorch, else of the
    /// package index, which is asked once for a target directory.
    pub fn prepare(workspace: &Workspace) -> Result<Self> {
        if let Some(folder) = std::env::var_os("LIBTORCH") {
            return Self::given(folder.into());
        }
        ensure!(
            cfg!(target_os = "linux"),
            "libtorch is prepared on Linux only: elsewhere unpack libtorch {VERSION} and set LIBTORCH to its folder"
        );
        let home = workspace.target()?.join("libtorch");
        if let Some(packages) = importable() {
            eprintln!("PyTorch {VERSION} of python3, in {}", packages.display());
            return Self::link(&packages, &home.join(format!("python-{VERSION}")));
        }
        let packages = home.join(format!("packages-{VERSION}"));
        let done = packages.join("complete");
        if !done.exists() {
            eprintln!(
                "fetching PyTorch {VERSION} into {} (2 GB)",
                packages.display()
            );
            install(&packages)?;
            fs::write(&done, "")?;
        }
        Self::link(&packages, &home.join(VERSION))
    }

    /// A folder that somebody named.
    fn given(folder: PathBuf) -> Result<Self> {
        let names = ["libtorch_cpu.so", "libtorch_cpu.dylib", "torch_cpu.lib"];
        let has = |name: &&str| folder.join("lib").join(name).exists();
        ensure!(
            names.iter().any(has),
            "LIBTORCH is {}, and there is no libtorch in its folder lib",
            folder.display()
        );
        eprintln!("libtorch of LIBTORCH, in {}", folder.display());
        Ok(Self { folder })
    }

    /// Fill `folder` with links into `packages`.
    fn link(packages: &Path, folder: &Path) -> Result<Self> {
        let torch = packages.join("torch");
        let lib = folder.join("lib");
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(&lib)?;
        symlink(&torch.join("include"), &folder.join("include"))?;
        let libraries = torch.join("lib");
        for entry in fs::read_dir(&libraries).with_context(|| libraries.display().to_string())? {
            let entry = entry?;
            let name = entry.file_name();
            let text = name.to_string_lossy();
            if LIBRARIES.iter().any(|start| text.starts_with(start)) {
                symlink(&entry.path(), &lib.join(&name))?;
            }
        }
        // PyTorch for the CPU alone has none of them and needs none.
        for library in CUDA_LIBRARIES.map(|library| packages.join(library)) {
            if let (true, Some(name)) = (library.exists(), library.file_name()) {
                symlink(&library, &lib.join(name))?;
            }
        }
        // What links to all of PyTorch gets the part that is there: GNU ld and lld read a linker
        // script where they expect a library.
        fs::write(lib.join("libtorch.so"), "INPUT(libtorch_cpu.so)\n")?;
        // What torch-sys tells the version by.
        fs::write(folder.join("build-version"), VERSION)?;
        Self::given(folder.to_owned())
    }

    /// The variables to set, with their values.
    pub fn environment(&self) -> Result<[(&'static str, OsString); 2]> {
        let search = match () {
            () if cfg!(target_os = "macos") => "DYLD_LIBRARY_PATH",
            () if cfg!(windows) => "PATH",
            () => "LD_LIBRARY_PATH",
        };
        let before = std::env::var_os(search).unwrap_or_default();
        let lib = self.folder.join("lib");
        let before = std::env::split_paths(&before).filter(|path| *path != lib);
        let paths = std::env::join_paths(std::iter::once(lib.clone()).chain(before))?;
        Ok([("LIBTORCH", self.folder.clone().into()), (search, paths)])
    }
}

/// Prepare it and print what a shell has to be told.
pub fn print(workspace: &Workspace) -> Result<()> {
    for (name, value) in LibTorch::prepare(workspace)?.environment()? {
        println!("export {name}='{}'", value.to_string_lossy());
    }
    eprintln!("to set them: eval \"$(cargo xtask libtorch)\"");
    Ok(())
}

/// The folder of packages that python3 imports the right PyTorch from.
fn importable() -> Option<PathBuf> {
    let script = "import torch; print(torch.__version__); print(torch.__path__[0])";
    let mut python = Command::new("python3");
    let output = python.args(["-c", script]).stderr(Stdio::null()).output();
    let output = String::from_utf8(output.ok()?.stdout).ok()?;
    let (version, folder) = output.trim().split_once('\n')?;
    let is_right = version.split('+').next() == Some(VERSION);
    is_right.then(|| Path::new(folder).parent().map(Path::to_owned))?
}

fn install(packages: &Path) -> Result<()> {
    let torch = format!("torch=={VERSION}");
    let mut pip = Command::new("python3");
    pip.args([
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
    ]);
    pip.arg("--root-user-action=ignore");
    // All that PyTorch needs in Python is not needed here.
    pip.args(["--no-deps", "--upgrade", "--target"]);
    pip.arg(packages).arg(torch);
    if cfg!(target_arch = "x86_64") {
        pip.args(CUDA_PACKAGES);
    }
    // Its standard output is for the variables.
    let status = pip.stdout(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        _ => bail!(
            "pip could not install PyTorch {VERSION}: is there python3 with pip, and a package index? \
             Otherwise unpack libtorch {VERSION} and set LIBTORCH to its folder"
        ),
    }
}

#[cfg(unix)]
fn symlink(original: &Path, link: &Path) -> Result<()> {
    std::os::unix::fs::symlink(original, link)
        .with_context(|| format!("cannot link {} to {}", link.display(), original.display()))
}

#[cfg(not(unix))]
fn symlink(original: &Path, _link: &Path) -> Result<()> {
    bail!("{} is not linked on this system", original.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fresh(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("xtask-{}-{name}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_folder_holds_what_is_needed_of_the_packages() {
        let home = fresh("link");
        let packages = home.join("packages");
        for file in [
            "torch/include/torch.h",
            "torch/lib/libtorch_cpu.so",
            "torch/lib/libtorch_cuda.so",
            "torch/lib/libc10.so",
            "torch/lib/libgomp-0123.so.1",
            "nvidia/cuda_cupti/lib/libcupti.so.12",
        ] {
            let file = packages.join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, "").unwrap();
        }
        let linked = LibTorch::link(&packages, &home.join("linked")).unwrap();
        let lib = fs::read_dir(linked.folder.join("lib")).unwrap();
        let mut names: Vec<String> = lib
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        let expected = [
            "libc10.so",
            "libcupti.so.12",
            "libgomp-0123.so.1",
            "libtorch.so",
            "libtorch_cpu.so",
        ];
        assert_eq!(names, expected);
        assert!(linked.folder.join("include/torch.h").exists());
        // A second time, over the first.
        LibTorch::link(&packages, &home.join("linked")).unwrap();
        fs::remove_dir_all(home).unwrap();
    }

    #[test]
    fn a_folder_without_libtorch_is_refused() {
        let folder = fresh("empty");
        let error = LibTorch::given(folder.clone()).err().unwrap().to_string();
        assert!(error.contains("no libtorch"), "{error}");
        fs::remove_dir_all(folder).unwrap();
    }
}
