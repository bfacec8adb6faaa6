//! What the tests share.
#![allow(dead_code, reason = "each test program uses a part of it")]

use std::collections::BTreeMap;

use burn::module::{Module, Param};
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_fabric::burn_materialize::{Pass, Site, Slot, traverse};
use burn_fabric::prelude::*;
#[allow(unused_imports, reason = "each test program uses a part of it")]
pub use device_under_test::device;

/// Two layers of matrices.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Mlp {
    pub hidden: Linear,
    pub output: Linear,
}

impl Mlp {
    pub fn new(device: &Device) -> Self {
        Self {
            hidden: LinearConfig::new(5, 8).with_bias(false).init(device),
            output: LinearConfig::new(8, 4).with_bias(false).init(device),
        }
    }

    pub fn loss(&self, x: &Tensor<2>) -> Tensor<1> {
        self.output
            .forward(self.hidden.forward(x.clone()).tanh())
            .powi_scalar(2)
            .mean()
    }
}

pub fn fabric() -> Fabric {
    builder().seed(3).build().unwrap()
}

/// A builder for the device under test, that nothing else of the environment reaches.
pub fn builder() -> burn_fabric::FabricBuilder {
    Fabric::builder().environment([(device_under_test::VARIABLE, device_under_test::name())])
}

pub fn model(fabric: &Fabric) -> FabricModule<Mlp> {
    fabric.setup(fabric.init_module(Mlp::new).unwrap()).unwrap()
}

pub fn input(device: &Device) -> Tensor<2> {
    let n = Tensor::<1, Int>::arange(0..35, device).float();
    n.mul_scalar(0.37).sin().reshape([7, 5])
}

/// The values of a tensor as they are now; `into_data` may copy them later.
pub fn data<const D: usize>(tensor: Tensor<D>) -> TensorData {
    burn_meta::read(tensor.into_bridge()).unwrap()
}

/// Every tensor of a module, by path.
pub fn values<M: Materialize>(module: &M) -> BTreeMap<String, TensorData> {
    struct Values(BTreeMap<String, TensorData>);
    impl Pass for Values {
        fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
            let data = burn_meta::read(slot.tensor()).unwrap();
            self.0.insert(site.path().to_owned(), data);
        }
    }
    let mut pass = Values(BTreeMap::new());
    traverse(module.clone(), &mut pass);
    pass.0
}

/// Embedding and head are one parameter.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Tied {
    pub embedding: Embedding,
    pub head: Param<Tensor<2>>,
}

impl Tied {
    pub fn new(device: &Device) -> Self {
        let embedding = EmbeddingConfig::new(7, 3).init(device);
        Self {
            head: embedding.weight.clone(),
            embedding,
        }
    }

    pub fn loss(&self) -> Tensor<1> {
        logits(self.embedding.weight.val(), self.head.val())
    }
}

/// The same function of one parameter.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Shared {
    pub weight: Param<Tensor<2>>,
}

impl Shared {
    pub fn loss(&self) -> Tensor<1> {
        logits(self.weight.val(), self.weight.val())
    }
}

fn logits(embedding: Tensor<2>, head: Tensor<2>) -> Tensor<1> {
    let tokens = Tensor::<2, Int>::from_ints([[0, 1, 6], [3, 3, 2]], &head.device());
    let hidden = burn::tensor::module::embedding(embedding, tokens);
    hidden
        .tanh()
        .matmul(head.transpose().unsqueeze())
        .sub_scalar(0.5)
        .powi_scalar(2)
        .mean()
}
