//! A module on the meta device.

use std::sync::Arc;

use burn::tensor::Device;
use burn_meta::{DefaultDTypes, MetaDevice};

use crate::Materialize;
use crate::error::MaterializeError;
use crate::init_plan::{Declarations, InitPlan};
use crate::init_rng::InitRng;
use crate::inventory::{Entry, Inventory, inventory};
use crate::plan::{Plan, Target};
use crate::recipes::Recipes;
use crate::site::Site;
use crate::slot::Slot;
use crate::summary::{Summary, Tree, TreeBuilder};
use crate::train::train;
use crate::traversal::{Pass, traverse};
use crate::weights::{LoadReport, Loaded, Matching, Weights, match_weights, own_dtype};

/// A module that was built for nothing: every tensor has a shape, a dtype and a recipe, and no
/// memory.
///
/// It is no `Module`: it cannot be run, trained or optimised, only looked at, changed
/// ([`map`](Meta::map)) and materialised. Cloning shares what was recorded.
///
/// ```
/// use burn::nn::{Linear, LinearConfig};
/// use burn::tensor::Device;
/// use burn_materialize::Meta;
///
/// let meta = Meta::build(|device| LinearConfig::new(1 << 20, 1 << 20).init(device))?; // 4 TB
/// println!("{}", meta.summary());
///
/// let meta = Meta::build(|device| LinearConfig::new(512, 256).init(device))?.with_seed(7);
/// let device = Device::flex();
/// let linear: Linear = meta.materialize(&device)?;
/// let again: Linear = meta.materialize(&device)?;
/// assert_eq!(linear.weight.to_data(), again.weight.to_data());
/// # Ok::<(), burn_materialize::MaterializeError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Meta<M> {
    module: M,
    /// What a summary is of. The pass that records the tensors makes it on the way, while they are
    /// at hand: to go through a hundred thousand again takes longer than to print them.
    tree: Arc<Tree>,
    recipes: Recipes,
    /// The device its meta tensors are on; a later scope there can build beside them.
    device: MetaDevice,
    seed: u64,
}

impl<M: Materialize> Meta<M> {
    /// Build a module for nothing. Tensors that name no dtype get the default of the device they
    /// are materialised on.
    ///
    /// They are recorded as F32, I64 and bool, and *become* the device's defaults later; so a
    /// tensor that the constructor explicitly makes F32 or I64 becomes them too. Where that
    /// matters, say which device the module is for: [`build_for`](Meta::build_for).
    ///
    /// # Errors
    /// [`MaterializeError::Record`] when the constructor reads values that do not exist yet or uses
    /// a tensor of another recording. A panic of the constructor is passed on.
    pub fn build(constructor: impl FnOnce(&Device) -> M) -> Result<Self, MaterializeError> {
        Self::record(DefaultDTypes::default(), true, constructor)
    }

    /// Build a module for nothing, with the default dtypes of the device it is for.
    ///
    /// # Errors
    /// As [`build`](Meta::build).
    pub fn build_for(
        device: &Device,
        constructor: impl FnOnce(&Device) -> M,
    ) -> Result<Self, MaterializeError> {
        Self::build_with(DefaultDTypes::of(device), constructor)
    }

    /// Build a module for nothing, with default dtypes of your own, whatever those of the devices
    /// are that it is materialised on: a module in bf16 in a process whose default is f32.
    ///
    /// # Errors
    /// As [`build`](Meta::build).
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::{DType, Device, FloatDType};
    /// use burn_materialize::{DefaultDTypes, Meta};
    ///
    /// let device = Device::flex();
    /// let dtypes = DefaultDTypes { float: FloatDType::BF16, ..DefaultDTypes::of(&device) };
    /// let meta = Meta::build_with(dtypes, |device| LinearConfig::new(3, 2).init(device))?;
    /// assert_eq!(meta.materialize(&device)?.weight.val().dtype(), DType::BF16);
    /// # Ok::<(), burn_materialize::MaterializeError>(())
    /// ```
    pub fn build_with(
        dtypes: DefaultDTypes,
        constructor: impl FnOnce(&Device) -> M,
    ) -> Result<Self, MaterializeError> {
        Self::record(dtypes, false, constructor)
    }

