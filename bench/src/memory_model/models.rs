//! The models whose memory is predicted and measured.

use burn::module::Module;
use burn::nn::conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, ConvTranspose2d, ConvTranspose2dConfig,
};
use burn::nn::pool::{MaxPool2d, MaxPool2dConfig};
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{
    BatchNorm, BatchNormConfig, Dropout, DropoutConfig, Embedding, EmbeddingConfig, GroupNorm,
    GroupNormConfig, Linear, LinearConfig, Lstm, LstmConfig, PaddingConfig1d, PaddingConfig2d,
    RmsNorm, RmsNormConfig, RotaryEncoding, RotaryEncodingConfig, SwiGlu, SwiGluConfig,
};
use burn::tensor::activation::{gelu, relu, sigmoid, softmax};
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{Materialize, ResetParameters};
use minilm::{Batch, BertConfig, MiniLm};
use serde_json::json;

/// Linear layers with dropout.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Mlp {
    layers: Vec<Linear>,
    dropout: Dropout,
}

impl Mlp {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        let widths = [512, 1024, 1024, 256, 10];
        Self {
            layers: widths
                .windows(2)
                .map(|width| LinearConfig::new(width[0], width[1]).init(device))
                .collect(),
            dropout: DropoutConfig::new(0.1).init(),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let input = Tensor::<2>::ones([batch, 512], device);
        let last = self.layers.len() - 1;
        let mut x = input;
        for layer in &self.layers[..last] {
            x = self.dropout.forward(relu(layer.forward(x)));
        }
        self.layers[last].forward(x).powi_scalar(2).mean()
    }
}

/// Convolutions with batch norm.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Cnn {
    convolutions: Vec<Conv2d>,
    norms: Vec<BatchNorm>,
    pool: MaxPool2d,
    head: Linear,
}

impl Cnn {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        let channels = [3, 32, 64, 64];
        let convolution = |channels: &[usize]| {
            Conv2dConfig::new([channels[0], channels[1]], [3, 3])
                .with_padding(PaddingConfig2d::Same)
                .init(device)
        };
        Self {
            convolutions: channels.windows(2).map(convolution).collect(),
            norms: channels[1..]
                .iter()
                .map(|&channels| BatchNormConfig::new(channels).init(device))
                .collect(),
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            head: LinearConfig::new(64 * 4 * 4, 10).init(device),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let mut x = Tensor::<4>::ones([batch, 3, 32, 32], device);
        for (convolution, norm) in self.convolutions.iter().zip(&self.norms) {
            x = self
                .pool
                .forward(relu(norm.forward(convolution.forward(x))));
        }
        let logits = self.head.forward(x.flatten::<2>(1, 3));
        logits.powi_scalar(2).mean()
    }
}

/// A transformer encoder.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Encoder {
    embed: Embedding,
    encoder: TransformerEncoder,
    head: Linear,
}

impl Encoder {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        Self {
            embed: EmbeddingConfig::new(1000, 256).init(device),
            encoder: TransformerEncoderConfig::new(256, 1024, 8, 3).init(device),
            head: LinearConfig::new(256, 20).init(device),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let tokens = Tensor::<2, Int>::ones([batch, 128], device);
        let input = TransformerEncoderInput::new(self.embed.forward(tokens));
        let hidden = self.encoder.forward(input);
        self.head.forward(hidden).powi_scalar(2).mean()
    }
}

/// A decoder layer as Llama has it.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct DecoderLayer {
    query: Linear,
    key: Linear,
    value: Linear,
    output: Linear,
    attention_norm: RmsNorm,
    gate: SwiGlu,
    down: Linear,
    feed_forward_norm: RmsNorm,
}

/// A transformer decoder with rotary encoding, as Llama has it.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Decoder {
    embed: Embedding,
    rotary: RotaryEncoding,
    layers: Vec<DecoderLayer>,
    head: Linear,
}

const WIDTH: usize = 256;
const HEADS: usize = 8;

