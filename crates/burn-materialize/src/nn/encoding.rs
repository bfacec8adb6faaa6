//! Positional encodings: tables that a constructor computes.

use burn::nn::{PositionalEncoding, PositionalEncodingConfig, RotaryEncoding};

use super::fields;
use crate::{InitPlan, ResetParameters};

fields! {
    PositionalEncoding { sinusoids }
    RotaryEncoding { freq_complex, theta }
}

impl ResetParameters for PositionalEncoding {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let [_, _, d_model] = self.sinusoids.dims();
        let config = PositionalEncodingConfig::new(d_model)
            .with_max_sequence_size(self.max_sequence_size)
            .with_max_timescale(self.max_timescale);
        plan.fixed_layer(|device| config.init(device));
    }
}

/// The base of the frequencies and the function that scales them are not kept by the layer: what
/// was recorded, or what it holds, stands.
impl ResetParameters for RotaryEncoding {
    fn reset_parameters(&self, _plan: &mut InitPlan<'_>) {}
}
