//! Giving a real module fresh initial values.

use burn::tensor::Device;
use burn_meta::{DefaultDTypes, record};

use crate::Materialize;
use crate::error::{MaterializeError, Problem, Problems};
use crate::init_plan::InitPlan;
use crate::inventory::{Entry, inventory};
use crate::meta::Recorded;
use crate::plan::{Plan, Target};
use crate::recipes::Recipes;

/// Give every tensor of `module` the initial value its constructor would, drawn with `seed`.
///
/// The constructor is only recorded; each tensor is produced where the module's own is, in its
/// dtype. Identity, mappers, trainability, flags and ties stay. On success the module is replaced,
/// so for that moment both values of each tensor are held.
///
/// # Errors
/// [`Problem::OtherModule`] where the constructor builds another module, and as
/// [`Meta::materialize`](crate::Meta::materialize); the module is then as it was.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use burn_materialize::reset;
///
/// let device = Device::flex();
/// let config = LinearConfig::new(8, 4);
/// let mut a = config.init(&device);
/// let mut b = config.init(&device);
/// reset(&mut a, 42, |device| config.init(device))?;
/// reset(&mut b, 42, |device| config.init(device))?;
/// assert_eq!(a.weight.to_data(), b.weight.to_data());
/// # Ok::<(), burn_materialize::MaterializeError>(())
/// ```
pub fn reset<M: Materialize>(
    module: &mut M,
    seed: u64,
    constructor: impl FnOnce(&Device) -> M,
) -> Result<(), MaterializeError> {
    let (recorded, recording) = record(defaults_of(module), |device| {
        let Recorded {
            entries,
            declarations,
            ..
        } = Recorded::new(constructor(device), device);
        (entries, declarations)
    })?;
    let (entries, declarations) = recorded;
    same_module(&inventory(module), &entries)?;
    Recipes::new(recording, &entries, declarations, None).reset(module, seed, &|_| true)
}

/// Give every tensor of a module that nothing was recorded for the documented default of its
/// layer; returns the paths that got one.
///
/// Buffers keep what they hold.
///
/// # Errors
/// [`Problem::NoSource`] for each parameter that no layer of burn-nn and no hook speaks for.
pub fn reset_to_defaults<M: Materialize>(
    module: &mut M,
    seed: u64,
) -> Result<Vec<String>, MaterializeError> {
    let (declarations, recording) = record(defaults_of(module), |device| {
        let mut plan = InitPlan::new(device, false);
        module.reset_parameters(&mut plan);
        plan.into_declarations()
    })?;
    let paths = declarations
        .values
        .iter()
        .filter(|(_, declared)| declared.default);
    let paths = paths.map(|(path, _)| path.clone()).collect();
    // The draws' keys follow the module's own order.
    let recipes = Recipes::new(recording, &inventory(module), declarations, None);
    recipes.reset(module, seed, &|_| true)?;
    Ok(paths)
}

impl Recipes {
    /// Give the tensors of a real `module` whose path `select` accepts their initial value again,
    /// drawn with `seed`.
    ///
    /// # Errors
    /// As [`reset`].
    pub fn reset<M: Materialize>(
        &self,
        module: &mut M,
        seed: u64,
        select: &dyn Fn(&str) -> bool,
    ) -> Result<(), MaterializeError> {
        let plan = Plan::new(module, self, Target::All { select })?;
        *module = plan.fill(module.clone(), seed)?;
        Ok(())
    }
}

fn defaults_of<M: Materialize>(module: &M) -> DefaultDTypes {
    let entries = inventory(module);
    let device = entries.first().map(|entry| entry.device.clone());
    device.map_or_else(DefaultDTypes::default, |device| DefaultDTypes::of(&device))
}

fn same_module(module: &[Entry], built: &[Entry]) -> Result<(), MaterializeError> {
    let difference = module
        .iter()
        .zip(built)
        .find_map(|(ours, theirs)| {
            let same = ours.path == theirs.path && ours.has_shape(&theirs.shape);
            let told = |entry: &Entry| format!("`{}` {}", entry.path, entry.shape);
            (!same).then(|| format!("{} against {}", told(ours), told(theirs)))
        })
        .or_else(|| {
            let (ours, theirs) = (module.len(), built.len());
            (ours != theirs).then(|| format!("{ours} tensors against {theirs}"))
        });
    match difference {
        None => Ok(()),
        Some(difference) => Err(MaterializeError::Refused(Problems(vec![
            Problem::OtherModule { difference },
        ]))),
    }
}
