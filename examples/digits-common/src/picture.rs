//! The picture of a run.

use std::error::Error;
use std::path::Path;

use run_common::{Curve, draw_curves};

use crate::Epoch;

/// Draw the loss and the accuracies over the epochs into an SVG file.
pub(crate) fn draw(epochs: &[Epoch], path: &Path) -> Result<(), Box<dyn Error + Send + Sync>> {
    let of = |value: fn(&Epoch) -> f32| {
        let values = epochs.iter().map(value);
        values
            .zip(1_u16..)
            .map(|(value, epoch)| (f32::from(epoch), value))
    };
    draw_curves(
        &[Curve::training(of(|epoch| epoch.loss))],
        &[
            Curve::training(of(|epoch| epoch.train_accuracy)),
            Curve::test(of(|epoch| epoch.test_accuracy)),
        ],
        path,
    )
}
