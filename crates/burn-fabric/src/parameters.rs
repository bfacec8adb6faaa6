//! The parameters of modules that were set up, as optimizers and gradients see them.

use std::collections::HashMap;
use std::sync::Arc;

use burn::module::ParamId;
use burn::tensor::Shape;
use burn::tensor::kind::Kind;
use burn_materialize::{Materialize, Pass, Role, Site, Slot, traverse};

use crate::claims::Claims;
use crate::error::FabricError;
use crate::module::FabricModule;
use crate::pattern::{Pattern, PatternProblem, compile, nearest};

/// One parameter, at all its paths.
#[derive(Clone, Debug)]
pub(crate) struct Parameter {
    pub(crate) id: ParamId,
    /// Where it stands; the first names it.
    pub(crate) paths: Vec<String>,
    pub(crate) shape: Shape,
    pub(crate) trainable: bool,
}

impl Parameter {
    pub(crate) fn path(&self) -> &str {
        &self.paths[0]
    }

    /// Whether a pattern matches one of its paths.
    pub(crate) fn matches(&self, pattern: &Pattern) -> bool {
        self.paths.iter().any(|path| pattern.matches(path))
    }

    pub(crate) fn rank(&self) -> usize {
        self.shape.rank()
    }
}

/// The float parameters of a real module, a tie once.
pub(crate) fn parameters<M: Materialize>(module: &M) -> Vec<Parameter> {
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
                trainable: slot.is_trainable() == Some(true),
            });
        }
    }
    let mut collect = Collect::default();
    traverse(module.clone(), &mut collect);
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
pub struct Parameters {
    pub(crate) members: Vec<Member>,
}

/// Parameters of one module.
#[derive(Clone, Debug)]
pub(crate) struct Member {
    /// The module's identity.
    pub(crate) module: u64,
    pub(crate) name: &'static str,
    pub(crate) poisoned: bool,
    pub(crate) parameters: Arc<[Parameter]>,
    pub(crate) claims: Arc<Claims>,
    /// Which of them; all where nothing is said.
    pub(crate) patterns: Option<Vec<String>>,
}

impl Parameters {
    /// Only those whose path one of `patterns` matches, of those selected so far.
    ///
    /// A pattern is names joined by dots: `*` stands for characters within one name, `**` for any
    /// number of names, and a pattern that matches a module stands for all parameters in it:
    /// `encoder`, `layers.*.norm`, `**.bias`. Each has to match something; whoever takes the
    /// parameters checks that.
    pub fn only<P: Into<String>>(mut self, patterns: impl IntoIterator<Item = P>) -> Self {
        let patterns: Vec<String> = patterns.into_iter().map(Into::into).collect();
        for member in &mut self.members {
            member.patterns = Some(patterns.clone());
        }
        self
    }

    /// These and those of another module. Paths then start with the module's number, `0.` for the
    /// first.
    pub fn and(mut self, other: Self) -> Self {
        self.members.extend(other.members);
        self
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
#[derive(Clone, Copy, Debug)]
pub(crate) struct Selected<'p> {
    parameter: &'p Parameter,
    /// The number of its module, where there are several.
    member: Option<usize>,
}

impl std::ops::Deref for Selected<'_> {
    type Target = Parameter;

    fn deref(&self) -> &Parameter {
        self.parameter
    }
}

impl Selected<'_> {
    /// Its first path, with the number of its module where there are several.
    pub(crate) fn full_path(&self) -> String {
        full_path(self.member, self.parameter.path())
    }

    /// All its paths.
    pub(crate) fn full_paths(&self) -> Vec<String> {
        let paths = self.parameter.paths.iter();
        paths.map(|path| full_path(self.member, path)).collect()
    }
}

fn full_path(member: Option<usize>, path: &str) -> String {
    match member {
        Some(member) => format!("{member}.{path}"),
        None => path.to_owned(),
    }
}

impl Parameters {
    /// The selected parameters.
    ///
    /// # Errors
    /// [`FabricError::Poisoned`], [`FabricError::Patterns`] for a pattern that matches nothing,
    /// [`FabricError::SharedId`].
    pub(crate) fn selected(&self) -> Result<Vec<Selected<'_>>, FabricError> {
        let several = self.members.len() > 1;
        let mut all = Vec::new();
        let mut problems = Vec::new();
        for (number, member) in self.members.iter().enumerate() {
            if member.poisoned {
                return Err(FabricError::Poisoned);
            }
            let of_member = member.parameters.iter().map(|parameter| Selected {
                parameter,
                member: several.then_some(number),
            });
            let Some(patterns) = &member.patterns else {
                all.extend(of_member);
                continue;
            };
            let patterns = compile(patterns, &mut problems);
            for pattern in &patterns {
                if !member.parameters.iter().any(|one| one.matches(pattern)) {
                    let paths = member.parameters.iter().map(Parameter::path);
                    problems.push(PatternProblem::MatchesNothing {
                        pattern: pattern.text().to_owned(),
                        examples: nearest(pattern.text(), paths),
                    });
                }
            }
            all.extend(of_member.filter(|one| patterns.iter().any(|pattern| one.matches(pattern))));
        }
        if !problems.is_empty() {
            return Err(FabricError::Patterns { problems });
        }
        if several {
            refuse_shared(&all)?;
        }
        Ok(all)
    }
}

/// One id over the parameters of two modules: gradients are handed out by id, so the one would be
/// taken for the other.
fn refuse_shared(selected: &[Selected<'_>]) -> Result<(), FabricError> {
    let mut owners: HashMap<ParamId, &Selected<'_>> = HashMap::new();
    let mut paths = Vec::new();
    for one in selected {
        let first = *owners.entry(one.id).or_insert(one);
        if first.member != one.member {
            paths.extend([first.full_path(), one.full_path()]);
        }
    }
    if paths.is_empty() {
        return Ok(());
    }
    Err(FabricError::SharedId { paths })
}
