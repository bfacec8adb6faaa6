//! Where assets lie.

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;

/// The variable that names the folder of all assets.
pub const FOLDER_VARIABLE: &str = "BURN_FABRIC_ASSETS";

/// The folder of all assets: outside the checkout, so that all checkouts share it.
pub(crate) fn root() -> PathBuf {
    choose(|name| std::env::var_os(name).filter(|value| !value.is_empty()))
}

fn choose(variable: impl Fn(&str) -> Option<OsString>) -> PathBuf {
    if let Some(folder) = variable(FOLDER_VARIABLE) {
        return folder.into();
    }
    let path = |name: &str| variable(name).map(PathBuf::from);
    let cache = match () {
        () if cfg!(windows) => path("LOCALAPPDATA"),
        () if cfg!(target_os = "macos") => path("HOME").map(|home| home.join("Library/Caches")),
        // The XDG specification has relative paths ignored.
        () => path("XDG_CACHE_HOME")
            .filter(|path| path.is_absolute())
            .or_else(|| path("HOME").map(|home| home.join(".cache"))),
    };
    let cache = cache.unwrap_or_else(std::env::temp_dir);
    cache.join("burn-fabric").join("assets")
}

/// An asset that was not fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MissingAsset {
    /// Which.
    pub asset: &'static str,
    /// The file that is not there.
    pub path: PathBuf,
}

impl fmt::Display for MissingAsset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { asset, path } = self;
        write!(
            f,
            "{} is not there: fetch it with `cargo xtask assets {asset}`, or set {FOLDER_VARIABLE} to \
             the folder that has it",
            path.display()
        )
    }
}

impl std::error::Error for MissingAsset {}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> PathBuf {
        choose(|name| {
            let (_, value) = variables.iter().find(|(variable, _)| *variable == name)?;
            Some(value.into())
        })
    }

    #[test]
    fn the_variable_is_the_folder_itself() {
        let variables = [(FOLDER_VARIABLE, "here"), ("HOME", "/home/me")];
        assert_eq!(chosen(&variables), PathBuf::from("here"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn else_it_is_in_the_cache_of_the_user() {
        let home = ("HOME", "/home/me");
        let inside = PathBuf::from("/home/me/.cache/burn-fabric/assets");
        assert_eq!(chosen(&[home]), inside);
        let elsewhere = PathBuf::from("/cache/burn-fabric/assets");
        assert_eq!(chosen(&[home, ("XDG_CACHE_HOME", "/cache")]), elsewhere);
        assert_eq!(chosen(&[home, ("XDG_CACHE_HOME", "cache")]), inside);
        assert!(chosen(&[]).is_absolute());
    }
}