impl DecoderLayer {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        let linear = |d_in, d_out| LinearConfig::new(d_in, d_out).with_bias(false).init(device);
        Self {
            query: linear(WIDTH, WIDTH),
            key: linear(WIDTH, WIDTH),
            value: linear(WIDTH, WIDTH),
            output: linear(WIDTH, WIDTH),
            attention_norm: RmsNormConfig::new(WIDTH).init(device),
            gate: SwiGluConfig::new(WIDTH, 3 * WIDTH).init(device),
            down: linear(3 * WIDTH, WIDTH),
            feed_forward_norm: RmsNormConfig::new(WIDTH).init(device),
        }
    }

    fn forward(&self, x: Tensor<3>, rotary: &RotaryEncoding) -> Tensor<3> {
        let [batch, length, _] = x.dims();
        let split = |x: Tensor<3>| {
            x.reshape([batch, length, HEADS, WIDTH / HEADS])
                .swap_dims(1, 2)
        };
        let normed = self.attention_norm.forward(x.clone());
        let query = rotary.forward(split(self.query.forward(normed.clone())));
        let key = rotary.forward(split(self.key.forward(normed.clone())));
        let value = split(self.value.forward(normed));
        let scores = query.matmul(key.transpose()) / ((WIDTH / HEADS) as f64).sqrt();
        let mask = Tensor::<2, Int>::ones([length, length], &scores.device())
            .triu(1)
            .bool()
            .unsqueeze();
        let context = softmax(scores.mask_fill(mask, f32::NEG_INFINITY), 3).matmul(value);
        let context = context.swap_dims(1, 2).reshape([batch, length, WIDTH]);
        let x = x + self.output.forward(context);
        let normed = self.feed_forward_norm.forward(x.clone());
        x + self.down.forward(self.gate.forward(normed))
    }
}

impl Decoder {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        Self {
            embed: EmbeddingConfig::new(2000, WIDTH).init(device),
            rotary: RotaryEncodingConfig::new(256, WIDTH / HEADS).init(device),
            layers: (0..3).map(|_| DecoderLayer::new(device)).collect(),
            head: LinearConfig::new(WIDTH, 2000).with_bias(false).init(device),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let tokens = Tensor::<2, Int>::ones([batch, 128], device);
        let mut x = self.embed.forward(tokens);
        for layer in &self.layers {
            x = layer.forward(x, &self.rotary);
        }
        self.head.forward(x).powi_scalar(2).mean()
    }
}

/// A long short-term memory.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Recurrent {
    lstm: Lstm,
    head: Linear,
}

impl Recurrent {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        Self {
            lstm: LstmConfig::new(128, 256, true).init(device),
            head: LinearConfig::new(256, 16).init(device),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let input = Tensor::<3>::ones([batch, 40, 128], device);
        let (hidden, _) = self.lstm.forward(input, None);
        self.head.forward(hidden).powi_scalar(2).mean()
    }
}

/// Down, across and up again, with what was on the way down beside it.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct UNet {
    down: Vec<Conv2d>,
    norms: Vec<GroupNorm>,
    pool: MaxPool2d,
    up: Vec<ConvTranspose2d>,
    merge: Vec<Conv2d>,
    head: Conv2d,
}

