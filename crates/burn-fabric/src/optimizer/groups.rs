//! Which optimizer each parameter gets.

use std::sync::Arc;

use super::config::{BuiltOptimizer, Configured, OptimizerConfig, SingleOptimizer};
use crate::config::SettingProblem;
use crate::error::FabricError;
use crate::parameters::Selected;
use burn_materialize::PathPattern;

use crate::pattern::{PatternProblem, compile, nearest};

/// An optimizer for most parameters, and others for groups of them.
///
/// Where several groups match a parameter, the last one counts, as in Burn's `ModuleOptimizer`.
///
/// ```
/// use burn::nn::transformer::TransformerEncoderConfig;
/// use burn::optim::{AdamWConfig, SgdConfig};
/// use burn_fabric::prelude::*;
/// use burn_fabric::{ParameterGroup, ParameterGroups};
///
/// let fabric = Fabric::builder().build()?;
/// let config = TransformerEncoderConfig::new(8, 16, 2, 3);
/// let model = fabric.setup(fabric.init_module(|device| config.init(device))?)?;
/// let groups = ParameterGroups::new(AdamWConfig::new().with_weight_decay(0.1))
///     .with(ParameterGroup::of(["**.bias", "**.norm_*"]).decay(0.0))
///     .with(ParameterGroup::of(["layers.0"]).rate_factor(0.1))
///     .with(ParameterGroup::of(["layers.2.pwff"]).optimizer(SgdConfig::new()).rate(1e-2));
/// let optimizer = fabric.setup_optimizer(&model, groups)?;
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone)]
pub struct ParameterGroups {
    base: Arc<dyn Configured>,
    groups: Vec<ParameterGroup>,
}

/// Parameters, by path, with an optimizer, a decay or a rate of their own.
#[derive(Clone)]
pub struct ParameterGroup {
    patterns: Vec<String>,
    optimizer: Option<Arc<dyn Configured>>,
    decay: Option<f32>,
    rate: GroupRate,
}

/// The rate of a group.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum GroupRate {
    /// This many times the rate of the step.
    Factor(f64),
    /// Whatever the rate of the step is.
    Fixed(f64),
}

impl GroupRate {
    pub(crate) fn of(self, rate: f64) -> f64 {
        match self {
            Self::Factor(factor) => factor * rate,
            Self::Fixed(rate) => rate,
        }
    }
}

impl ParameterGroups {
    /// An optimizer for every parameter that no group matches.
    pub fn new(optimizer: impl SingleOptimizer) -> Self {
        Self {
            base: Arc::new(optimizer),
            groups: Vec::new(),
        }
    }

    /// Add a group.
    pub fn with(mut self, group: ParameterGroup) -> Self {
        self.groups.push(group);
        self
    }
}

impl OptimizerConfig for ParameterGroups {
    fn into_groups(self) -> ParameterGroups {
        self
    }
}

impl ParameterGroup {
    /// The parameters whose path one of `patterns` matches, written as for
    /// [`Parameters::only`](crate::Parameters::only). Each pattern has to match something.
    pub fn of<P: Into<String>>(patterns: impl IntoIterator<Item = P>) -> Self {
        Self {
            patterns: patterns.into_iter().map(Into::into).collect(),
            optimizer: None,
            decay: None,
            rate: GroupRate::Factor(1.0),
        }
    }

    /// Another optimizer.
    pub fn optimizer(mut self, optimizer: impl SingleOptimizer) -> Self {
        self.optimizer = Some(Arc::new(optimizer));
        self
    }

    /// The same optimizer with another weight decay.
    pub fn decay(mut self, decay: f32) -> Self {
        self.decay = Some(decay);
        self
    }

    /// This many times the rate of each step.
    pub fn rate_factor(mut self, factor: f64) -> Self {
        self.rate = GroupRate::Factor(factor);
        self
    }

    /// This rate, whatever that of the step.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = GroupRate::Fixed(rate);
        self
    }
}

/// An optimizer that is ready, and the rate of its group.
pub(crate) struct BuiltGroup {
    pub(crate) optimizer: BuiltOptimizer,
    pub(super) rate: GroupRate,
}

/// Groups over the parameters they govern.
pub(crate) struct Assignment {
    pub(crate) groups: Vec<BuiltGroup>,
    /// The group of each parameter.
    pub(crate) group_of: Vec<usize>,
}

