//! A module in the shape of Llama 3 70B.

use burn::module::Module;
use burn::nn::{
    Embedding, EmbeddingConfig, Linear, LinearConfig, RmsNorm, RmsNormConfig, RotaryEncoding,
    RotaryEncodingConfig,
};
use burn::tensor::Device;
use burn_materialize::{Materialize, ResetParameters};

pub const LAYERS: usize = 80;
pub const PARAMETERS: usize = 70_553_706_496;

const VOCABULARY: usize = 128_256;
const WIDTH: usize = 8192;
const FEED_FORWARD: usize = 28_672;
const KEY_VALUE_WIDTH: usize = 1024;
const HEAD: usize = 128;
const POSITIONS: usize = 8192;
const THETA: f32 = 500_000.0;

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Llama {
    embedding: Embedding,
    pub layers: Vec<Layer>,
    norm: RmsNorm,
    head: Linear,
    rotary: RotaryEncoding,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Layer {
    attention_norm: RmsNorm,
    attention: Attention,
    feed_forward_norm: RmsNorm,
    feed_forward: FeedForward,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Attention {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct FeedForward {
    gate: Linear,
    up: Linear,
    down: Linear,
}

impl Llama {
    pub fn new(device: &Device) -> Self {
        Self {
            embedding: EmbeddingConfig::new(VOCABULARY, WIDTH).init(device),
            layers: (0..LAYERS).map(|_| Layer::new(device)).collect(),
            norm: RmsNormConfig::new(WIDTH).init(device),
            head: linear(WIDTH, VOCABULARY, device),
            rotary: RotaryEncodingConfig::new(POSITIONS, HEAD)
                .with_theta(THETA)
                .init(device),
        }
    }
}

impl Layer {
    fn new(device: &Device) -> Self {
        let attention = Attention {
            query: linear(WIDTH, WIDTH, device),
            key: linear(WIDTH, KEY_VALUE_WIDTH, device),
            value: linear(WIDTH, KEY_VALUE_WIDTH, device),
            output: linear(WIDTH, WIDTH, device),
        };
        let feed_forward = FeedForward {
            gate: linear(WIDTH, FEED_FORWARD, device),
            up: linear(WIDTH, FEED_FORWARD, device),
            down: linear(FEED_FORWARD, WIDTH, device),
        };
        Self {
            attention_norm: RmsNormConfig::new(WIDTH).init(device),
            attention,
            feed_forward_norm: RmsNormConfig::new(WIDTH).init(device),
            feed_forward,
        }
    }

    pub fn linears(&self) -> [&Linear; 7] {
        let Attention {
            query,
            key,
            value,
            output,
        } = &self.attention;
        let FeedForward { gate, up, down } = &self.feed_forward;
        [query, key, value, output, gate, up, down]
    }

    pub fn norms(&self) -> [&RmsNorm; 2] {
        [&self.attention_norm, &self.feed_forward_norm]
    }
}

fn linear(d_input: usize, d_output: usize, device: &Device) -> Linear {
    LinearConfig::new(d_input, d_output)
        .with_bias(false)
        .init(device)
}
