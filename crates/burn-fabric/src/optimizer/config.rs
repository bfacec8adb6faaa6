//! What an optimizer can be made from.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use burn::optim::decay::WeightDecayConfig;
use burn::optim::grad_clipping::GradientClipping;
use burn::optim::{
    AdaGradConfig, AdafactorConfig, AdamConfig, AdamWConfig, AdanConfig, DynOptimizer, LambConfig,
    LionConfig, MuonConfig, Optimizer, RmsPropConfig, SgdConfig,
};
use serde_json::Value;

use super::groups::ParameterGroups;
use crate::config::SettingProblem;
use crate::gradients::MAX_RANK;

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
    pub(crate) optimizer: Box<dyn DynOptimizer>,
    /// Burn's own clipping, of each parameter by itself.
    pub(crate) clipping: Option<GradientClipping>,
    /// The one rank it takes; any, where nothing is said.
    rank: Option<usize>,
}

impl BuiltOptimizer {
    pub(crate) fn takes(&self, rank: usize) -> bool {
        rank <= MAX_RANK && self.rank.is_none_or(|only| only == rank)
    }
}

impl<O: Optimizer + 'static> OptimizerConfig for Custom<O> {
    fn into_groups(self) -> ParameterGroups {
        ParameterGroups::of_one(Arc::new(self))
    }
}

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
            optimizer: Box::new(self.0.clone()),
            clipping: None,
            rank: None,
        })
    }
}

macro_rules! configs {
    ($($config:ident: $decay:expr, $rank:expr;)*) => {$(
        impl OptimizerConfig for $config {
            fn into_groups(self) -> ParameterGroups {
                ParameterGroups::of_one(Arc::new(self))
            }
        }

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
                check(&config, place)?;
                let build = || BuiltOptimizer {
                    name: stringify!($config),
                    // The configurations keep their clipping to themselves; what they make shows it.
                    clipping: config.init().grad_clipping().cloned(),
                    optimizer: Box::new(config.build()),
                    rank: $rank,
                };
                // Burn checks what it checks by panicking.
                catch_unwind(AssertUnwindSafe(build)).map_err(|panic| {
                    let text = panic.downcast_ref::<String>().map(String::as_str);
                    let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
                    let message = text.unwrap_or("Burn gives no reason").to_owned();
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
fn check(config: &impl serde::Serialize, place: &str) -> Result<(), Vec<SettingProblem>> {
    let mut problems = Vec::new();
    match serde_json::to_value(config) {
        Ok(settings) => check_value("", &settings, place, &mut problems),
        Err(error) => problems.push(SettingProblem::Rejected {
            place: place.to_owned(),
            message: error.to_string(),
        }),
    }
    if problems.is_empty() {
        Ok(())
    } else {
        Err(problems)
    }
}

fn check_value(name: &str, value: &Value, place: &str, problems: &mut Vec<SettingProblem>) {
    match value {
        Value::Object(fields) => {
            for (field, value) in fields {
                check_value(field, value, place, problems);
            }
        }
        Value::Number(number) => {
            let number = number.as_f64().unwrap_or(f64::NAN);
            if let Some(range) = range(name).filter(|range| !range.holds(number)) {
                let setting = format!("{place}{name}");
                problems.push(SettingProblem::out_of_range(&setting, number, range.words));
            }
        }
        // JSON has no other way to write NaN and the infinities.
        Value::Null if range(name).is_some_and(|range| !range.optional) => {
            let setting = format!("{place}{name}");
            problems.push(SettingProblem::out_of_range(
                &setting,
                "no finite number",
                "a number",
            ));
        }
        _ => {}
    }
}

struct Range {
    holds: fn(f64) -> bool,
    words: &'static str,
    /// Whether a configuration may leave it out.
    optional: bool,
}

impl Range {
    fn holds(&self, number: f64) -> bool {
        (self.holds)(number)
    }
}

/// What burn-optim's settings mean, by name; those that take any number are left out.
fn range(setting: &str) -> Option<Range> {
    let (holds, words): (fn(f64) -> bool, _) = match setting {
        // Averages forget, and what never forgets divides by zero in the first correction.
        "beta_1" | "beta_2" | "beta_3" | "alpha" => {
            (|x| (0.0..1.0).contains(&x), "at least 0 and below 1")
        }
        "momentum" | "dampening" => (|x| (0.0..=1.0).contains(&x), "from 0 to 1"),
        "epsilon" | "weight_decay" | "penalty" | "lr_decay" => (|x| x >= 0.0, "at least 0"),
        "Value" | "Norm" => (|x| x > 0.0, "above 0"),
        "ns_steps" => (|x| x >= 1.0, "at least 1"),
        _ => return None,
    };
    let optional = matches!(setting, "weight_decay" | "momentum");
    Some(Range {
        holds,
        words,
        optional,
    })
}