impl ParameterGroups {
    /// Build the optimizers and give each of `parameters` one.
    ///
    /// # Errors
    /// [`FabricError::NothingTrainable`], [`FabricError::OptimizerConfig`],
    /// [`FabricError::Patterns`], [`FabricError::Rank`], each with all its problems.
    pub(crate) fn assign(&self, parameters: &[Selected]) -> Result<Assignment, FabricError> {
        if !parameters.iter().any(|parameter| parameter.trainable) {
            return Err(FabricError::NothingTrainable {
                parameters: parameters.iter().map(Selected::full_path).collect(),
            });
        }
        let groups = self.build()?;
        let group_of = self.match_groups(parameters)?;
        let assignment = Assignment { groups, group_of };
        assignment.check_ranks(parameters)?;
        Ok(assignment)
    }

    fn build(&self) -> Result<Vec<BuiltGroup>, FabricError> {
        let mut problems = Vec::new();
        let mut groups = Vec::new();
        let base = (&self.base, None, GroupRate::Factor(1.0), String::new());
        let others = self.groups.iter().map(|group| {
            let optimizer = group.optimizer.as_ref().unwrap_or(&self.base);
            let place = format!("the group of {:?}: ", group.patterns);
            (optimizer, group.decay, group.rate, place)
        });
        for (optimizer, decay, rate, place) in std::iter::once(base).chain(others) {
            let (GroupRate::Factor(number) | GroupRate::Fixed(number)) = rate;
            if !number.is_finite() {
                let setting = format!("{place}rate");
                problems.push(SettingProblem::out_of_range(
                    &setting,
                    number,
                    "a finite number",
                ));
            }
            match optimizer.build(decay, &place) {
                Ok(optimizer) => groups.push(BuiltGroup { optimizer, rate }),
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() {
            Ok(groups)
        } else {
            Err(FabricError::OptimizerConfig { problems })
        }
    }

    fn match_groups(&self, parameters: &[Selected]) -> Result<Vec<usize>, FabricError> {
        let mut problems = Vec::new();
        let mut group_of = vec![0; parameters.len()];
        let mut patterns: Vec<Vec<PathPattern>> = Vec::new();
        for (number, group) in (1..).zip(&self.groups) {
            let compiled = compile(&group.patterns, &mut problems);
            for (parameter, group) in parameters.iter().zip(&mut group_of) {
                if compiled.iter().any(|pattern| parameter.matches(pattern)) {
                    *group = number;
                }
            }
            patterns.push(compiled);
        }
        for (number, patterns) in (1..).zip(&patterns) {
            for pattern in patterns {
                let matched = || (0..parameters.len()).filter(|i| parameters[*i].matches(pattern));
                let paths = || matched().map(|i| parameters[i].full_path()).collect();
                let pattern = pattern.text().to_owned();
                if matched().next().is_none() {
                    let known: Vec<String> = parameters.iter().map(Selected::full_path).collect();
                    let examples = nearest(&pattern, known.iter().map(String::as_str));
                    problems.push(PatternProblem::MatchesNothing { pattern, examples });
                } else if matched().all(|i| !parameters[i].trainable) {
                    let frozen = paths();
                    problems.push(PatternProblem::Frozen { pattern, frozen });
                } else if matched().all(|i| !parameters[i].trainable || group_of[i] != number) {
                    let taken = paths();
                    problems.push(PatternProblem::Shadowed { pattern, taken });
                }
            }
        }
        if problems.is_empty() {
            Ok(group_of)
        } else {
            Err(FabricError::Patterns { problems })
        }
    }
}

impl Assignment {
    /// Some optimizers know matrices only.
    fn check_ranks(&self, parameters: &[Selected]) -> Result<(), FabricError> {
        for (number, group) in self.groups.iter().enumerate() {
            let own = parameters.iter().zip(&self.group_of);
            let unfit = own.filter(|(parameter, of)| {
                **of == number && parameter.trainable && !group.optimizer.takes(parameter.rank())
            });
            let unfit: Vec<String> = unfit.map(|(parameter, _)| parameter.with_shape()).collect();
            if !unfit.is_empty() {
                return Err(FabricError::Rank {
                    optimizer: group.optimizer.name,
                    parameters: unfit,
                });
            }
        }
        Ok(())
    }
}
