//! Parameters and FLOPs by module.

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use burn_fabric::ModulesPicture;
use burn_fabric::burn_materialize::{Materialize, Meta, ResetParameters, Summary};

use super::model::{loss, meta};
use super::{shows, svg, texts};

fn drawn(summary: &Summary) -> String {
    let folder = tempfile::tempdir().unwrap();
    let stem = folder.path().join("modules");
    for ending in ["svg", "png"] {
        let picture = ModulesPicture::of(summary).title("modules");
        picture.write(stem.with_extension(ending)).unwrap();
    }
    svg(&stem)
}

#[test]
fn modules_have_their_parameters_and_after_a_trace_their_flops() {
    let meta = meta();
    let svg = drawn(&meta.summary());
    for text in [
        "modules",
        "embedding",
        "norm",
        "mixer",
        "parameters (23.5 k in all)",
    ] {
        assert!(shows(&svg, text), "no {text}");
    }
    assert!(texts(&svg, "FLOPs").is_empty());

    let trace = meta
        .trace_training(|model, device| loss(model, device, 2))
        .unwrap();
    let svg = drawn(&meta.summary().traced(&trace));
    assert_eq!(texts(&svg, "FLOPs, forward and backward (").len(), 1);
    let shares = svg.lines().filter(|line| line.trim().ends_with(" %"));
    assert!(shares.count() >= 4);
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Net {
    layers: Vec<Linear>,
    wide: Linear,
}

fn net(layers: usize, is_alike: bool) -> Meta<Net> {
    let new = |device: &Device| Net {
        layers: (0..layers)
            .map(|i| LinearConfig::new(8, if is_alike { 8 } else { 8 + i }).init(device))
            .collect(),
        wide: LinearConfig::new(100, 100).init(device),
    };
    Meta::build(new).unwrap()
}

#[test]
fn blocks_that_repeat_are_one_row_with_all_of_them() {
    let meta = net(50, true);
    let trace = meta.trace(|net, device| {
        let x = Tensor::<2>::zeros([1, 8], device);
        net.layers.iter().fold(x, |x, layer| layer.forward(x))
    });
    let svg = drawn(&meta.summary().traced(&trace.unwrap()));
    assert!(shows(&svg, "layers.0 … layers.49 (50 x)"));
    // 50 times 8 x 8 + 8, of those and 100 x 100 + 100.
    assert!(shows(&svg, "3.6 k, 26 %"), "{svg}");
}

#[test]
fn of_too_many_modules_the_largest_are_shown() {
    let svg = drawn(&net(50, false).summary());
    assert!(shows(&svg, "wide") && shows(&svg, "layers.49") && !shows(&svg, "layers.0"));
    assert!(shows(&svg, "and 31 more modules"));
}

#[test]
fn a_module_without_parts_is_drawn() {
    let meta = Meta::build(|device| LinearConfig::new(2, 2).init(device)).unwrap();
    assert!(shows(&drawn(&meta.summary()), "no module within this one"));
}
