//! What `#[derive(Materialize)]` goes through and what `#[derive(ResetParameters)]` declares.

use std::fmt::Debug;
use std::marker::PhantomData;

use burn::module::{Initializer, Module, ModuleVisitor, Param, RunningState};
use burn::tensor::{Bool, Device, Int, Shape, Tensor};
use burn_materialize::{InitPlan, Materialize, Meta, Pass, ResetParameters, Site, Slot, traverse};
use device_under_test::device;

/// The path, the declaring type and the role of every tensor, in the order of the traversal.
#[derive(Default)]
struct Listing {
    paths: Vec<String>,
    types: Vec<String>,
    roles: Vec<String>,
}

impl Pass for Listing {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        self.paths.push(site.path().to_owned());
        self.types.push(site.module().to_owned());
        self.roles.push(slot.role().to_string());
    }
}

fn listing<M: Materialize>(module: M) -> Listing {
    let mut listing = Listing::default();
    traverse(module, &mut listing);
    listing
}

fn paths<M: Materialize>(module: M) -> Vec<String> {
    listing(module).paths
}

/// The paths that Burn's own derive shows to a visitor.
fn visited<M: Module>(module: &M) -> Vec<String> {
    #[derive(Default)]
    struct Paths {
        stack: Vec<String>,
        paths: Vec<String>,
    }

    impl ModuleVisitor for Paths {
        fn enter_module(&mut self, name: &str, _container: &str) {
            self.stack.push(name.to_owned());
        }

        fn exit_module(&mut self, _name: &str, _container: &str) {
            self.stack.pop();
        }

        fn visit_float<const D: usize>(&mut self, _param: &Param<Tensor<D>>) {
            self.paths.push(self.stack.join("."));
        }

        fn visit_int<const D: usize>(&mut self, _param: &Param<Tensor<D, Int>>) {
            self.paths.push(self.stack.join("."));
        }
    }

    let mut paths = Paths::default();
    module.visit(&mut paths);
    paths.paths
}

fn param<const D: usize>() -> Param<Tensor<D>> {
    Param::from_tensor(tensor())
}

