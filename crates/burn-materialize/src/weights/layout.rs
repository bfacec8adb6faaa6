//! How a file names and holds the tensors of a module.

use burn_weights::{Checkpoint, CheckpointError, Format};

use super::matching::{Leaf, Names};

/// The metadata under which this crate notes the layout it saved in.
pub(crate) const LAYOUT_KEY: &str = "burn-fabric.layout";

/// How a file names and holds the tensors of a module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// As Burn's own stores: the module's paths, the weight of a linear layer `[in, out]`.
    Burn,
    /// As `torch.nn`: the weight of a linear layer `[out, in]`, `weight` and `bias` for the `gamma`
    /// and `beta` of every norm, the projections of an attention and the gates of a recurrent layer
    /// packed in one tensor, a list of recurrent layers one layer of as many levels, no variant of an
    /// enum in a name.
    PyTorch,
    /// Whichever the file shows: by what this crate noted when it saved it, else by the shapes of
    /// linear weights that are not square and names that only `torch.nn` has, the format, the names
    /// of norms, what other writers noted.
    /// Refused where linear weights are square and nothing else tells.
    #[default]
    Auto,
}

impl Layout {
    pub(crate) fn key(self) -> &'static str {
        match self {
            Self::Burn => "burn",
            Self::PyTorch => "pytorch",
            Self::Auto => "auto",
        }
    }
}

impl std::fmt::Display for Layout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Burn => "Burn",
            Self::PyTorch => "PyTorch",
            Self::Auto => "neither framework for certain",
        })
    }
}

/// What a file shows, or none where it shows nothing and it matters.
pub(crate) fn tell(
    checkpoint: &Checkpoint,
    names: &Names,
    leaves: &[Leaf],
) -> Result<Option<Layout>, CheckpointError> {
    let metadata = checkpoint.metadata();
    for layout in [Layout::Burn, Layout::PyTorch] {
        if metadata
            .get(LAYOUT_KEY)
            .is_some_and(|noted| noted == layout.key())
        {
            return Ok(Some(layout));
        }
    }
    let [mut burn, mut torch, mut undecided, mut gamma, mut weight] = [0_usize; 5];
    for leaf in leaves {
        if let Some(torch) = leaf.lineage.norm_name() {
            for candidate in leaf.lineage.candidates(Layout::Burn, 1) {
                if names.original(&candidate.name).is_some() {
                    if candidate.name.rsplit('.').next() == Some(torch) {
                        weight += 1;
                    } else if !leaf.lineage.is_instance_norm() {
                        // Burn's own store leaves an instance norm its names whatever else it makes
                        // PyTorch's.
                        gamma += 1;
                    }
                }
            }
        }
        // A column layout makes Burn's file hold what PyTorch's does.
        let [rows, columns] = leaf.entry.shape.as_slice() else {
            continue;
        };
        if !leaf.lineage.is_linear_weight() || leaf.stored.is_some() {
            continue;
        }
        let original = |layout| {
            let mut candidates = leaf.lineage.candidates(layout, 2).into_iter();
            candidates.find_map(|candidate| names.original(&candidate.name))
        };
        let Some(original) = original(Layout::Burn) else {
            // Only `torch.nn` has the others' names.
            torch += usize::from(original(Layout::PyTorch).is_some());
            continue;
        };
        let shape = checkpoint.tensor(original)?.shape;
        match shape.as_slice() {
            [a, b] if a == rows && b == columns && rows != columns => burn += 1,
            [a, b] if a == columns && b == rows && rows != columns => torch += 1,
            _ => undecided += 1,
        }
    }
    Ok(match (burn, torch) {
        (1.., 0) => Some(Layout::Burn),
        (0, 1..) => Some(Layout::PyTorch),
        (1.., 1..) => None,
        (0, 0) => match checkpoint.format()? {
            Format::PyTorch => Some(Layout::PyTorch),
            Format::Burnpack => Some(Layout::Burn),
            Format::Safetensors => {
                let noted = |key: &str, text: &str| metadata.get(key).is_some_and(|is| is == text);
                match (gamma, weight) {
                    (0, 1..) => Some(Layout::PyTorch),
                    (1.., 0) if !noted("format", "pt") => Some(Layout::Burn),
                    _ if noted("format", "pt") => Some(Layout::PyTorch),
                    // No linear weight is there that could be taken the wrong way.
                    _ if undecided == 0 => Some(Layout::PyTorch),
                    _ => None,
                }
            }
        },
    })
}
