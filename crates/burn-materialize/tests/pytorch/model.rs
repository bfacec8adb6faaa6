//! A model of several layers with ties, in each of PyTorch's containers.

use burn::module::Module;
use burn::nn::conv::{Conv1d, Conv1dConfig};
use burn::nn::{
    BatchNorm, BatchNormConfig, Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear,
    LinearConfig, Lstm, LstmConfig, PaddingConfig1d,
};
use burn::tensor::activation::relu;
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{Layout, Materialize, ResetParameters, SaveOptions, Weights, save};
use burn_weights::Checkpoint;

use crate::{assert_output, assert_same, golden, ints, load};

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Model {
    embedding: Embedding,
    first: Linear,
    conv: (Conv1d, BatchNorm),
    second: Linear,
    rnn: Vec<Lstm>,
    norm: LayerNorm,
    down: Linear,
}

impl Model {
    fn new(device: &Device) -> Self {
        let first = LinearConfig::new(4, 4).init(device);
        let conv = Conv1dConfig::new(4, 4, 3).with_padding(PaddingConfig1d::Explicit(1, 1));
        Self {
            embedding: EmbeddingConfig::new(9, 4).init(device),
            second: first.clone(),
            first,
            conv: (conv.init(device), BatchNormConfig::new(4).init(device)),
            rnn: [4, 6]
                .map(|width| LstmConfig::new(width, 6, true).init(device))
                .into(),
            norm: LayerNormConfig::new(6).init(device),
            down: LinearConfig::new(6, 4).with_bias(false).init(device),
        }
    }

    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let x = relu(self.first.forward(self.embedding.forward(tokens)));
        let x = self.conv.1.forward(self.conv.0.forward(x.swap_dims(1, 2)));
        let x = self.second.forward(x.swap_dims(1, 2));
        let x = self.rnn.iter().fold(x, |x, level| level.forward(x, None).0);
        let x = self.down.forward(self.norm.forward(x));
        // PyTorch's output layer shares the embedding's matrix as it is; Burn's linear layer holds
        // the transposed one, so that a tie has to be a use of the one matrix.
        x.matmul(self.embedding.weight.val().transpose().unsqueeze())
    }
}

#[test]
fn a_model_from_every_container() {
    let mut values = None;
    for file in [
        "model.safetensors",
        "model.pt",
        "model.pth",
        "pytorch_model.bin.index.json",
    ] {
        let weights = Weights::open(golden(file)).unwrap();
        // Where the file is of a larger object, its key comes first.
        let weights = weights.strip_prefix("state_dict.");
        let weights = weights.allow_unexpected("output.weight").unwrap();
        let (model, report) = load(&weights, Model::new);
        assert!(
            report.is_accepted() && report.missing.is_empty(),
            "{report}"
        );
        assert_eq!(report.ignored, ["conv.1.num_batches_tracked"], "{file}");
        assert_eq!(model.first.weight.id, model.second.weight.id);
        assert_output("model", model.forward(ints("model.input0")));
        let found = crate::common::values(&model);
        assert_eq!(
            *values.get_or_insert_with(|| found.clone()),
            found,
            "{file}"
        );
    }
}

#[test]
fn a_tie_is_saved_once_with_its_other_name() {
    let weights = Weights::open(golden("model.safetensors")).unwrap();
    let (model, _) = load(&weights, Model::new);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.safetensors");
    let options = SaveOptions::new().layout(Layout::PyTorch);
    let written = save(&model, path, &options).unwrap();
    let saved = Checkpoint::open(&written.path).unwrap();
    assert_same("model", &saved, weights.checkpoint());
    let mut ties: Vec<_> = weights.checkpoint().ties().collect();
    // Which no module here has.
    ties.retain(|(other, _)| *other != "output.weight");
    assert_eq!(saved.ties().collect::<Vec<_>>(), ties);
}