    fn record(
        dtypes: DefaultDTypes,
        open: bool,
        constructor: impl FnOnce(&Device) -> M,
    ) -> Result<Self, MaterializeError> {
        let device = MetaDevice::new(dtypes)?;
        let (recorded, recording) =
            device.record(|device| Recorded::new(constructor(device), device))?;
        let Recorded {
            module,
            tree,
            entries,
            declarations,
        } = recorded;
        let recipes = Recipes::new(recording, &entries, declarations, open.then_some(dtypes));
        Ok(Self {
            module,
            tree: Arc::new(tree),
            recipes,
            device,
            seed: 0,
        })
    }

    /// The seed of every random draw; 0 unless set. A draw depends on the seed, on its path and on
    /// nothing else: not on order, device, threads, or what else is materialised.
    pub fn with_seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// The generator of every random draw; [`InitRng::Portable`] unless set.
    pub fn with_rng(mut self, rng: InitRng) -> Self {
        self.recipes = self.recipes.with_rng(rng);
        self
    }

    /// The seed of every random draw.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// The dtypes that it gave to tensors that name none.
    pub fn dtypes(&self) -> DefaultDTypes {
        self.device.dtypes()
    }

    /// How each tensor is made.
    pub fn recipes(&self) -> &Recipes {
        &self.recipes
    }

    /// Its tensors, in traversal order.
    pub fn inventory(&self) -> Vec<Entry> {
        inventory(&self.module)
    }

    /// A table of its tensors with totals. Allocates no tensor.
    pub fn summary(&self) -> Summary {
        Summary::new(self.tree.clone())
    }

    /// Change the module while it is meta: freeze, swap a head, attach LoRA. What is built on the
    /// device given to `change` is recorded as well.
    ///
    /// This `Meta` stays as it is.
    ///
    /// # Errors
    /// [`RecordError::ClosedScope`](burn_meta::RecordError::ClosedScope) when `change` computes with
    /// a tensor that was recorded earlier.
    pub fn map<N: Materialize>(
        &self,
        change: impl FnOnce(M, &Device) -> N,
    ) -> Result<Meta<N>, MaterializeError> {
        let module = self.module.clone();
        let (recorded, recording) = self
            .device
            .record(|device| Recorded::new(change(module, device), device))?;
        let Recorded {
            module,
            tree,
            entries,
            declarations,
        } = recorded;
        let mut recipes = self.recipes.clone();
        // What is real by now keeps its root: a reset wants it.
        recipes.keep_roots_of_real(&entries);
        recipes.record(recording, &entries, declarations);
        Ok(Meta {
            module,
            tree: Arc::new(tree),
            recipes,
            device: self.device.clone(),
            seed: self.seed,
        })
    }

    /// Allocate every tensor on `device` and give it its value. On an autodiff device parameters
    /// require gradients as their constructor said.
    ///
    /// Tensors that are real already (made by the constructor on a device of its own, or by
    /// [`materialize_where`](Meta::materialize_where)) are left alone.
    ///
    /// # Errors
    /// [`MaterializeError::Refused`] with all problems, before anything is allocated;
    /// [`MaterializeError::Produce`] when Burn fails later. This `Meta` stays as it is.
    pub fn materialize(&self, device: &Device) -> Result<M, MaterializeError> {
        let module = self.fill(device, &|_| true)?;
        Ok(if device.is_autodiff() {
            train(module, device, false)
        } else {
            module
        })
    }

    /// Allocate only the tensors whose path `select` accepts; the others stay meta. A tie is
    /// materialised whole.
    ///
    /// # Errors
    /// As [`materialize`](Meta::materialize), and when nothing is selected.
    pub fn materialize_where(
        &self,
        device: &Device,
        select: impl Fn(&str) -> bool,
    ) -> Result<Self, MaterializeError> {
        let module = self.fill(device, &select)?;
        let module = if device.is_autodiff() {
            train(module, device, false)
        } else {
            module
        };
        Ok(Self {
            tree: Arc::new(Tree::of(&module)),
            module,
            ..self.clone()
        })
    }

