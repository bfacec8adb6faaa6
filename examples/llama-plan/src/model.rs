//! Llama 3 in Burn's layers.
//!
//! Rotary encoding turns neighbouring elements of a head, 0 and 1, 2 and 3: so does Meta's own release,
//! whose weights fit as they are. The version of Hugging Face turns the first half with the second;
//! its queries and keys would have to be permuted.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{
    Embedding, EmbeddingConfig, Linear, LinearConfig, RmsNorm, RmsNormConfig, RotaryEncoding,
    RotaryEncodingConfig, SwiGlu, SwiGluConfig,
};
use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, Device, FloatDType, Int, Tensor};
use burn_fabric::prelude::*;

use crate::Shape;

/// Of the frequencies of the rotary encoding.
const THETA: f32 = 500_000.0;

/// A decoder.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Llama {
    /// From a token.
    pub embedding: Embedding,
    /// One after another.
    pub layers: Vec<Layer>,
    /// Before the head.
    pub norm: RmsNorm,
    /// To a score for each token.
    pub head: Linear,
    /// Where in the sequence a token stands: of a head's width, for all layers.
    pub rotary: RotaryEncoding,
}

/// Attention and a feed-forward layer, both normed before and added to what comes in.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Layer {
    /// Before the attention.
    pub attention_norm: RmsNorm,
    /// To what precedes.
    pub attention: Attention,
    /// Before the feed-forward layer.
    pub feed_forward_norm: RmsNorm,
    /// At each place alone.
    pub feed_forward: FeedForward,
}

/// Attention of each place to itself and to those before it, where several heads ask one head of keys
/// and values.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Attention {
    /// What is asked.
    pub query: Linear,
    /// What is found by.
    pub key: Linear,
    /// What is found.
    pub value: Linear,
    /// From all heads.
    pub output: Linear,
    head: usize,
}

/// `down(silu(gate(x)) * up(x))`.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct FeedForward {
    /// Gate and up.
    pub gated: SwiGlu,
    /// Down.
    pub down: Linear,
}

/// What layers know of the order of a sequence.
struct Order<'m> {
    rotary: &'m RotaryEncoding,
    /// What comes after each place, `[length, length]`; where there is none, the kernel of the
    /// attention knows by itself.
    after: Option<Tensor<2, Bool>>,
}

fn linear(from: usize, to: usize, device: &Device) -> Linear {
    LinearConfig::new(from, to).with_bias(false).init(device)
}

impl Attention {
    fn new(shape: &Shape, device: &Device) -> Self {
        let (width, keys) = (shape.width, shape.key_heads * shape.head());
        Self {
            query: linear(width, width, device),
            key: linear(width, keys, device),
            value: linear(width, keys, device),
            output: linear(width, width, device),
            head: shape.head(),
        }
    }

    /// Attention is one operation of Burn's. In inference flex, libtorch and graphics cards then never
    /// hold all scores, `length * length` of each head, which products written out would: 8 GiB a layer
    /// of the 70B at 8192 tokens in bf16. Under autodiff Burn itself computes it by such products, so
    /// training is as if they were written out, and is given one mask for all layers, where else each
    /// would make its own. What it costs is that it knows of no shared heads: keys and values are
    /// repeated, once for each head that asks, 128 MiB each there.
    fn forward(&self, x: Tensor<3>, order: &Order<'_>) -> Tensor<3> {
        let [batch, length, width] = x.dims();
        let heads = width / self.head;
        let split = |x: Tensor<3>| -> Tensor<4> {
            let heads = x.dims()[2] / self.head;
            x.reshape([batch, length, heads, self.head]).swap_dims(1, 2)
        };
        let repeated = |x: Tensor<4>| -> Tensor<4> {
            let key_heads = x.dims()[1];
            x.unsqueeze_dim::<5>(2)
                .expand([batch, key_heads, heads / key_heads, length, self.head])
                .reshape([batch, heads, length, self.head])
        };
        let query = order.rotary.forward(split(self.query.forward(x.clone())));
        let key = repeated(order.rotary.forward(split(self.key.forward(x.clone()))));
        let value = repeated(split(self.value.forward(x)));
        let options = AttentionModuleOptions {
            is_causal: order.after.is_none(),
            ..AttentionModuleOptions::default()
        };
        let after = order.after.clone();
        let mask = after.map(|after| after.expand([batch, heads, length, length]));
        let mixed = attention(query, key, value, mask, None, options);
        self.output
            .forward(mixed.swap_dims(1, 2).reshape([batch, length, width]))
    }
}

impl FeedForward {
    fn new(shape: &Shape, device: &Device) -> Self {
        Self {
            gated: SwiGluConfig::new(shape.width, shape.hidden).init(device),
            down: linear(shape.hidden, shape.width, device),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.down.forward(self.gated.forward(x))
    }
}

impl Layer {
    fn new(shape: &Shape, device: &Device) -> Self {
        Self {
            attention_norm: norm(shape, device),
            attention: Attention::new(shape, device),
            feed_forward_norm: norm(shape, device),
            feed_forward: FeedForward::new(shape, device),
        }
    }

    fn forward(&self, x: Tensor<3>, order: &Order<'_>) -> Tensor<3> {
        let normed = self.attention_norm.forward(x.clone());
        let x = x + self.attention.forward(normed, order);
        let normed = self.feed_forward_norm.forward(x.clone());
        x + self.feed_forward.forward(normed)
    }
}

fn norm(shape: &Shape, device: &Device) -> RmsNorm {
    RmsNormConfig::new(shape.width)
        .with_epsilon(1e-5)
        .init(device)
}

impl Llama {
    /// Build it on `device`, for sequences of up to `length` tokens.
    pub fn new(shape: &Shape, length: usize, device: &Device) -> Self {
        let rotary = RotaryEncodingConfig::new(length, shape.head()).with_theta(THETA);
        Self {
            embedding: EmbeddingConfig::new(shape.vocabulary, shape.width).init(device),
            layers: (0..shape.layers)
                .map(|_| Layer::new(shape, device))
                .collect(),
            norm: norm(shape, device),
            head: linear(shape.width, shape.vocabulary, device),
            rotary: rotary.init(device),
        }
    }

    /// `[batch, length]` to `[batch, length, vocabulary]`: scores of the token that comes next.
    pub fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        self.scores(tokens, None)
    }

    fn scores(&self, tokens: Tensor<2, Int>, after: Option<Tensor<2, Bool>>) -> Tensor<3> {
        let rotary = &self.rotary;
        let order = Order { rotary, after };
        let mut x = self.embedding.forward(tokens);
        for layer in &self.layers {
            x = layer.forward(x, &order);
        }
        self.head.forward(self.norm.forward(x))
    }

    /// The mean cross-entropy of `next`, the token after each of `tokens`, both `[batch, length]`; in
    /// f32 whatever the model computes in.
    pub fn loss(&self, tokens: Tensor<2, Int>, next: Tensor<2, Int>) -> Tensor<1> {
        let [_, length] = tokens.dims();
        let after = Tensor::tril_mask([length, length], 0, &tokens.device());
        let scores = self.scores(tokens, Some(after)).flatten::<2>(0, 1);
        let scores = scores.cast(FloatDType::F32);
        let criterion = CrossEntropyLossConfig::new().init(&scores.device());
        criterion.forward(scores, next.flatten(0, 1))
    }
}
