//! What tests look at modules with.

use std::collections::BTreeMap;

use burn::tensor::kind::Basic;
use burn::tensor::{Tensor, TensorData};
use burn_materialize::{Materialize, Pass, Site, Slot, inventory, traverse};
use device_under_test::in_common;

/// The values of every tensor of a real module, by path.
pub fn values<M: Materialize>(module: &M) -> BTreeMap<String, TensorData> {
    struct Values(BTreeMap<String, TensorData>);
    impl Pass for Values {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            let data = burn_meta::read(slot.tensor()).expect("a real tensor can be read");
            self.0.insert(site.path().to_owned(), data);
        }
    }
    let mut pass = Values(BTreeMap::new());
    traverse(module.clone(), &mut pass);
    pass.0
}

/// Everything but the values of every tensor of a module, in traversal order.
#[allow(dead_code, reason = "each test file uses its own part of this one")]
pub fn kinds<M: Materialize>(module: &M) -> Vec<String> {
    let entries = inventory(module).into_iter();
    let tell = |entry: burn_materialize::Entry| {
        format!(
            "{} {} {} {:?} {} {:?}",
            entry.path, entry.module, entry.role, entry.kind, entry.shape, entry.dtype
        )
    };
    entries.map(tell).collect()
}

/// The values of one tensor.
#[allow(dead_code, reason = "each test file uses its own part of this one")]
pub fn data<const D: usize, K: Basic>(tensor: Tensor<D, K>) -> TensorData {
    tensor.into_data()
}

/// The values of every tensor, by path, whatever integers and bools are the device's own.
#[allow(dead_code, reason = "each test file uses its own part of this one")]
pub fn host_values<M: Materialize>(module: &M) -> BTreeMap<String, TensorData> {
    let values = values(module).into_iter();
    values.map(|(path, data)| (path, in_common(data))).collect()
}
