//! CREPE's smallest model, as its authors published it.

use burn::module::Module;
use burn::nn::conv::{Conv2d, Conv2dConfig};
use burn::nn::pool::MaxPool2dConfig;
use burn::nn::{BatchNorm, BatchNormConfig, Linear, LinearConfig};
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, ResetParameters, Weights};

use crate::{assert_output, input, load};

/// Channels of the six layers, behind those of the input.
const CHANNELS: [usize; 7] = [1, 128, 16, 16, 16, 32, 64];

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Crepe {
    convs: Vec<(Conv2d, BatchNorm)>,
    classifier: Linear,
}

impl Crepe {
    fn new(device: &Device) -> Self {
        let layer = |place: usize| {
            let (kernel, stride) = if place == 0 { (512, 4) } else { (64, 1) };
            let channels = [CHANNELS[place], CHANNELS[place + 1]];
            let conv = Conv2dConfig::new(channels, [kernel, 1]).with_stride([stride, 1]);
            let norm = BatchNormConfig::new(channels[1]).with_epsilon(0.0010000000474974513);
            (conv.init(device), norm.init(device))
        };
        Self {
            convs: (0..6).map(layer).collect(),
            classifier: LinearConfig::new(256, 360).init(device),
        }
    }

    fn forward(&self, frames: Tensor<2>) -> Tensor<2> {
        let pool = MaxPool2dConfig::new([2, 1]).with_strides([2, 1]).init();
        let mut x: Tensor<4> = frames.unsqueeze_dims(&[1, 3]);
        for (place, (conv, norm)) in self.convs.iter().enumerate() {
            let (before, after) = if place == 0 { (254, 254) } else { (31, 32) };
            let x_padded = x.pad((0, 0, before, after), 0.0);
            x = norm.forward(relu(conv.forward(x_padded)));
            x = pool.forward(x);
        }
        sigmoid(self.classifier.forward(x.swap_dims(1, 2).flatten(1, 3)))
    }
}

#[test]
fn every_tensor_of_a_published_model() {
    let Some(folder) = test_assets::CREPE.for_test() else {
        return;
    };
    let weights = Weights::open(folder.join("tiny.pth")).unwrap();
    assert_eq!(weights.checkpoint().names().len(), 44);
    // There the layers are fields of their own.
    let mut weights = weights;
    for place in 1..=6 {
        for (part, name) in ["", "_BN"].iter().enumerate() {
            let name = format!("^conv{place}{name}[.]");
            let path = format!("convs.{}.{part}.", place - 1);
            weights = weights.rename(&name, &path).unwrap();
        }
    }
    let (crepe, report) = load(&weights.require_finite(true), Crepe::new);
    assert!(
        report.is_accepted() && report.missing.is_empty(),
        "{report}"
    );
    assert_eq!((report.loaded.len(), report.ignored.len()), (38, 6));
    let variance = crepe.convs[1].1.running_var.value().into_data();
    assert_eq!(variance.iter::<f32>().next(), Some(8579.75));
    assert_output("crepe", crepe.forward(input("crepe.input0")));
}