fn tensor<const D: usize>() -> Tensor<D> {
    Tensor::ones([2; D], &device())
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Leaf {
    weight: Param<Tensor<2>>,
    bias: Option<Param<Tensor<1>>>,
}

fn leaf() -> Leaf {
    Leaf {
        weight: param(),
        bias: Some(param()),
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Containers {
    first: Leaf,
    list: Vec<Leaf>,
    array: [Leaf; 2],
    pair: (Leaf, Param<Tensor<1>>),
    none: Option<Leaf>,
    nested: Option<Vec<(Leaf, Leaf)>>,
}

fn containers() -> Containers {
    Containers {
        first: leaf(),
        list: vec![leaf(), leaf()],
        array: [leaf(), leaf()],
        pair: (leaf(), param()),
        none: None,
        nested: Some(vec![(leaf(), leaf())]),
    }
}

#[test]
fn parameters_have_the_paths_of_burns_own_visitor() {
    let module = containers();
    let expected = visited(&module);
    assert_eq!(expected.len(), 17);
    assert_eq!(paths(module), expected);
}

#[test]
fn a_leaf_knows_the_type_that_declares_it() {
    let module = Leaf {
        weight: param(),
        bias: None,
    };
    assert_eq!(listing((module, leaf())).types, ["Leaf"; 3]);
    let types = listing(containers()).types;
    assert_eq!(types.iter().filter(|name| *name == "Containers").count(), 1);
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Roles {
    parameter: Param<Tensor<1>>,
    running: RunningState<Tensor<1>>,
    buffer: Tensor<3>,
    indices: Tensor<1, Int>,
    mask: Option<Tensor<2, Bool>>,
    /// A constant to Burn, by its syntax.
    size: Option<usize>,
    letter: char,
    wide: u128,
    names: std::collections::HashMap<String, Vec<f64>>,
}

fn roles() -> Roles {
    Roles {
        parameter: param(),
        running: RunningState::new(tensor()),
        buffer: tensor(),
        indices: Tensor::arange(0..3, &device()),
        mask: Some(tensor::<2>().equal_elem(1.0)),
        size: Some(1),
        letter: 'x',
        wide: 1,
        names: Default::default(),
    }
}

#[test]
fn plain_tensors_are_reached_and_constants_left_alone() {
    let listing = listing(roles());
    assert_eq!(
        listing.paths,
        ["parameter", "running", "buffer", "indices", "mask"]
    );
    assert_eq!(
        listing.roles,
        ["parameter", "running state", "buffer", "buffer", "buffer"]
    );
}

#[derive(Module, Materialize, ResetParameters, Debug)]
enum Choice {
    Leaf(Leaf),
    Scale(Param<Tensor<1>>),
    Buffer(Tensor<1>),
    Constant(f32),
}

#[test]
fn variants_are_named_as_burn_names_them() {
    for module in [
        Choice::Leaf(leaf()),
        Choice::Scale(param()),
        Choice::Constant(0.5),
    ] {
        let expected = visited(&module);
        assert_eq!(paths(module), expected);
    }
    assert_eq!(paths(Choice::Buffer(tensor())), ["Buffer"]);
    let Choice::Constant(value) = traverse(Choice::Constant(0.5), &mut Listing::default()) else {
        panic!("the variant changed");
    };
    assert_eq!(value, 0.5);
}

#[derive(Module, Materialize, ResetParameters, Debug)]
enum Settings {
    Rate(f32),
    Name(String),
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Unit;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Empty {}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct OnlyConstants {
    size: usize,
    #[module(skip)]
    choice: NoModule,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum NoModule {
    A,
}

#[test]
fn modules_without_tensors_go_through_unchanged() {
    assert!(paths((Unit, Empty {})).is_empty());
    assert!(paths((Settings::Rate(0.5), Settings::Name("a".into()))).is_empty());
    let module = OnlyConstants {
        size: 3,
        choice: NoModule::A,
    };
    let module = traverse(module, &mut Listing::default());
    assert_eq!((module.size, module.choice), (3, NoModule::A));
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Skips<T, const D: usize> {
    #[module(skip)]
    tensor: Tensor<D>,
    #[module(skip)]
    list: Vec<Option<Tensor<1>>>,
    #[module(skip)]
    module: Choice,
    #[module(skip)]
    other: NoModule,
    #[module(skip)]
    others: Vec<NoModule>,
    #[module(skip)]
    generic: T,
    #[module(skip)]
    phantom: PhantomData<T>,
    weight: Param<Tensor<D>>,
}

#[test]
fn skipped_fields_are_reached_where_their_type_can_be() {
    let module = Skips {
        tensor: tensor::<2>(),
        list: vec![Some(tensor()), None, Some(tensor())],
        module: Choice::Scale(param()),
        other: NoModule::A,
        others: vec![NoModule::A],
        generic: tensor::<1>(),
        phantom: PhantomData,
        weight: param(),
    };
    assert_eq!(visited(&module), ["weight"]);
    assert_eq!(
        paths(module),
        ["tensor", "list.0", "list.2", "module.Scale", "weight"]
    );
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Generic<A, B, const N: usize>
where
    B: Debug,
{
    one: A,
    many: Vec<Option<B>>,
    several: [A; N],
}

#[derive(Module, Materialize, ResetParameters, Debug)]
enum Either<A: Module, B> {
    Left(A),
    Right(B),
}

trait Family: Module {
    type Member: Materialize + burn::module::ModuleDisplay;
}

impl Family for Leaf {
    type Member = Choice;
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Projection<F: Family> {
    member: F::Member,
    family: F,
}

#[test]
fn type_parameters_may_be_modules() {
    let module = Generic {
        one: Either::<Leaf, Choice>::Left(leaf()),
        many: vec![Some(Choice::Scale(param())), None],
        several: [Either::Right(Choice::Leaf(leaf()))],
    };
    let expected = visited(&module);
    assert_eq!(expected.len(), 5);
    assert_eq!(paths(module), expected);
    let module = Projection {
        member: Choice::Leaf(leaf()),
        family: leaf(),
    };
    let expected = visited(&module);
    assert_eq!(paths(module), expected);
}

/// Stands for another crate's module, which derives nothing of ours.
#[derive(Module, Debug)]
struct Foreign {
    weight: Param<Tensor<2>>,
    buffer: Tensor<1>,
}

fn foreign() -> Foreign {
    Foreign {
        weight: param(),
        buffer: tensor(),
    }
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Host<M> {
    #[materialize(foreign)]
    module: Foreign,
    #[materialize(foreign)]
    list: Vec<Foreign>,
    #[materialize(foreign)]
    generic: M,
    own: Param<Tensor<1>>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
enum HostChoice {
    #[materialize(foreign)]
    OnVariant(Foreign),
    OnField(#[materialize(foreign)] Foreign),
}

#[test]
fn foreign_fields_go_through_burns_mapper() {
    let module = Host {
        module: foreign(),
        list: vec![foreign()],
        generic: foreign(),
        own: param(),
    };
    let expected = visited(&module);
    assert_eq!(
        expected,
        ["module.weight", "list.0.weight", "generic.weight", "own"]
    );
    assert_eq!(paths(module), expected);
    assert_eq!(
        paths(HostChoice::OnVariant(foreign())),
        ["OnVariant.weight"]
    );
    assert_eq!(paths(HostChoice::OnField(foreign())), ["OnField.weight"]);
}

/// Names that the generated code also uses.
#[allow(dead_code)]
mod names {
    use burn::module::{Module, Param};
    use burn::tensor::Tensor;
    use burn_materialize::{Materialize, ResetParameters};

    struct Traversal;
    struct InitPlan;
    struct Probe;

    #[derive(Module, Materialize, ResetParameters, Debug)]
    pub struct Names {
        pub traversal: Param<Tensor<1>>,
        pub plan: Param<Tensor<1>>,
        pub module: Param<Tensor<1>>,
        #[module(skip)]
        pub name: Tensor<1>,
        pub r#type: Param<Tensor<1>>,
    }

    #[derive(Module, Materialize, ResetParameters, Debug)]
    pub enum Keyword {
        r#Move(Param<Tensor<1>>),
    }
}

#[test]
fn names_do_not_clash_and_raw_identifiers_are_named_as_by_burn() {
    let module = names::Names {
        traversal: param(),
        plan: param(),
        module: param(),
        name: tensor(),
        r#type: param(),
    };
    let expected = visited(&module);
    let found: Vec<_> = paths(module)
        .into_iter()
        .filter(|path| path != "name")
        .collect();
    assert_eq!(found, expected);
    let module = names::Keyword::r#Move(param());
    let expected = visited(&module);
    assert_eq!(paths(module), expected);
}

mod elsewhere {
    /// As a crate that re-exports burn-materialize would.
    pub mod re_export {
        pub use burn_materialize::*;
    }
}

/// Nothing of `burn_materialize` or `burn_fabric` is named but through the override.
mod moved {
    use super::*;
    use elsewhere::re_export as fabric;

    #[derive(Module, Materialize, ResetParameters, Debug)]
    #[materialize(crate = fabric)]
    pub struct Relative {
        pub weight: Param<Tensor<1>>,
        #[module(skip)]
        pub buffer: Tensor<1>,
    }

    #[derive(Module, Materialize, ResetParameters, Debug)]
    #[materialize(crate = crate::elsewhere::re_export)]
    #[reset(crate = crate::moved::fabric)]
    pub struct Absolute {
        pub inner: Relative,
    }
}

#[test]
fn the_crate_can_be_somewhere_else() {
    let inner = moved::Relative {
        weight: param(),
        buffer: tensor(),
    };
    assert_eq!(
        paths(moved::Absolute { inner }),
        ["inner.weight", "inner.buffer"]
    );
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Declared<M> {
    #[reset(initializer = Initializer::Constant { value: self.start })]
    own: Param<Tensor<1>>,
    #[reset(initializer = Initializer::Zeros)]
    leaf: Leaf,
    #[reset(initializer = Initializer::Ones)]
    generic: M,
    recorded: Leaf,
    #[reset(with = ramp)]
    buffer: Tensor<1>,
    #[reset(with = |shape, device| Tensor::full(shape, 9, device))]
    indices: Tensor<1, Int>,
    #[reset(with = ramp)]
    running: RunningState<Tensor<1>>,
    #[reset(with = ramp)]
    optional: Option<Param<Tensor<1>>>,
    #[module(skip)]
    #[reset(with = ramp)]
    skipped: Tensor<1>,
    #[module(skip)]
    skipped_module: Hooked,
    start: f64,
}

fn ramp(shape: Shape, device: &Device) -> Tensor<1> {
    Tensor::arange(0..shape[0] as i64, device).float()
}

/// A hook written by hand.
#[derive(Module, Materialize, Debug)]
struct Hooked {
    buffer: Tensor<1>,
}

impl ResetParameters for Hooked {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        plan.value_with("buffer", &self.buffer, ramp);
    }
}

fn declared(device: &Device) -> Declared<Leaf> {
    let random = || {
        let distribution = burn::tensor::Distribution::Default;
        Leaf {
            weight: Param::from_tensor(Tensor::random([2, 3], distribution, device)),
            bias: Some(Param::from_tensor(Tensor::random(
                [3],
                distribution,
                device,
            ))),
        }
    };
    let zeros = || Tensor::zeros([4], device);
    Declared {
        own: Param::from_tensor(zeros()),
        leaf: random(),
        generic: random(),
        recorded: random(),
        buffer: zeros(),
        indices: Tensor::zeros([4], device),
        running: RunningState::new(zeros()),
        optional: Some(Param::from_tensor(zeros())),
        skipped: zeros(),
        skipped_module: Hooked { buffer: zeros() },
        start: 0.25,
    }
}

fn floats<const D: usize>(tensor: &Tensor<D>) -> Vec<f32> {
    tensor.to_data().try_to_vec().unwrap()
}

#[test]
fn attributes_declare_initial_values() {
    let meta = Meta::build(declared).unwrap();
    let module = meta.materialize(&device()).unwrap();
    let expected = [0.0, 1.0, 2.0, 3.0];
    assert_eq!(floats(&module.own), [0.25; 4]);
    assert_eq!(floats(&module.leaf.weight), [0.0; 6]);
    assert_eq!(floats(module.leaf.bias.as_ref().unwrap()), [0.0; 3]);
    assert_eq!(floats(&module.generic.weight), [1.0; 6]);
    assert!(
        floats(&module.recorded.weight)
            .iter()
            .all(|value| 0.0 < *value && *value < 1.0)
    );
    assert_eq!(floats(&module.buffer), expected);
    assert_eq!(
        module.indices.to_data().iter::<i64>().collect::<Vec<_>>(),
        [9; 4]
    );
    assert_eq!(floats(&module.running.value()), expected);
    assert_eq!(floats(module.optional.as_ref().unwrap()), expected);
    assert_eq!(floats(&module.skipped), expected);
    assert_eq!(floats(&module.skipped_module.buffer), expected);
}

#[derive(Module, Materialize, ResetParameters, Debug)]
enum DeclaredChoice {
    #[reset(with = ramp)]
    Buffer(Tensor<1>),
    Weight(#[reset(initializer = Initializer::Ones)] Param<Tensor<1>>),
    Hooked(Hooked),
}

#[test]
fn attributes_on_variants_declare_initial_values() {
    let zeros = |device: &Device| Tensor::<1>::zeros([3], device);
    let build = |constructor: &dyn Fn(&Device) -> DeclaredChoice| {
        let module = Meta::build(constructor)
            .unwrap()
            .materialize(&device())
            .unwrap();
        match module {
            DeclaredChoice::Buffer(tensor) => floats(&tensor),
            DeclaredChoice::Weight(weight) => floats(&weight),
            DeclaredChoice::Hooked(hooked) => floats(&hooked.buffer),
        }
    };
    let ramp = [0.0, 1.0, 2.0];
    assert_eq!(build(&|device| DeclaredChoice::Buffer(zeros(device))), ramp);
    let weight = |device: &Device| DeclaredChoice::Weight(Param::from_tensor(zeros(device)));
    assert_eq!(build(&weight), [1.0; 3]);
    let hooked = |device: &Device| {
        DeclaredChoice::Hooked(Hooked {
            buffer: zeros(device),
        })
    };
    assert_eq!(build(&hooked), ramp);
}
