//! Every tensor and flag of a module, with its values.

use burn::module::{Flag, Module, ModuleVisitor, Param};
use burn::tensor::{Bool, Int, Tensor, TensorData};
use burn_materialize::{Materialize, Pass, Role, Site, Slot, traverse};

/// One tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    pub path: String,
    pub module: String,
    pub role: Role,
    pub data: TensorData,
}

impl Leaf {
    /// Everything but its values.
    pub fn structure(&self) -> impl PartialEq + std::fmt::Debug {
        (
            &self.path,
            &self.module,
            self.role,
            self.data.shape(),
            self.data.dtype(),
        )
    }

    pub fn name(&self) -> Name {
        (self.path.clone(), self.module.clone())
    }

    pub fn values(&self) -> Vec<f64> {
        self.data.iter::<f64>().collect()
    }
}

/// Its tensors and flags, in traversal order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Snapshot {
    pub leaves: Vec<Leaf>,
    pub flags: Vec<(Name, bool)>,
}

impl Snapshot {
    /// Lazy parameters are initialised by it.
    pub fn of<M: Materialize>(module: &M) -> Self {
        let mut snapshot = Self::default();
        traverse(module.clone(), &mut snapshot);
        snapshot
    }
}

impl Pass for Snapshot {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        let data = burn_meta::read(slot.tensor()).expect("a real tensor can be read");
        let (path, module) = (site.path().to_owned(), site.module().to_owned());
        self.leaves.push(Leaf {
            path,
            module,
            role: slot.role(),
            data,
        });
    }

    fn flag(&mut self, site: &Site<'_>, flag: Param<Flag>) -> Param<Flag> {
        let name = (site.path().to_owned(), site.module().to_owned());
        self.flags.push((name, flag.is_enabled()));
        flag
    }
}

/// The path of a leaf and the type that declares it.
pub type Name = (String, String);

/// What Burn's own visitor sees of a module, in its order.
#[derive(Debug, Default, PartialEq)]
pub struct Seen {
    pub tensors: Vec<Name>,
    pub flags: Vec<Name>,
}

impl Seen {
    pub fn of<M: Module>(module: &M) -> Self {
        let mut visitor = Visitor::default();
        module.visit(&mut visitor);
        visitor.seen
    }
}

#[derive(Default)]
struct Visitor {
    names: Vec<(String, String)>,
    seen: Seen,
}

impl Visitor {
    fn name(&self) -> Name {
        let names: Vec<&str> = self.names.iter().map(|(name, _)| name.as_str()).collect();
        let declaring = self.names.iter().rev().find_map(|(_, container)| {
            container
                .split_once(':')
                .map(|(_, module)| module.to_owned())
        });
        (names.join("."), declaring.unwrap_or_default())
    }
}

impl ModuleVisitor for Visitor {
    fn enter_module(&mut self, name: &str, container: &str) {
        self.names.push((name.to_owned(), container.to_owned()));
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.names.pop();
    }

    fn visit_float<const D: usize>(&mut self, _param: &Param<Tensor<D>>) {
        self.seen.tensors.push(self.name());
    }

    fn visit_int<const D: usize>(&mut self, _param: &Param<Tensor<D, Int>>) {
        self.seen.tensors.push(self.name());
    }

    fn visit_bool<const D: usize>(&mut self, _param: &Param<Tensor<D, Bool>>) {
        self.seen.tensors.push(self.name());
    }

    fn visit_flag(&mut self, _flag: &Param<Flag>) {
        self.seen.flags.push(self.name());
    }
}
