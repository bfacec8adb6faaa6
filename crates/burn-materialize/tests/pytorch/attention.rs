//! Attention, whose projections PyTorch packs, and the transformers made of it.

use burn::nn::activation::ActivationConfig;
use burn::nn::attention::{CrossAttentionConfig, MhaInput, MultiHeadAttentionConfig};
use burn::nn::transformer::{
    TransformerDecoderConfig, TransformerDecoderInput, TransformerEncoderConfig,
    TransformerEncoderInput, TransformerEncoderLayer,
};
use burn_materialize::Layout;

use crate::{assert_output, bools, input, there_and_back};

/// Whether norms come first, and the activation, by the end of a file's name. Burn's `Gelu` is the
/// exact one, as PyTorch's by default.
const KINDS: [(&str, bool, ActivationConfig); 2] = [
    ("post_gelu", false, ActivationConfig::Gelu),
    ("pre_relu", true, ActivationConfig::Relu),
];

#[test]
fn attention_is_packed() {
    let attention = there_and_back("attention", Layout::Auto, |device| {
        MultiHeadAttentionConfig::new(6, 2).init(device)
    });
    let [query, key, value] = [0, 1, 2].map(|place| input(&format!("attention.input{place}")));
    let output = attention.forward(MhaInput::new(query, key, value));
    assert_output("attention", output.context);
}

#[test]
fn attention_to_another_width_packs_its_biases_only() {
    let attention = there_and_back("cross_attention", Layout::Auto, |device| {
        CrossAttentionConfig::new(6, 4, 2, 2, 3).init(device)
    });
    let query = input("cross_attention.input0");
    let context = input("cross_attention.input1");
    assert_output("cross_attention", attention.forward(query, context, None));
}

/// Burn numbers its norms by where they are without `norm_first`; PyTorch by the order they act in.
#[test]
fn encoders_number_their_norms_by_what_acts_first() {
    for (kind, norm_first, activation) in KINDS {
        let config = TransformerEncoderConfig::new(6, 8, 2, 2)
            .with_norm_first(norm_first)
            .with_activation(activation);
        let case = format!("encoder_layer_{kind}");
        let layer = there_and_back(&case, Layout::Auto, |device| {
            TransformerEncoderLayer::new(&config, device)
        });
        let output = layer.forward(input(&format!("{case}.input0")), None, None);
        assert_output(&case, output);
        let case = format!("encoder_{kind}");
        let encoder = there_and_back(&case, Layout::Auto, |device| config.init(device));
        let sequence = TransformerEncoderInput::new(input(&format!("{case}.input0")));
        // Where it is true in PyTorch as well, a token is not attended to. What the padding itself
        // becomes is of no use, and the same here.
        let padding = bools(&format!("{case}.input1"));
        assert_output(&case, encoder.forward(sequence.mask_pad(padding)));
    }
}

#[test]
fn decoders_number_their_norms_by_what_acts_first() {
    for (kind, norm_first, activation) in KINDS {
        let config = TransformerDecoderConfig::new(6, 8, 2, 1)
            .with_norm_first(norm_first)
            .with_activation(activation);
        let case = format!("decoder_{kind}");
        let decoder = there_and_back(&case, Layout::Auto, |device| config.init(device));
        let [target, memory] = [0, 1].map(|place| input(&format!("{case}.input{place}")));
        let causal = bools::<2>(&format!("{case}.input2"))
            .unsqueeze()
            .repeat_dim(0, 2);
        let sequence = TransformerDecoderInput::new(target, memory).target_mask_attn(causal);
        assert_output(&case, decoder.forward(sequence));
    }
}
