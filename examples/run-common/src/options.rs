//! The command line.

use burn::tensor::Device;
use clap::Parser;
use clap::error::ErrorKind;

/// The device that the examples in plain Burn call so.
///
/// # Errors
/// What is to be said of any other name.
pub fn plain_device(name: &str) -> Result<Device, String> {
    match name {
        "auto" => Ok(Device::default()),
        "flex" => Ok(Device::flex()),
        _ => Err(format!(
            "no device is called `{name}`: choose one of auto, flex"
        )),
    }
}

/// Read the command line. What is wrong is said in one line, and the process exits with 2.
pub fn parse<P: Parser>() -> P {
    P::try_parse().unwrap_or_else(|error| {
        if matches!(
            error.kind(),
            ErrorKind::DisplayHelp | ErrorKind::DisplayVersion
        ) {
            error.exit();
        }
        // The first paragraph says what is wrong; the ones after it repeat the usage.
        let text = error.to_string();
        let what: Vec<&str> = text
            .lines()
            .map(str::trim)
            .take_while(|line| !line.is_empty())
            .collect();
        eprintln!("{} (--help lists the options)", what.join(" "));
        std::process::exit(2)
    })
}
