//! What would help.

use burn_materialize::ByteCount;
use serde::{Deserialize, Serialize};

use super::planner::Setting;
use crate::precision::Precision;

/// Something to do otherwise, and what it saves: traced like the plan itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Help {
    /// One thing, or several that are done together.
    pub changes: Vec<Change>,
    /// How many bytes of the peak it saves.
    pub saves: u64,
    /// The peak that is left.
    pub peak: u64,
    /// Whether that fits.
    pub fits: bool,
}

/// One thing to do otherwise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Compute activations again instead of keeping them.
    GradientCheckpointing,
    /// Keep and compute in another precision.
    Precision(Precision),
    /// A smaller batch.
    Batch(usize),
    /// A smaller batch, and a step for the gradients of several of them.
    Accumulate {
        /// Each batch.
        batch: usize,
        /// How many of them a step is taken of.
        accumulate: usize,
    },
    /// An optimizer that remembers hardly anything: Adafactor, of a matrix a row and a column.
    Adafactor,
}

impl std::fmt::Display for Change {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::GradientCheckpointing => f.pad("gradient checkpointing"),
            Self::Precision(precision) => write!(f, "precision {precision}"),
            Self::Batch(batch) => write!(f, "a batch of {batch}"),
            Self::Accumulate { batch, accumulate } => {
                write!(f, "a batch of {batch}, {accumulate} a step")
            }
            Self::Adafactor => f.pad("Adafactor"),
        }
    }
}

impl std::fmt::Display for Help {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let changes: Vec<String> = self.changes.iter().map(Change::to_string).collect();
        write!(
            f,
            "{} saves {}",
            changes.join(" and "),
            ByteCount(self.saves)
        )
    }
}

impl Change {
    fn make(&self, setting: Setting) -> Setting {
        match *self {
            Self::GradientCheckpointing => Setting {
                gradient_checkpointing: true,
                ..setting
            },
            Self::Precision(precision) => Setting {
                precision: Some(precision),
                ..setting
            },
            Self::Batch(batch) => Setting { batch, ..setting },
            Self::Accumulate { batch, accumulate } => Setting {
                batch,
                accumulate,
                ..setting
            },
            Self::Adafactor => Setting {
                frugal_optimizer: true,
                ..setting
            },
        }
    }

    /// Whether two changes are of one thing.
    fn is_like(&self, other: &Self) -> bool {
        std::mem::discriminant(self) == std::mem::discriminant(other)
    }
}

/// What could be done otherwise in a setting, one thing at a time.
pub(super) fn helps(
    setting: Setting,
    is_in_f32: bool,
    is_training: bool,
) -> Vec<(Vec<Change>, Setting)> {
    let mut changes = Vec::new();
    if is_in_f32 {
        changes.push(Change::Precision(Precision::Bf16));
    }
    let half = setting.batch.div_ceil(2);
    if is_training {
        if is_in_f32 {
            changes.push(Change::Precision(Precision::MixedBf16));
        }
        if setting.precision == Some(Precision::MixedBf16) {
            changes.push(Change::Precision(Precision::Bf16));
        }
        if !setting.gradient_checkpointing {
            changes.push(Change::GradientCheckpointing);
        }
        if half < setting.batch {
            let accumulate = 2 * setting.accumulate;
            let batch = half;
            changes.push(Change::Accumulate { batch, accumulate });
        }
        changes.push(Change::Adafactor);
    } else if half < setting.batch {
        changes.push(Change::Batch(half));
    }
    let each = changes.into_iter();
    each.map(|change| {
        let changed = change.make(setting);
        (vec![change], changed)
    })
    .collect()
}

/// All that helps, each thing in the way that helps most, where one alone is not enough.
pub(super) fn together(setting: Setting, helps: &[Help]) -> Option<(Vec<Change>, Setting)> {
    if helps.iter().any(|help| help.fits) {
        return None;
    }
    let mut changes: Vec<Change> = Vec::new();
    for change in helps.iter().flat_map(|help| &help.changes) {
        if !changes.iter().any(|other| other.is_like(change)) {
            changes.push(change.clone());
        }
    }
    let changed = changes
        .iter()
        .fold(setting, |setting, change| change.make(setting));
    (changes.len() > 1).then_some((changes, changed))
}
