//! What names and shapes tell of layers, for `--layout`.

use std::collections::BTreeMap;

use burn_weights::TensorInfo;

use crate::arguments::{Convert, Layout};
use crate::source::is_chosen;

/// What becomes of one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Decision {
    /// It is the same in both.
    Keep,
    /// The other one has no such thing.
    Drop,
    /// The last word of its name is another.
    Rename(&'static str),
    /// It is the weight of a linear layer.
    Transpose,
    /// It is kept, and may have to be something else.
    Doubtful,
    /// A linear layer or an embedding: whoever asks has to say.
    Undecided,
}

/// Decides for a layout from what there is beside a tensor.
pub struct Decider<'a> {
    pub layout: Layout,
    pub all: &'a BTreeMap<&'a str, &'a TensorInfo>,
    pub arguments: &'a Convert,
}

impl Decider<'_> {
    pub fn decide(&self, name: &str, shape: &[usize]) -> Decision {
        let (module, last) = match name.rfind('.') {
            Some(dot) => name.split_at(dot + 1),
            None => ("", name),
        };
        let sibling = |last: &str| {
            let info = self.all.get(format!("{module}{last}").as_str());
            info.map(|info| info.shape.as_slice())
        };
        let from_pytorch = self.layout == Layout::PytorchToBurn;
        match (last, shape) {
            ("weight", &[outputs, inputs]) => {
                let outputs = if from_pytorch { outputs } else { inputs };
                self.matrix(name, sibling("bias") == Some(&[outputs]))
            }
            ("num_batches_tracked", _) if from_pytorch => Decision::Drop,
            ("weight", [_]) if from_pytorch => match sibling("bias") == Some(shape) {
                true => Decision::Rename("gamma"),
                false => Decision::Doubtful,
            },
            ("bias", [_]) if from_pytorch && sibling("weight") == Some(shape) => {
                Decision::Rename("beta")
            }
            ("gamma", [_]) if !from_pytorch => Decision::Rename("weight"),
            ("beta", [_]) if !from_pytorch => Decision::Rename("bias"),
            (_, [_, _]) => Decision::Doubtful,
            _ => Decision::Keep,
        }
    }

    /// A `weight` of two dimensions. An embedding has no bias.
    fn matrix(&self, name: &str, has_bias: bool) -> Decision {
        let embeddings = &self.arguments.embedding;
        let is_told = !embeddings.is_empty();
        if is_told && is_chosen(name, embeddings) {
            Decision::Keep
        } else if has_bias || is_told || self.arguments.no_embedding {
            Decision::Transpose
        } else {
            Decision::Undecided
        }
    }
}

/// A name with another last word.
pub fn with_last(name: &str, last: &str) -> String {
    match name.rfind('.') {
        Some(dot) => format!("{}.{last}", &name[..dot]),
        None => last.to_owned(),
    }
}
