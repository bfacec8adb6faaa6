//! Pictures as SVG and PNG: what all of them share, and those of a trace.

pub(crate) mod canvas;
mod error;
mod memory;
mod modules;
pub(crate) mod page;
pub(crate) mod ticks;

use std::path::Path;

pub use error::PictureError;
pub use memory::MemoryPicture;
pub use modules::ModulesPicture;

use self::page::{Failed, Picture};
use crate::logging::replace;

/// Draw a picture and put it into a file: as SVG or PNG, as its name ends.
fn write(path: &Path, draw: impl FnOnce() -> Result<Picture, Failed>) -> Result<(), PictureError> {
    let ending = path.extension().unwrap_or_default().to_string_lossy();
    let of_ending: fn(Picture) -> Vec<u8> = match ending.to_ascii_lowercase().as_str() {
        "svg" => |picture| picture.svg,
        "png" => |picture| picture.png,
        _ => {
            return Err(PictureError::Format {
                path: path.to_owned(),
                found: ending.into_owned(),
            });
        }
    };
    let drawn = draw().map_err(|failed| PictureError::drawing(path, failed))?;
    replace(path, &of_ending(drawn)).map_err(|error| PictureError::of(path, error))
}
