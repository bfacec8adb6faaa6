//! What an optimizer can be made from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::optim::decay::WeightDecayConfig;
use burn::optim::grad_clipping::GradientClipping;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, DynOptimizer, LambConfig,
    LionConfig, MuonConfig, Optimizer, RmsPropConfig, SgdConfig,
};
use burn_meta::panic_text;
use serde_json::Value;

use super::groups::ParameterGroups;
use crate::config::SettingProblem;

/// A configuration of burn-optim, an optimizer of your own in [`Custom`], or several of them in
/// [`ParameterGroups`].
///
/// L-BFGS is left out: it steps by a closure that evaluates the loss again and again, where these
/// take gradients.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no optimizer configuration",
    note = "pass one of burn's, such as `AdamWConfig::new()`, your own `Optimizer` as `Custom(optimizer)`, or several in `ParameterGroups`"
)]
pub trait OptimizerConfig {
    /// Itself for every parameter, or for those of its groups.
    #[doc(hidden)]
    fn into_groups(self) -> ParameterGroups;
}

/// One configuration for whatever parameters it is given: any [`OptimizerConfig`] but
/// [`ParameterGroups`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no single optimizer configuration",
    note = "pass one of burn's, such as `AdamWConfig::new()`, or your own `Optimizer` as `Custom(optimizer)`"
)]
#[expect(private_bounds, reason = "nobody else can implement it")]
pub trait SingleOptimizer: Configured + 'static {}

impl<S: SingleOptimizer> OptimizerConfig for S {
    fn into_groups(self) -> ParameterGroups {
        ParameterGroups::new(self)
    }
}

/// An optimizer that burn-optim does not know.
#[derive(Clone, Debug)]
pub struct Custom<O>(pub O);

/// One configuration, of whatever type.
pub(crate) trait Configured: Send + Sync {
    /// The optimizer, perhaps with another weight decay; or all that is wrong with its settings,
    /// each named after `place`.
    fn build(&self, decay: Option<f32>, place: &str)
    -> Result<BuiltOptimizer, Vec<SettingProblem>>;
}

/// An optimizer that is ready.
pub(crate) struct BuiltOptimizer {
    pub(crate) name: &'static str,
    pub(crate) optimizer: Arc<dyn DynOptimizer>,
    /// Burn's own clipping, of each parameter by itself.
    pub(crate) clipping: Option<GradientClipping>,
    /// The one rank it takes; any, where nothing is said.
    rank: Option<usize>,
}

impl BuiltOptimizer {
    pub(crate) fn takes(&self, rank: usize) -> bool {
        self.rank.is_none_or(|only| only == rank)
    }
}

impl<O: Optimizer + 'static> SingleOptimizer for Custom<O> {}

impl<O: Optimizer + 'static> Configured for Custom<O> {
    fn build(
        &self,
        decay: Option<f32>,
        place: &str,
    ) -> Result<BuiltOptimizer, Vec<SettingProblem>> {
        if decay.is_some() {
            return Err(vec![SettingProblem::Rejected {
                place: place.to_owned(),
                message: "an optimizer of your own has no weight decay that could be set here"
                    .to_owned(),
            }]);
        }
        Ok(BuiltOptimizer {
            name: std::any::type_name::<O>(),
            optimizer: Arc::new(self.0.clone()),
            clipping: None,
            rank: None,
        })
    }
}

macro_rules! configs {
    ($($config:ident: $decay:expr, $rank:expr;)*) => {$(
        impl SingleOptimizer for $config {}

        impl Configured for $config {
            fn build(
                &self,
                decay: Option<f32>,
                place: &str,
            ) -> Result<BuiltOptimizer, Vec<SettingProblem>> {
                let config = match decay {
                    Some(decay) => self.clone().with_weight_decay(($decay)(decay)),
                    None => self.clone(),
                };
                check(&config, &$config::new(), place)?;
                let build = || BuiltOptimizer {
                    name: stringify!($config),
                    // The configurations keep their clipping to themselves; what they make shows it.
                    clipping: config.init().grad_clipping().cloned(),
                    optimizer: Arc::new(config.build()),
                    rank: $rank,
                };
                // Burn checks what it checks by panicking.
                catch_unwind(AssertUnwindSafe(build)).map_err(|panic| {
                    let text = panic_text(&*panic);
                    let message = text.unwrap_or_else(|| "Burn gives no reason".to_owned());
                    vec![SettingProblem::Rejected { place: place.to_owned(), message }]
                })
            }
        }
    )*};
}

fn number(decay: f32) -> f32 {
    decay
}

fn penalty(decay: f32) -> Option<WeightDecayConfig> {
    Some(WeightDecayConfig::new(decay))
}

configs! {
    AdaGradConfig: penalty, None;
    AdafactorConfig: number, None;
    AdamConfig: penalty, None;
    AdamWConfig: number, None;
    AdanConfig: number, None;
    LambConfig: number, None;
    LionConfig: number, None;
    MuonConfig: penalty, Some(2);
    RmsPropConfig: penalty, None;
    SgdConfig: penalty, None;
}

/// Find every setting that is out of range. The configurations keep their fields private and are
/// serialisable, so their fields are read there; Burn itself checks hardly any.
fn check<C: serde::Serialize>(
    config: &C,
    default: &C,
    place: &str,
) -> Result<(), Vec<SettingProblem>> {
    let rejected = |error: serde_json::Error| {
        vec![SettingProblem::Rejected {
            place: place.to_owned(),
            message: error.to_string(),
        }]
    };
    let settings = serde_json::to_value(config).map_err(rejected)?;
    let default = serde_json::to_value(default).map_err(rejected)?;
    let mut problems = Vec::new();
    check_value("", &settings, Some(&default), place, &mut problems);
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

fn check_value(
    name: &str,
    value: &Value,
    default: Option<&Value>,
    place: &str,
    problems: &mut Vec<SettingProblem>,
) {
    let mut out_of_range = |found: &dyn std::fmt::Display, expected| {
        let setting = format!("{place}{name}");
        problems.push(SettingProblem::out_of_range(&setting, found, expected));
    };
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                let default = default.and_then(|default| default.get(field));
                check_value(field, value, default, place, problems);
            }
        }
        Value::Array(values) => {
            for value in values {
                check_value(name, value, None, place, problems);
            }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            if let Some((_, expected)) = range(name).filter(|(holds, _)| !holds(number)) {
                out_of_range(&number, expected);
            }
        }
        // JSON has no other way to write a NaN or an infinity. What may be left out altogether is
        // left out by default.
        Value::Null if default != Some(&Value::Null) => {
            out_of_range(&"no finite number", "a number");
        }
        _ => {}
    }
}

/// Which values, and in words.
type Range = (fn(f64) -> bool, &'static str);

/// What burn-optim's settings mean, by name: which values, and in words. Those that take any number
/// are left out.
fn range(setting: &str) -> Option<Range> {
    Some(match setting {
        // Averages forget, and what never forgets divides by zero in the first correction.
        "beta_1" | "beta_2" | "beta_3" | "alpha" => {
            (|x| (0.0..1.0).contains(&x), "at least 0 and below 1")
        }
        "momentum" | "dampening" => (|x| (0.0..=1.0).contains(&x), "from 0 to 1"),
        "epsilon" | "weight_decay" | "penalty" | "lr_decay" => (|x| x >= 0.0, "at least 0"),
        "Value" | "Norm" => (|x| x > 0.0, "above 0"),
        "ns_steps" => (|x| x >= 1.0, "at least 1"),
        _ => return None,
    })
}
