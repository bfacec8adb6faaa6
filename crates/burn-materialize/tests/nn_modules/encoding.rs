use burn::nn::{PositionalEncodingConfig, RotaryEncodingConfig};

use crate::support::{check, flat, input};

#[test]
fn module_positional_encoding() {
    let config = PositionalEncodingConfig::new(16)
        .with_max_sequence_size(50)
        .with_max_timescale(700);
    check(
        |device| config.init(device),
        |encoding, device| flat(encoding.forward(input([2, 9, 16], device))),
    );
}

#[test]
fn module_rotary_encoding() {
    let config = RotaryEncodingConfig::new(50, 16).with_theta(500_000.0);
    check(
        |device| config.init(device),
        |encoding, device| flat(encoding.forward(input([2, 9, 16], device))),
    );
    check(
        |device| config.init_with_frequency_scaling(|theta| theta.div_scalar(8.0), device),
        |encoding, device| flat(encoding.apply(input([2, 9, 16], device), 3)),
    );
}