impl UNet {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        let conv = |from, to| {
            Conv2dConfig::new([from, to], [3, 3])
                .with_padding(PaddingConfig2d::Same)
                .init(device)
        };
        let up = |from, to| {
            ConvTranspose2dConfig::new([from, to], [2, 2])
                .with_stride([2, 2])
                .init(device)
        };
        let norm = |channels| GroupNormConfig::new(4, channels).init(device);
        Self {
            down: vec![conv(1, 16), conv(16, 32), conv(32, 64)],
            norms: vec![norm(16), norm(32), norm(64)],
            pool: MaxPool2dConfig::new([2, 2]).with_strides([2, 2]).init(),
            up: vec![up(64, 32), up(32, 16)],
            merge: vec![conv(64, 32), conv(32, 16)],
            head: Conv2dConfig::new([16, 2], [1, 1]).init(device),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let mut x = Tensor::<4>::ones([batch, 1, 96, 96], device);
        let mut beside = Vec::new();
        for (i, (conv, norm)) in self.down.iter().zip(&self.norms).enumerate() {
            if i > 0 {
                beside.push(x.clone());
                x = self.pool.forward(x);
            }
            x = gelu(norm.forward(conv.forward(x)));
        }
        for (up, merge) in self.up.iter().zip(&self.merge) {
            let other = beside.pop().expect("one for each step down");
            x = relu(merge.forward(Tensor::cat(vec![up.forward(x), other], 1)));
        }
        self.head.forward(x).powi_scalar(2).mean()
    }
}

/// Convolutions in one dimension that see ever farther, with gates: as WaveNet has them.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct WaveNet {
    first: Conv1d,
    layers: Vec<WaveLayer>,
    head: Conv1d,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct WaveLayer {
    gate: Conv1d,
    filter: Conv1d,
    residual: Conv1d,
    skip: Conv1d,
}

impl WaveNet {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        let conv = |from, to, kernel: usize, dilation: usize| {
            // As long as the input; Burn's `Same` does not see the dilation.
            let padding = dilation * (kernel - 1) / 2;
            Conv1dConfig::new(from, to, kernel)
                .with_dilation(dilation)
                .with_padding(PaddingConfig1d::Explicit(padding, padding))
                .init(device)
        };
        let layer = |depth: usize| WaveLayer {
            gate: conv(48, 48, 3, 1_usize << depth),
            filter: conv(48, 48, 3, 1_usize << depth),
            residual: conv(48, 48, 1, 1),
            skip: conv(48, 96, 1, 1),
        };
        Self {
            first: conv(1, 48, 1, 1),
            layers: (0..5).map(layer).collect(),
            head: conv(96, 256, 1, 1),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let mut x = self
            .first
            .forward(Tensor::<3>::ones([batch, 1, 2000], device));
        let mut skips: Option<Tensor<3>> = None;
        for layer in &self.layers {
            let gate = sigmoid(layer.gate.forward(x.clone()));
            let gated = layer.filter.forward(x.clone()).tanh() * gate;
            let skip = layer.skip.forward(gated.clone());
            skips = Some(match skips {
                Some(skips) => skips + skip,
                None => skip,
            });
            x = x + layer.residual.forward(gated);
        }
        let skips = relu(skips.expect("there are layers"));
        self.head.forward(skips).powi_scalar(2).mean()
    }
}

/// all-MiniLM-L6-v2 with its real sizes, on sentences of 64 tokens.
#[derive(Module, Materialize, ResetParameters, Debug)]
pub struct Sentences {
    model: MiniLm,
}

impl Sentences {
    /// Build it on `device`.
    pub fn new(device: &Device) -> Self {
        let config = json!({
            "vocab_size": 30_522,
            "hidden_size": 384,
            "num_hidden_layers": 6,
            "num_attention_heads": 12,
            "intermediate_size": 1536,
            "max_position_embeddings": 512,
            "type_vocab_size": 2,
            "layer_norm_eps": 1e-12,
            "hidden_dropout_prob": 0.1,
            "model_type": "bert",
            "hidden_act": "gelu",
        });
        let config: BertConfig = serde_json::from_value(config).expect("all fields are there");
        Self {
            model: MiniLm::new(&config, device),
        }
    }

    /// A loss without a sense, of a batch of as many.
    pub fn loss(&self, device: &Device, batch: usize) -> Tensor<1> {
        let sentences: Vec<Vec<i64>> = (0..batch as i64).map(|n| (n..n + 64).collect()).collect();
        let batch = Batch::of_ids(&sentences);
        self.model.embed(&batch, device).mean()
    }
}
