//! The values of a model's tensors.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Tensor, TensorData};
use sha2::{Digest, Sha256};

/// The parameters and running statistics of a model, by path.
pub fn tensors<M: Module>(model: &M) -> BTreeMap<String, TensorData> {
    let mut collector = Collector::default();
    // A visitor sees running statistics one update late; the snapshot that `valid` gives has none
    // pending.
    model.valid().visit(&mut collector);
    collector.tensors
}

/// The SHA-256 of all tensors: path, dtype, shape and bits. Equal hashes are equal models.
pub fn digest<M: Module>(model: &M) -> String {
    let mut hash = Sha256::new();
    for (path, data) in tensors(model) {
        hash.update(format!("{path} {:?} {:?}\n", data.dtype(), data.shape()));
        hash.update(data.as_bytes());
    }
    hash.finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

#[derive(Default)]
struct Collector {
    path: Vec<String>,
    tensors: BTreeMap<String, TensorData>,
}

impl ModuleVisitor for Collector {
    fn enter_module(&mut self, name: &str, _container: &str) {
        self.path.push(name.to_owned());
    }

    fn exit_module(&mut self, _name: &str, _container: &str) {
        self.path.pop();
    }

    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
        self.tensors
            .insert(self.path.join("."), param.val().into_data());
    }
}
