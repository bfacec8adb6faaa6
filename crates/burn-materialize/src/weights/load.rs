//! Loading into a module that is real.

use super::{LoadReport, Matching, Weights, match_weights};
use crate::Materialize;
use crate::error::MaterializeError;
use crate::plan::{Plan, Target};
use crate::recipes::Recipes;
use crate::weights::matching::own_dtype;

/// A module whose tensors came from a file, and what was done for it.
#[derive(Clone, Debug)]
pub struct Loaded<M> {
    /// The module.
    pub module: M,
    /// What the file gave and what it did not.
    pub report: LoadReport,
}

/// Load a checkpoint into a module that exists: each tensor where it is, in its dtype, under its
/// own id. A parameter that Burn has not initialised yet never will be, if the file has it.
///
/// # Errors
/// As [`Meta::load`](crate::Meta::load); the module is then as it was.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use burn_materialize::{SaveOptions, Weights, load, reset_to_defaults, save};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("linear.safetensors");
/// let device = Device::flex();
/// let mut trained = LinearConfig::new(4, 2).init(&device);
/// reset_to_defaults(&mut trained, 42)?; // a lazy parameter has no value to save
/// save(&trained, &path, &SaveOptions::new())?;
///
/// let mut linear = LinearConfig::new(4, 2).init(&device);
/// let report = load(&mut linear, &Weights::open(&path)?)?;
/// assert_eq!(report.loaded.len(), 2);
/// assert_eq!(linear.weight.to_data(), trained.weight.to_data());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn load<M: Materialize>(
    module: &mut M,
    weights: &Weights,
) -> Result<LoadReport, MaterializeError> {
    let matching: Matching<'_> = match_weights(module, weights, &own_dtype)?;
    let paths: std::collections::HashSet<String> = matching.sources.keys().cloned().collect();
    let select = |path: &str| paths.contains(path);
    let target = Target::All { select: &select };
    let recipes = Recipes::default();
    let (plan, mut report) = Plan::with_weights(module, &recipes, target, Some(matching))?;
    let (loaded, copies) = plan.fill_reporting(module.clone(), 0)?;
    *module = loaded;
    report.copies = copies;
    report.sort();
    Ok(report)
}