    /// Allocate every tensor on `device`: with the value that the file has for it, else with its
    /// recorded initial value. No initialiser runs for a loaded tensor.
    ///
    /// On flex a tensor is a view of the file, a transposed one where the layout asks for it, and
    /// copied when it is first written to; elsewhere one tensor at a time is uploaded.
    ///
    /// # Errors
    /// [`MaterializeError::Refused`] with all problems, found in headers before anything is
    /// allocated, and [`MaterializeError::Checkpoint`] for a file that is not sound;
    /// [`MaterializeError::NotFinite`] and [`MaterializeError::TooLargeFor`] for values;
    /// [`MaterializeError::Produce`] and [`MaterializeError::NotAllocated`] when Burn fails later.
    /// This `Meta` stays as it is.
    pub fn load(&self, device: &Device, weights: &Weights) -> Result<Loaded<M>, MaterializeError> {
        let matching = self.matching(device, weights)?;
        let select = &|_: &str| true;
        let target = Target::Meta { device, select };
        let planned = Plan::with_weights(&self.module, &self.recipes, target, Some(matching))?;
        let (plan, mut report) = planned;
        let (module, copies) = plan.fill_reporting(self.module.clone(), self.seed)?;
        report.copies = copies;
        report.sort();
        let module = if device.is_autodiff() {
            train(module, device, false)
        } else {
            module
        };
        Ok(Loaded { module, report })
    }

    /// What [`load`](Meta::load) would do, by the headers: nothing is read or allocated. What would
    /// be refused is in the report.
    ///
    /// # Errors
    /// [`MaterializeError::Checkpoint`] for a file that is not sound.
    pub fn preview_load(
        &self,
        device: &Device,
        weights: &Weights,
    ) -> Result<LoadReport, MaterializeError> {
        Ok(self.matching(device, weights)?.report)
    }

    fn matching<'w>(
        &self,
        device: &Device,
        weights: &'w Weights,
    ) -> Result<Matching<'w>, MaterializeError> {
        let device = device.clone().without_autodiff();
        match_weights(&self.module, weights, &|entry| {
            self.recipes.dtype_on(own_dtype(entry), &device)
        })
    }

    fn fill(&self, device: &Device, select: &dyn Fn(&str) -> bool) -> Result<M, MaterializeError> {
        let plan = Plan::new(&self.module, &self.recipes, Target::Meta { device, select })?;
        plan.fill(self.module.clone(), self.seed)
    }

    /// Does not compile, and says why: what people call first on a module.
    #[doc(hidden)]
    pub fn forward<T>(&self, input: T) -> T
    where
        Self: Computes,
    {
        input
    }

    /// Both parts, for whoever goes on from here.
    pub(crate) fn parts(&self) -> (&M, &Recipes) {
        (&self.module, &self.recipes)
    }
}

/// What nothing here does.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no values to compute with",
    label = "every tensor in it has a shape, and no memory yet",
    note = "allocate it first: `let module = meta.materialize(&device)?;`",
    note = "or, to train it: `let mut model = fabric.setup(meta)?;`"
)]
pub trait Computes {}

/// What one scope leaves: the module, touched so that every lazy initialiser is recorded, its
/// tensors in a tree and in a list, and what its hooks declare.
pub(crate) struct Recorded<M> {
    pub(crate) module: M,
    pub(crate) tree: Tree,
    pub(crate) entries: Vec<Entry>,
    pub(crate) declarations: Declarations,
}

impl<M: Materialize> Recorded<M> {
    pub(crate) fn new(module: M, device: &Device) -> Self {
        let mut found = Found {
            inventory: Inventory {
                touch: true,
                ..Inventory::default()
            },
            tree: TreeBuilder::default(),
        };
        let module = traverse(module, &mut found);
        let mut plan = InitPlan::new(device, true);
        module.reset_parameters(&mut plan);
        Self {
            module,
            tree: found.tree.finish(),
            entries: found.inventory.entries,
            declarations: plan.into_declarations(),
        }
    }
}

/// What the pass over a module that was just constructed finds.
struct Found {
    inventory: Inventory,
    tree: TreeBuilder,
}

impl Pass for Found {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        self.inventory.tensor(site, slot);
        self.tree.tensor(site, slot);
    }
}
