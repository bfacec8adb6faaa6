use burn::module::Initializer;
use burn::nn::{EmbeddingConfig, LinearConfig, LinearLayout};

use crate::support::{FAN_IN, FANS, NO_FANS, check, check_initializers, flat, input, labels};

#[test]
fn module_linear() {
    for layout in [LinearLayout::Row, LinearLayout::Col] {
        let config = LinearConfig::new(160, 70).with_layout(layout);
        check(
            |device| config.init(device),
            |linear, device| flat(linear.forward(input([3, 160], device))),
        );
        for initializers in [NO_FANS, FAN_IN, FANS] {
            check_initializers(initializers, |device, initializer| {
                config.clone().with_initializer(initializer).init(device)
            });
        }
    }
    let without_bias = LinearConfig::new(40, 25).with_bias(false);
    check(
        |device| without_bias.init(device),
        |linear, device| flat(linear.forward(input([3, 40], device))),
    );
    // Asks for a matrix, so it cannot make a bias.
    check_initializers(
        &[Initializer::Orthogonal { gain: 2.0 }],
        |device, initializer| {
            without_bias
                .clone()
                .with_initializer(initializer)
                .init(device)
        },
    );
}

#[test]
fn module_embedding() {
    let config = EmbeddingConfig::new(50, 220);
    check(
        |device| config.init(device),
        |embedding, device| flat(embedding.forward(labels([2, 7], 50, device))),
    );
    check_initializers(NO_FANS, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}
