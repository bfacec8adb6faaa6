//! One model of every kind of layer that has tensors, on every device.

use burn::module::Initializer;
use burn::module::Module;
use burn::nn::attention::{
    CrossAttention, CrossAttentionConfig, MultiHeadAttention, MultiHeadAttentionConfig,
};
use burn::nn::conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig, ConvTranspose1d,
    ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig, ConvTranspose3d,
    ConvTranspose3dConfig, DeformConv2d, DeformConv2dConfig,
};
use burn::nn::loss::{
    BinaryCrossEntropyLoss, BinaryCrossEntropyLossConfig, CrossEntropyLoss, CrossEntropyLossConfig,
};
use burn::nn::transformer::{
    PositionWiseFeedForward, PositionWiseFeedForwardConfig, TransformerDecoder,
    TransformerDecoderConfig, TransformerEncoder, TransformerEncoderConfig,
};
use burn::nn::{
    BatchNorm, BatchNormConfig, BiGru, BiGruConfig, BiLstm, BiLstmConfig, BiRnn, BiRnnConfig,
    Embedding, EmbeddingConfig, GroupNorm, GroupNormConfig, Gru, GruConfig, InstanceNorm,
    InstanceNormConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig, LinearLayout, Lstm,
    LstmConfig, PRelu, PReluConfig, PositionalEncoding, PositionalEncodingConfig, RmsNorm,
    RmsNormConfig, Rnn, RnnConfig, RotaryEncoding, RotaryEncodingConfig, SwiGlu, SwiGluConfig,
};
use burn::tensor::{Device, FloatDType};
use burn_materialize::{Materialize, ResetParameters};

use crate::support::same::check_same_on_flex;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Everything {
    linear: Linear,
    column: Linear,
    orthogonal: Linear,
    embedding: Embedding,
    conv1d: Conv1d,
    conv2d: Conv2d,
    conv3d: Conv3d,
    transpose1d: ConvTranspose1d,
    transpose2d: ConvTranspose2d,
    transpose3d: ConvTranspose3d,
    deform: DeformConv2d,
    batch_norm: BatchNorm,
    group_norm: GroupNorm,
    instance_norm: InstanceNorm,
    layer_norm: LayerNorm,
    rms_norm: RmsNorm,
    p_relu: PRelu,
    swi_glu: SwiGlu,
    attention: MultiHeadAttention,
    cross: CrossAttention,
    rnn: Rnn,
    bi_rnn: BiRnn,
    gru: Gru,
    bi_gru: BiGru,
    lstm: Lstm,
    bi_lstm: BiLstm,
    feed_forward: PositionWiseFeedForward,
    encoder: TransformerEncoder,
    decoder: TransformerDecoder,
    positions: PositionalEncoding,
    rotary: RotaryEncoding,
    cross_entropy: CrossEntropyLoss,
    binary: BinaryCrossEntropyLoss,
}

impl Everything {
    fn new(device: &Device) -> Self {
        let linear = LinearConfig::new(60, 40);
        let orthogonal = Initializer::Orthogonal { gain: 1.5 };
        let weights = vec![0.1, 0.7, 0.2];
        Self {
            column: linear.clone().with_layout(LinearLayout::Col).init(device),
            orthogonal: LinearConfig::new(20, 30)
                .with_bias(false)
                .with_initializer(orthogonal)
                .init(device),
            linear: linear.init(device),
            embedding: EmbeddingConfig::new(50, 22).init(device),
            conv1d: Conv1dConfig::new(6, 4, 9).with_groups(2).init(device),
            conv2d: Conv2dConfig::new([6, 4], [3, 4]).init(device),
            conv3d: Conv3dConfig::new([4, 6], [3, 2, 4]).init(device),
            transpose1d: ConvTranspose1dConfig::new([6, 4], 9).init(device),
            transpose2d: ConvTranspose2dConfig::new([6, 4], [3, 4]).init(device),
            transpose3d: ConvTranspose3dConfig::new([4, 6], [3, 2, 4]).init(device),
            deform: DeformConv2dConfig::new([6, 4], [3, 4]).init(device),
            batch_norm: BatchNormConfig::new(12).init(device),
            group_norm: GroupNormConfig::new(3, 12).init(device),
            instance_norm: InstanceNormConfig::new(12).init(device),
            layer_norm: LayerNormConfig::new(12).init(device),
            rms_norm: RmsNormConfig::new(12).init(device),
            p_relu: PReluConfig::new().with_num_parameters(12).init(device),
            swi_glu: SwiGluConfig::new(16, 7).with_bias(true).init(device),
            attention: MultiHeadAttentionConfig::new(24, 4).init(device),
            cross: CrossAttentionConfig::new(13, 11, 6, 3, 4).init(device),
            rnn: RnnConfig::new(10, 14, true).init(device),
            bi_rnn: BiRnnConfig::new(10, 14, true).init(device),
            gru: GruConfig::new(10, 14, true).init(device),
            bi_gru: BiGruConfig::new(10, 14, true).init(device),
            lstm: LstmConfig::new(10, 14, true).init(device),
            bi_lstm: BiLstmConfig::new(10, 14, true).init(device),
            feed_forward: PositionWiseFeedForwardConfig::new(12, 20).init(device),
            encoder: TransformerEncoderConfig::new(12, 20, 4, 2).init(device),
            decoder: TransformerDecoderConfig::new(12, 20, 4, 2).init(device),
            positions: PositionalEncodingConfig::new(16).init(device),
            rotary: RotaryEncodingConfig::new(50, 16).init(device),
            cross_entropy: CrossEntropyLossConfig::new()
                .with_weights(Some(weights.clone()))
                .init(device),
            binary: BinaryCrossEntropyLossConfig::new()
                .with_weights(Some(weights))
                .init(device),
        }
    }
}

#[test]
fn every_kind_of_layer_has_the_same_weights_on_every_device_in_every_float_dtype() {
    let checked = check_same_on_flex(Everything::new);
    let (first, wide) = &checked[0];
    assert_eq!(*first, FloatDType::F32);
    for (dtype, narrow) in &checked[1..] {
        let drawn = [
            "linear.weight",
            "embedding.weight",
            "conv2d.weight",
            "lstm.input_gate",
        ];
        let mut compared = 0;
        for (wide, narrow) in wide.leaves.iter().zip(&narrow.leaves) {
            if drawn.iter().any(|start| wide.path.starts_with(start)) {
                let rounded = wide.data.clone().convert_dtype((*dtype).into());
                assert_eq!(rounded, narrow.data, "{}", wide.path);
                compared += 1;
            }
        }
        assert!(compared > drawn.len(), "{compared}");
    }
}
