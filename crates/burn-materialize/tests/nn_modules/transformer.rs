use burn::nn::activation::ActivationConfig;
use burn::nn::transformer::{
    PositionWiseFeedForwardConfig, TransformerDecoder, TransformerDecoderConfig,
    TransformerDecoderInput, TransformerDecoderLayer, TransformerEncoderConfig,
    TransformerEncoderInput, TransformerEncoderLayer,
};
use burn::nn::{PReluConfig, SwiGluConfig};
use burn::tensor::{Device, Tensor};

use crate::support::{COMPOSED, FANS, check, check_initializers, flat, input};

const D_MODEL: usize = 104;
const D_FF: usize = 120;

/// Without tensors, with a constant one, and with layers that keep a default of their own.
fn activations() -> [ActivationConfig; 3] {
    [
        ActivationConfig::Gelu,
        PReluConfig::new().into(),
        SwiGluConfig::new(D_FF, D_FF).with_bias(true).into(),
    ]
}

fn encoder(n_layers: usize) -> TransformerEncoderConfig {
    // A plain softmax does not depend on the bias of the keys; a quiet one does.
    TransformerEncoderConfig::new(D_MODEL, D_FF, 4, n_layers).with_quiet_softmax(true)
}

fn decoder(n_layers: usize) -> TransformerDecoderConfig {
    TransformerDecoderConfig::new(D_MODEL, D_FF, 4, n_layers).with_quiet_softmax(true)
}

fn run_decoder(decoder: &TransformerDecoder, device: &Device) -> Tensor<1> {
    let [target, memory] = [
        input([2, 3, D_MODEL], device),
        input([2, 5, D_MODEL], device),
    ];
    flat(decoder.forward(TransformerDecoderInput::new(target, memory)))
}

#[test]
fn module_position_wise_feed_forward() {
    for activation in activations() {
        let config = PositionWiseFeedForwardConfig::new(D_MODEL, D_FF).with_activation(activation);
        check(
            |device| config.init(device),
            |feed_forward, device| flat(feed_forward.forward(input([3, D_MODEL], device))),
        );
    }
    let config = PositionWiseFeedForwardConfig::new(D_MODEL, D_FF);
    check_initializers(FANS, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}

#[test]
fn module_transformer_encoder_layer() {
    for activation in activations() {
        let config = encoder(1).with_activation(activation);
        check(
            |device| TransformerEncoderLayer::new(&config, device),
            |layer, device| flat(layer.forward(input([2, 3, D_MODEL], device), None, None)),
        );
    }
    check_initializers(COMPOSED, |device, initializer| {
        TransformerEncoderLayer::new(&encoder(1).with_initializer(initializer), device)
    });
}

#[test]
fn module_transformer_encoder() {
    let config = encoder(2).with_norm_first(true);
    check(
        |device| config.init(device),
        |encoder, device| {
            flat(encoder.forward(TransformerEncoderInput::new(input([2, 3, D_MODEL], device))))
        },
    );
    check_initializers(COMPOSED, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}

#[test]
fn module_transformer_decoder_layer() {
    for activation in activations() {
        let config = decoder(1).with_activation(activation);
        check(
            |device| TransformerDecoderLayer::new(&config, device),
            |layer, device| {
                // Only a decoder shows what its layers return.
                let layers = vec![layer.clone()];
                run_decoder(
                    &TransformerDecoder {
                        layers,
                        ..decoder(0).init(device)
                    },
                    device,
                )
            },
        );
    }
    check_initializers(COMPOSED, |device, initializer| {
        TransformerDecoderLayer::new(&decoder(1).with_initializer(initializer), device)
    });
}

#[test]
fn module_transformer_decoder() {
    let config = decoder(2);
    check(|device| config.init(device), run_decoder);
    check_initializers(COMPOSED, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}
