//! Small models that several tests summarise.

use burn::module::Module;
use burn::nn::{
    Embedding, EmbeddingConfig, Linear, LinearConfig, RmsNorm, RmsNormConfig, RotaryEncoding,
    RotaryEncodingConfig,
};
use burn::tensor::activation::{silu, softmax};
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{Materialize, ResetParameters};

/// A list of linear layers.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Stack {
    pub layers: Vec<Linear>,
}

impl Stack {
    pub fn new(widths: &[usize], device: &Device) -> Self {
        let linear = |width: &usize| linear(8, *width, device);
        Self {
            layers: widths.iter().map(linear).collect(),
        }
    }
}

pub fn linear(d_input: usize, d_output: usize, device: &Device) -> Linear {
    LinearConfig::new(d_input, d_output)
        .with_bias(false)
        .init(device)
}

/// A decoder in the shape of Llama, without grouped queries.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Decoder {
    pub embedding: Embedding,
    pub layers: Vec<Layer>,
    pub norm: RmsNorm,
    pub head: Linear,
    pub rotary: RotaryEncoding,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Layer {
    pub attention_norm: RmsNorm,
    pub attention: Attention,
    pub feed_forward_norm: RmsNorm,
    pub feed_forward: FeedForward,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Attention {
    pub query: Linear,
    pub key: Linear,
    pub value: Linear,
    pub output: Linear,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct FeedForward {
    pub gate: Linear,
    pub up: Linear,
    pub down: Linear,
}

const HEADS: usize = 4;

impl Decoder {
    pub fn new(layers: usize, width: usize, device: &Device) -> Self {
        let layer = |_| Layer {
            attention_norm: RmsNormConfig::new(width).init(device),
            attention: Attention {
                query: linear(width, width, device),
                key: linear(width, width, device),
                value: linear(width, width, device),
                output: linear(width, width, device),
            },
            feed_forward_norm: RmsNormConfig::new(width).init(device),
            feed_forward: FeedForward {
                gate: linear(width, 4 * width, device),
                up: linear(width, 4 * width, device),
                down: linear(4 * width, width, device),
            },
        };
        Self {
            embedding: EmbeddingConfig::new(100, width).init(device),
            layers: (0..layers).map(layer).collect(),
            norm: RmsNormConfig::new(width).init(device),
            head: linear(width, 100, device),
            rotary: RotaryEncodingConfig::new(32, width / HEADS).init(device),
        }
    }

    pub fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let mut hidden = self.embedding.forward(tokens);
        for layer in &self.layers {
            let attended = layer
                .attention
                .forward(layer.attention_norm.forward(hidden.clone()), &self.rotary);
            hidden = hidden + attended;
            let feed = &layer.feed_forward;
            let normed = layer.feed_forward_norm.forward(hidden.clone());
            let gated = silu(feed.gate.forward(normed.clone())) * feed.up.forward(normed);
            hidden = hidden + feed.down.forward(gated);
        }
        self.head.forward(self.norm.forward(hidden))
    }
}

impl Attention {
    fn forward(&self, x: Tensor<3>, rotary: &RotaryEncoding) -> Tensor<3> {
        let [batch, length, width] = x.dims();
        let heads = |x: Tensor<3>| {
            x.reshape([batch, length, HEADS, width / HEADS])
                .swap_dims(1, 2)
        };
        let query = rotary.forward(heads(self.query.forward(x.clone())));
        let key = rotary.forward(heads(self.key.forward(x.clone())));
        let value = heads(self.value.forward(x));
        let weights = softmax(query.matmul(key.transpose()), 3);
        let context = weights.matmul(value).swap_dims(1, 2);
        self.output.forward(context.reshape([batch, length, width]))
    }
}
