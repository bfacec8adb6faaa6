//! Training through a Fabric and training in plain Burn end with the same bits.

use burn_fabric::prelude::*;
use device_under_test::device;
use digits_common::{Options, Samples, Split};
use run_common::{digest, tensors};

#[test]
fn both_examples_end_with_the_same_bits() {
    let options = Options { seed: 3, epochs: 3 };
    let data = Split::new(&Samples::load().unwrap(), options.seed);
    let accelerator = Accelerator::Device(device());
    let fabric = Fabric::builder()
        .accelerator(accelerator)
        .seed(options.seed)
        .build()
        .unwrap();

    // One recorded module, materialised twice: nothing is shared, running statistics included.
    let meta = fabric.init_module(digits::Mlp::new).unwrap();
    let digits::Mlp {
        hidden,
        norm,
        output,
    } = meta.materialize(fabric.device()).unwrap();
    let plain = digits_plain::Mlp {
        hidden,
        norm,
        output,
    };
    let mut model = fabric.setup(&meta).unwrap();
    let initial = digest(&plain);
    assert_eq!(digest(&*model), initial);

    let epochs = digits::train(&fabric, &mut model, &data, &options).unwrap();
    let (plain, plain_epochs) = digits_plain::train(fabric.device(), plain, &data, &options);

    let (ours, theirs) = (tensors(&*model), tensors(&plain));
    let expected = [
        "hidden.bias",
        "hidden.weight",
        "norm.beta",
        "norm.gamma",
        "norm.running_mean",
        "norm.running_var",
        "output.bias",
        "output.weight",
    ];
    assert!(ours.keys().eq(expected));
    assert!(theirs.keys().eq(expected));
    for path in expected {
        assert_eq!(ours[path].as_bytes(), theirs[path].as_bytes(), "{path}");
    }
    assert_ne!(digest(&plain), initial);
    for (ours, theirs) in epochs.iter().zip(&plain_epochs) {
        assert_eq!(ours.loss.to_bits(), theirs.loss.to_bits());
        assert_eq!(ours.test_accuracy, theirs.test_accuracy);
    }
    // Three passes are few; chance would be 0.1.
    assert!(epochs[2].test_accuracy > 0.9, "{}", epochs[2].test_accuracy);
    assert!(epochs[2].loss < epochs[0].loss);
}
