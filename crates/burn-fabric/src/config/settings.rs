//! What was resolved, and why.

use std::fmt;
use std::path::PathBuf;

use burn::tensor::FloatDType;
use burn_materialize::InitRng;

use super::environment::variable;
use super::float_dtype;
use super::{FabricConfig, MissingGradients, SettingProblem};
use crate::accelerator::Accelerator;
use crate::error::FabricError;
use crate::gradients::{Clip, NonFinite};
use crate::precision::{LossScale, Precision};

/// The settings of a Fabric, each with where it comes from. Its `Display` is a table.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The device asked for.
    pub accelerator: Accelerator,
    /// The seed of all initial values.
    pub seed: u64,
    /// Whether the device's own generator is seeded with it when the Fabric is built.
    pub seed_everything: bool,
    /// The generator of all initial values.
    pub init_rng: InitRng,
    /// In which dtypes models are kept and optimised, where that was said.
    pub precision: Option<Precision>,
    /// The dtype of float tensors that name none, of the precision or by itself; the device's own
    /// default where nobody said.
    pub float_dtype: Option<FloatDType>,
    /// Whether the backward pass computes activations again.
    pub gradient_checkpointing: bool,
    /// What the loss is multiplied by at first under `mixed-f16`.
    pub loss_scale: f64,
    /// After how many steps in a row that is doubled.
    pub loss_scale_interval: u32,
    /// How many micro-batches make one step.
    pub accumulate: usize,
    /// How gradients are clipped.
    pub clip: Option<Clip>,
    /// What clipping does about a NaN or an infinity.
    pub non_finite_gradients: NonFinite,
    /// What a step does about parameters without a gradient.
    pub missing_gradients: MissingGradients,
    rows: Vec<[String; 3]>,
}

/// Where a setting comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody said anything.
    Default,
    /// A file.
    File(PathBuf),
    /// A [`FabricConfig`] given to the builder.
    Config,
    /// A variable of the environment.
    Environment,
    /// A method of the builder.
    Code,
}

/// Configurations, the strongest last.
#[derive(Clone, Debug, Default)]
pub(crate) struct Layers(pub(crate) Vec<(Origin, FabricConfig)>);

impl Layers {
    /// The last layer that says something, and which it is.
    fn find<T>(&self, field: impl Fn(&FabricConfig) -> Option<T>) -> Option<(T, &Origin)> {
        let mut layers = self.0.iter().rev();
        layers.find_map(|(origin, config)| Some((field(config)?, origin)))
    }

    /// Decide every setting.
    ///
    /// # Errors
    /// [`FabricError::Settings`] with all that is out of range or excludes another.
    pub(crate) fn resolve(&self) -> Result<Settings, FabricError> {
        let mut resolve = Resolve::default();
        let accelerator = resolve.one(
            "accelerator",
            self.find(|config| config.accelerator.clone()),
        );
        let (seed, seed_everything) = resolve.seed(
            self.find(|config| config.seed),
            self.find(|config| config.seed_everything),
        );
        let init_rng = resolve.one("init_rng", self.find(|config| config.init_rng));
        let (precision, float_dtype) = resolve.dtypes(
            self.find(|config| config.precision),
            self.find(|config| config.float_dtype),
        );
        let checkpointing = self.find(|config| config.gradient_checkpointing);
        let gradient_checkpointing = resolve.switch("gradient_checkpointing", checkpointing);
        let loss_scale = self.find(|config| config.loss_scale);
        let is_scale = |scale: &f64| LossScale::is_scale(*scale);
        resolve.check("loss_scale", &loss_scale, is_scale, LossScale::EXPECTED);
        let loss_scale = resolve.or("loss_scale", loss_scale, LossScale::DEFAULT);
        let interval = self.find(|config| config.loss_scale_interval);
        resolve.check("loss_scale_interval", &interval, |n| *n >= 1, "at least 1");
        let loss_scale_interval = resolve.or("loss_scale_interval", interval, LossScale::INTERVAL);
        let accumulate = self.find(|config| config.accumulate);
        resolve.check("accumulate", &accumulate, |n| *n >= 1, "at least 1");
        let accumulate = resolve.or("accumulate", accumulate, 1);
        let clip = resolve.clip(
            self.find(|config| config.clip_norm),
            self.find(|config| config.clip_value),
        );
        let non_finite = self.find(|config| config.non_finite_gradients);
        let non_finite_gradients = resolve.one("non_finite_gradients", non_finite);
        let missing = self.find(|config| config.missing_gradients);
        let missing_gradients = resolve.one("missing_gradients", missing);
        if !resolve.problems.is_empty() {
            let problems = resolve.problems;
            return Err(FabricError::Settings { problems });
        }
        Ok(Settings {
            accelerator,
            seed,
            seed_everything,
            init_rng,
            precision,
            float_dtype,
            gradient_checkpointing,
            loss_scale,
            loss_scale_interval,
            accumulate,
            clip,
            non_finite_gradients,
            missing_gradients,
            rows: resolve.rows,
        })
    }
}

#[derive(Default)]
struct Resolve {
    rows: Vec<[String; 3]>,
    problems: Vec<SettingProblem>,
}

impl Resolve {
    fn one<T: Default + fmt::Display>(&mut self, key: &str, found: Option<(T, &Origin)>) -> T {
        self.or(key, found, T::default())
    }

    fn or<T: fmt::Display>(&mut self, key: &str, found: Option<(T, &Origin)>, default: T) -> T {
        let (value, origin) = found.unwrap_or((default, &Origin::Default));
        self.row(key, &value, origin);
        value
    }

    fn row(&mut self, key: &str, value: &dyn fmt::Display, origin: &Origin) {
        self.rows
            .push([key.to_owned(), value.to_string(), why(key, origin)]);
    }

