use burn::module::Module;
use burn::nn::{DropoutConfig, GaussianNoiseConfig};

use crate::support::{check, flat, input};

#[test]
fn module_dropout() {
    let config = DropoutConfig::new(0.3);
    check(
        |_| config.init(),
        |dropout, device| flat(dropout.forward(input([4, 12], device))),
    );
    check(
        |_| config.init().freeze(),
        |dropout, device| flat(dropout.forward(input([4, 12], device))),
    );
}

#[test]
fn module_gaussian_noise() {
    let config = GaussianNoiseConfig::new(0.3);
    check(
        |_| config.init(),
        |noise, device| flat(noise.forward(input([4, 12], device))),
    );
    check(
        |_| config.init().freeze(),
        |noise, device| flat(noise.forward(input([4, 12], device))),
    );
}
