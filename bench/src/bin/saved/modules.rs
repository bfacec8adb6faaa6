//! The modules that are saved.

use anyhow::Result;
use burn::module::Module;
use burn::nn::activation::ActivationConfig;
use burn::nn::attention::{CrossAttentionConfig, MhaInput, MultiHeadAttentionConfig};
use burn::nn::conv::{
    Conv1dConfig, Conv2dConfig, Conv3dConfig, ConvTranspose1dConfig, ConvTranspose2dConfig,
    ConvTranspose3dConfig,
};
use burn::nn::transformer::{
    TransformerDecoderConfig, TransformerDecoderInput, TransformerEncoderConfig,
    TransformerEncoderInput,
};
use burn::nn::{
    BatchNormConfig, BiGruConfig, BiLstm, BiLstmConfig, BiRnnConfig, GroupNormConfig, Gru,
    GruConfig, InstanceNormConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig, LinearLayout,
    Lstm, LstmConfig, PReluConfig, RmsNormConfig, Rnn, RnnConfig,
};
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, ResetParameters};

use crate::Check;

pub fn check(check: &mut Check) -> Result<()> {
    layers(check)?;
    norms(check)?;
    recurrent(check)?;
    attention(check)?;
    check.module("shared", [2, 5, 4], Shared::new, Shared::forward)
}