    /// One seed, of the stronger layer; and whether any says that it is for everything.
    fn seed(
        &mut self,
        seed: Option<(u64, &Origin)>,
        everything: Option<(u64, &Origin)>,
    ) -> (u64, bool) {
        self.exclusive("seed", &seed, "seed_everything", &everything);
        let stronger = if rank(&everything) > rank(&seed) {
            everything
        } else {
            seed
        };
        let chosen = self.one("seed", stronger);
        let everything = everything.map(|(_, origin)| (true, origin));
        (chosen, self.switch("seed_everything", everything))
    }

    /// On or off; off unless said.
    fn switch(&mut self, key: &str, found: Option<(bool, &Origin)>) -> bool {
        let (on, origin) = found.unwrap_or((false, &Origin::Default));
        self.row(key, &if on { "on" } else { "off" }, origin);
        on
    }

    /// Two settings of one place that exclude each other.
    fn exclusive<T, U>(
        &mut self,
        first: &str,
        one: &Option<(T, &Origin)>,
        second: &str,
        other: &Option<(U, &Origin)>,
    ) {
        if let (Some((_, one)), Some((_, other))) = (one, other)
            && one == other
        {
            self.problems.push(SettingProblem::Exclusive {
                first: written(first, one),
                second: written(second, other),
            });
        }
    }

    /// One of both, the stronger layer's; a precision has a dtype.
    fn dtypes(
        &mut self,
        precision: Option<(Precision, &Origin)>,
        dtype: Option<(FloatDType, &Origin)>,
    ) -> (Option<Precision>, Option<FloatDType>) {
        const OWN: &str = "the device's own";
        self.exclusive("precision", &precision, "float_dtype", &dtype);
        let precision = precision.filter(|_| rank(&precision) >= rank(&dtype));
        if let Some((precision, origin)) = precision {
            let dtype = precision.float_dtype();
            self.row("precision", &precision, origin);
            self.row("float_dtype", &float_dtype::name(dtype), origin);
            return (Some(precision), Some(dtype));
        }
        let (value, origin) = match dtype {
            Some((dtype, origin)) => (float_dtype::name(dtype), origin),
            None => (OWN, &Origin::Default),
        };
        self.row("precision", &OWN, &Origin::Default);
        self.row("float_dtype", &value, origin);
        (None, dtype.map(|(dtype, _)| dtype))
    }

    fn check<T: fmt::Display>(
        &mut self,
        key: &str,
        found: &Option<(T, &Origin)>,
        holds: impl Fn(&T) -> bool,
        expected: &'static str,
    ) {
        if let Some((value, origin)) = found.as_ref().filter(|(value, _)| !holds(value)) {
            let setting = written(key, origin);
            self.problems
                .push(SettingProblem::out_of_range(&setting, value, expected));
        }
    }

    /// One of both; where a stronger layer has the one and a weaker the other, the stronger counts.
    fn clip(
        &mut self,
        norm: Option<(f64, &Origin)>,
        value: Option<(f64, &Origin)>,
    ) -> Option<Clip> {
        let positive = |bound: &f64| *bound > 0.0 && bound.is_finite();
        self.check("clip_norm", &norm, positive, "above 0");
        self.check("clip_value", &value, positive, "above 0");
        self.exclusive("clip_norm", &norm, "clip_value", &value);
        let stronger = if rank(&value) > rank(&norm) {
            value.map(|found| ("clip_value", found, Clip::Value(found.0)))
        } else {
            norm.map(|found| ("clip_norm", found, Clip::Norm(found.0)))
        };
        let Some((key, (bound, origin), clip)) = stronger else {
            self.row("clip", &"off", &Origin::Default);
            return None;
        };
        self.row(key, &bound, origin);
        Some(clip)
    }
}

/// Later is stronger.
pub(super) fn strength(origin: &Origin) -> usize {
    match origin {
        Origin::Default => 0,
        Origin::File(_) => 1,
        Origin::Config => 2,
        Origin::Environment => 3,
        Origin::Code => 4,
    }
}

/// The strength of a setting that may not be there.
fn rank<T>(found: &Option<(T, &Origin)>) -> usize {
    found.as_ref().map_or(0, |(_, origin)| strength(origin))
}

/// A setting's name where it was written.
fn written(key: &str, origin: &Origin) -> String {
    match origin {
        Origin::Environment => variable(key),
        Origin::File(path) => format!("{key} in {}", path.display()),
        Origin::Default | Origin::Config | Origin::Code => key.to_owned(),
    }
}

fn why(key: &str, origin: &Origin) -> String {
    match origin {
        Origin::Default => "the default".to_owned(),
        Origin::File(path) => format!("from {}", path.display()),
        Origin::Config => "from the configuration given".to_owned(),
        Origin::Environment => format!("from {}", variable(key)),
        Origin::Code => "said in code".to_owned(),
    }
}

impl Settings {
    /// Name, value and origin of each.
    pub(crate) fn rows(&self) -> &[[String; 3]] {
        &self.rows
    }

    /// Say what a row's value amounts to on this machine.
    pub(crate) fn explain(&mut self, key: &str, value: &str, reason: &str) {
        if let Some(row) = self.rows.iter_mut().find(|row| row[0] == key) {
            row[1] = value.to_owned();
            row[2] = format!("{} ({reason})", row[2]);
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| row[column].chars().count());
            cells.max().unwrap_or(0)
        };
        let (keys, values) = (width(0), width(1));
        for (i, [key, value, why]) in self.rows.iter().enumerate() {
            let end = if i + 1 == self.rows.len() { "" } else { "\n" };
            write!(f, "{key:<keys$}  {value:<values$}  {why}{end}")?;
        }
        Ok(())
    }
}
