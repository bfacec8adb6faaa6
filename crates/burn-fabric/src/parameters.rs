//! The parameters of modules that were set up, as optimizers and gradients see them.

use std::collections::HashMap;
use std::sync::Arc;

use burn::module::ParamId;
use burn::tensor::kind::Kind;
use burn::tensor::{DType, Device, Shape};
use burn_materialize::{Materialize, Pass, PathPattern, Role, Site, Slot, traverse};

use crate::error::FabricError;
use crate::gradients::MAX_RANK;
use crate::module::FabricModule;
use crate::pattern::{PatternProblem, compile, nearest};
use crate::registry::Registered;

/// One parameter, at all its paths.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) id: ParamId,
    /// Where it stands; the first names it.
    pub(crate) paths: Vec<String>,
    pub(crate) shape: Shape,
    pub(crate) trainable: bool,
    /// Unknown while lazy.
    pub(crate) dtype: Option<DType>,
    /// Where it is, without autodiff.
    pub(crate) device: Device,
}

impl Parameter {
    pub(crate) fn path(&self) -> &str {
        &self.paths[0]
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.rank()
    }
}

/// The float parameters of a module, a tie once.
pub(crate) fn parameters<M: Materialize>(module: &M) -> Vec<Parameter> {
    look_for_parameters(|pass| {
        traverse(module.clone(), pass);
    })
}

/// The same through whatever runs a pass.
pub(crate) fn look_for_parameters(look: impl FnOnce(&mut dyn Pass)) -> Vec<Parameter> {
    #[derive(Default)]
    struct Collect {
        parameters: Vec<Parameter>,
        seen: HashMap<ParamId, usize>,
    }
    impl Pass for Collect {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            let (Role::Parameter, Kind::Float, Some(id)) = (slot.role(), slot.kind(), slot.id())
            else {
                return;
            };
            let path = site.path().to_owned();
            if let Some(first) = self.seen.get(&id) {
                return self.parameters[*first].paths.push(path);
            }
            self.seen.insert(id, self.parameters.len());
            self.parameters.push(Parameter {
                id,
                paths: vec![path],
                shape: slot.shape(),
                // What is lazy shows it only later.
                trainable: slot.is_trainable().unwrap_or(true),
                dtype: slot.dtype(),
                device: slot.device().without_autodiff(),
            });
        }
    }
    let mut collect = Collect::default();
    look(&mut collect);
    collect.parameters
}

/// Parameters of one or several modules that were set up: all, or those that patterns over their
/// paths match.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::optim::{AdamWConfig, SgdConfig};
/// use burn::module::Module;
/// use burn_fabric::prelude::*;
///
/// #[derive(Module, Materialize, ResetParameters, Debug)]
/// struct Gan { generator: Linear, critic: Linear }
///
/// let fabric = Fabric::builder().build()?;
/// let gan = fabric.setup(fabric.init_module(|device| Gan {
///     generator: LinearConfig::new(4, 4).init(device),
///     critic: LinearConfig::new(4, 1).init(device),
/// })?)?;
/// let of = |part| gan.parameters().only([part]);
/// let generates = fabric.setup_optimizer(&of("generator"), AdamWConfig::new())?;
/// let criticises = fabric.setup_optimizer(&of("critic"), SgdConfig::new())?;
/// # Ok::<(), FabricError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Parameters(Selection);

#[derive(Clone, Debug)]
enum Selection {
    All(Arc<Registered>),
    Only(Box<Selection>, Vec<String>),
    And(Box<Selection>, Box<Selection>),
}

impl Parameters {
    pub(crate) fn of(module: &Arc<Registered>) -> Self {
        Self(Selection::All(module.clone()))
    }

    /// Only those whose path one of `patterns` matches, of those selected so far.
    ///
    /// A pattern is names joined by dots: `*` stands for characters within one name, `**` for any
    /// number of names, and a pattern that matches a module stands for all parameters in it:
    /// `encoder`, `layers.*.norm`, `**.bias`. Each has to match something; whoever takes the
    /// parameters checks that.
    pub fn only<P: Into<String>>(self, patterns: impl IntoIterator<Item = P>) -> Self {
        let patterns = patterns.into_iter().map(Into::into).collect();
        Self(Selection::Only(Box::new(self.0), patterns))
    }

    /// These and those of another module, or others of the same one. With several modules a path
    /// starts with the module's number, `0.` for the first.
    pub fn and(self, other: Self) -> Self {
        Self(Selection::And(Box::new(self.0), Box::new(other.0)))
    }

    /// The selected parameters, and the modules they are of.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`], [`FabricError::Patterns`] for a pattern that matches nothing,
    /// [`FabricError::SharedId`], [`FabricError::Rank`].
    pub(crate) fn selected(&self) -> Result<Resolved, FabricError> {
        let mut problems = Vec::new();
        let resolved = self.0.resolve(&mut problems)?;
        if !problems.is_empty() {
            return Err(FabricError::Patterns { problems });
        }
        if resolved.modules.len() > 1 {
            refuse_shared(&resolved.parameters)?;
        }
        let too_high = resolved
            .iter()
            .filter(|one| one.trainable && one.rank() > MAX_RANK);
        let too_high: Vec<String> = too_high.map(Selected::with_shape).collect();
        if !too_high.is_empty() {
            return Err(FabricError::Rank {
                optimizer: "Burn",
                parameters: too_high,
            });
        }
        Ok(resolved)
    }
}