fn layers(check: &mut Check) -> Result<()> {
    let config = LinearConfig::new(5, 3);
    check.module("linear", [2, 5], |d| config.init(d), |m, x| m.forward(x))?;
    let config = LinearConfig::new(4, 4).with_layout(LinearLayout::Col);
    check.module(
        "linear-column",
        [2, 4],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = Conv1dConfig::new(2, 4, 3);
    check.module("conv1d", [2, 2, 7], |d| config.init(d), |m, x| m.forward(x))?;
    let config = Conv2dConfig::new([4, 6], [3, 2]).with_groups(2);
    check.module(
        "conv2d",
        [1, 4, 4, 5],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = Conv3dConfig::new([2, 3], [2; 3]);
    check.module(
        "conv3d",
        [1, 2, 3, 3, 4],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = ConvTranspose1dConfig::new([3, 2], 3);
    check.module(
        "conv-transpose1d",
        [2, 3, 4],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = ConvTranspose2dConfig::new([4, 6], [2, 3]).with_groups(2);
    check.module(
        "conv-transpose2d",
        [1, 4, 3, 4],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = ConvTranspose3dConfig::new([2, 3], [2; 3]);
    check.module(
        "conv-transpose3d",
        [1, 2, 3, 3, 2],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = PReluConfig::new().with_num_parameters(3);
    check.module("prelu", [2, 3, 4], |d| config.init(d), |m, x| m.forward(x))
}

fn norms(check: &mut Check) -> Result<()> {
    let config = BatchNormConfig::new(3);
    check.module(
        "batch-norm",
        [4, 3],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = GroupNormConfig::new(2, 4);
    check.module(
        "group-norm",
        [2, 4, 5],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = InstanceNormConfig::new(3);
    check.module(
        "instance-norm",
        [2, 3, 4, 5],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = LayerNormConfig::new(4);
    check.module(
        "layer-norm",
        [2, 3, 4],
        |d| config.init(d),
        |m, x| m.forward(x),
    )?;
    let config = RmsNormConfig::new(4);
    check.module(
        "rms-norm",
        [2, 3, 4],
        |d| config.init(d),
        |m, x| m.forward(x),
    )
}

fn recurrent(check: &mut Check) -> Result<()> {
    let shape = [2, 5, 3];
    let config = RnnConfig::new(3, 4, true);
    check.module(
        "rnn",
        shape,
        |d| config.init(d),
        |m, x| m.forward(x, None).0,
    )?;
    let levels = |d: &Device| [3, 4].map(|width| RnnConfig::new(width, 4, true).init(d));
    check.module("rnn-levels", shape, levels, |m, x| {
        m.iter().fold(x, |x, level: &Rnn| level.forward(x, None).0)
    })?;
    let config = BiRnnConfig::new(3, 4, true);
    check.module(
        "rnn-bidirectional",
        shape,
        |d| config.init(d),
        |m, x| m.forward(x, None).0,
    )?;
    let config = LstmConfig::new(3, 4, true);
    check.module(
        "lstm",
        shape,
        |d| config.init(d),
        |m, x| m.forward(x, None).0,
    )?;
    let levels = |d: &Device| {
        [3, 4]
            .map(|width| LstmConfig::new(width, 4, true).init(d))
            .to_vec()
    };
    check.module("lstm-levels", shape, levels, |m, x| {
        m.iter().fold(x, |x, level: &Lstm| level.forward(x, None).0)
    })?;
    let levels = |d: &Device| [3, 8].map(|width| BiLstmConfig::new(width, 4, true).init(d));
    check.module("lstm-bidirectional-levels", shape, levels, |m, x| {
        m.iter()
            .fold(x, |x, level: &BiLstm| level.forward(x, None).0)
    })?;
    let config = GruConfig::new(3, 4, true);
    check.module("gru", shape, |d| config.init(d), |m, x| m.forward(x, None))?;
    let levels = |d: &Device| [3, 4].map(|width| GruConfig::new(width, 4, false).init(d));
    check.module("gru-levels", shape, levels, |m, x| {
        m.iter().fold(x, |x, level: &Gru| level.forward(x, None))
    })?;
    let config = BiGruConfig::new(3, 4, true);
    check.module(
        "gru-bidirectional",
        shape,
        |d| config.init(d),
        |m, x| m.forward(x, None).0,
    )
}

fn attention(check: &mut Check) -> Result<()> {
    let config = MultiHeadAttentionConfig::new(6, 2);
    check.module(
        "attention",
        [2, 4, 6],
        |d| config.init(d),
        |m, x| m.forward(MhaInput::self_attn(x)).context,
    )?;
    let config = CrossAttentionConfig::new(6, 4, 2, 2, 3);
    check.module(
        "cross-attention",
        [2, 4, 6],
        |d| config.init(d),
        |m, x| m.forward(x.clone(), x.narrow(2, 0, 4), None),
    )?;
    for (kind, norm_first, activation) in [
        ("post", false, ActivationConfig::Gelu),
        ("pre", true, ActivationConfig::Relu),
    ] {
        let config = TransformerEncoderConfig::new(6, 8, 2, 2)
            .with_norm_first(norm_first)
            .with_activation(activation.clone());
        let name = format!("encoder-{kind}");
        check.module(
            &name,
            [2, 4, 6],
            |d| config.init(d),
            |m, x| m.forward(TransformerEncoderInput::new(x)),
        )?;
        let config = TransformerDecoderConfig::new(6, 8, 2, 2)
            .with_norm_first(norm_first)
            .with_activation(activation);
        let name = format!("decoder-{kind}");
        check.module(
            &name,
            [2, 4, 6],
            |d| config.init(d),
            |m, x| m.forward(TransformerDecoderInput::new(x.clone(), x)),
        )?;
    }
    Ok(())
}

/// A linear layer at two places of a list.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Shared {
    linear: Vec<Linear>,
    norm: LayerNorm,
    lstm: Vec<Lstm>,
}

impl Shared {
    fn new(device: &Device) -> Self {
        let first = LinearConfig::new(4, 4).init(device);
        Self {
            linear: vec![first.clone(), LinearConfig::new(6, 4).init(device), first],
            norm: LayerNormConfig::new(4).init(device),
            lstm: [4, 6]
                .map(|width| LstmConfig::new(width, 6, true).init(device))
                .to_vec(),
        }
    }

    fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        let x = self.norm.forward(self.linear[0].forward(x));
        let x = self
            .lstm
            .iter()
            .fold(x, |x, level| level.forward(x, None).0);
        self.linear[2].forward(self.linear[1].forward(x))
    }
}