/// Parameters that were selected.
#[derive(Debug)]
pub(crate) struct Resolved {
    pub(crate) modules: Vec<Arc<Registered>>,
    parameters: Vec<Selected>,
}

impl std::ops::Deref for Resolved {
    type Target = [Selected];

    fn deref(&self) -> &[Selected] {
        &self.parameters
    }
}

impl Resolved {
    /// Parameters of a module that is not set up yet.
    pub(crate) fn of_one(parameters: Vec<Parameter>) -> Self {
        let parameters: Arc<[Parameter]> = parameters.into();
        Self {
            modules: Vec::new(),
            parameters: select(&parameters),
        }
    }
}

fn select(parameters: &Arc<[Parameter]>) -> Vec<Selected> {
    let places = 0..parameters.len();
    let selected = places.map(|place| Selected {
        of: parameters.clone(),
        place,
        module: 0,
        several: false,
    });
    selected.collect()
}

impl Selection {
    fn resolve(&self, problems: &mut Vec<PatternProblem>) -> Result<Resolved, FabricError> {
        match self {
            Self::All(module) if module.is_poisoned() => Err(FabricError::Poisoned),
            Self::All(module) => Ok(Resolved {
                modules: vec![module.clone()],
                parameters: select(&module.parameters()),
            }),
            Self::Only(of, patterns) => {
                let mut resolved = of.resolve(problems)?;
                let known: Vec<String> = resolved.iter().map(Selected::full_path).collect();
                let patterns = compile(patterns, problems);
                for pattern in &patterns {
                    if !resolved.iter().any(|one| one.matches(pattern)) {
                        problems.push(PatternProblem::MatchesNothing {
                            pattern: pattern.text().to_owned(),
                            examples: nearest(pattern.text(), known.iter().map(String::as_str)),
                        });
                    }
                }
                let matches = |one: &Selected| patterns.iter().any(|pattern| one.matches(pattern));
                resolved.parameters.retain(matches);
                Ok(resolved)
            }
            Self::And(first, second) => {
                let (mut all, more) = (first.resolve(problems)?, second.resolve(problems)?);
                // The places of the second's modules among all.
                let mut places = Vec::new();
                for module in more.modules {
                    let is_it = |one: &Arc<Registered>| one.identity == module.identity;
                    let place = all
                        .modules
                        .iter()
                        .position(is_it)
                        .unwrap_or(all.modules.len());
                    if place == all.modules.len() {
                        all.modules.push(module);
                    }
                    places.push(place);
                }
                for mut one in more.parameters {
                    one.module = places[one.module];
                    let is_it =
                        |other: &Selected| (other.module, other.place) == (one.module, one.place);
                    if !all.parameters.iter().any(is_it) {
                        all.parameters.push(one);
                    }
                }
                let several = all.modules.len() > 1;
                for one in &mut all.parameters {
                    one.several = several;
                }
                Ok(all)
            }
        }
    }
}

/// What has parameters that gradients belong to: a [`FabricModule`], or [`Parameters`] of one or
/// several.
pub trait HasParameters: sealed::Sealed {
    /// Those parameters.
    fn parameters(&self) -> Parameters;
}

impl HasParameters for Parameters {
    fn parameters(&self) -> Parameters {
        self.clone()
    }
}

impl<M: Materialize> HasParameters for FabricModule<M> {
    fn parameters(&self) -> Parameters {
        FabricModule::parameters(self)
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Parameters {}
    impl<M> Sealed for crate::FabricModule<M> {}
}

/// One selected parameter.
#[derive(Clone, Debug)]
pub(crate) struct Selected {
    of: Arc<[Parameter]>,
    place: usize,
    /// The number of its module, and whether there are several.
    pub(crate) module: usize,
    several: bool,
}

impl std::ops::Deref for Selected {
    type Target = Parameter;

    fn deref(&self) -> &Parameter {
        &self.of[self.place]
    }
}

impl Selected {
    /// Its first path, with the number of its module where there are several.
    pub(crate) fn full_path(&self) -> String {
        self.full(self.path())
    }

    /// The same with its shape.
    pub(crate) fn with_shape(&self) -> String {
        format!("{} {}", self.full_path(), self.shape)
    }

    /// Whether a pattern matches one of its paths.
    pub(crate) fn matches(&self, pattern: &PathPattern) -> bool {
        self.paths.iter().any(|path| match self.several {
            true => pattern.matches(&self.full(path)),
            false => pattern.matches(path),
        })
    }

    fn full(&self, path: &str) -> String {
        match self.several {
            true => format!("{}.{path}", self.module),
            false => path.to_owned(),
        }
    }
}

/// One id over the parameters of two modules: gradients are handed out by id, so the one would be
/// taken for the other.
fn refuse_shared(selected: &[Selected]) -> Result<(), FabricError> {
    let mut owners: HashMap<ParamId, &Selected> = HashMap::new();
    let mut paths = Vec::new();
    for one in selected {
        let first = *owners.entry(one.id).or_insert(one);
        if first.module != one.module {
            paths.extend([first.full_path(), one.full_path()]);
        }
    }
    if paths.is_empty() {
        return Ok(());
    }
    Err(FabricError::SharedId { paths })
}
