//! Convolutions.
//!
//! Stride, dilation and padding do not change an initial value; channels, kernel and groups do, and
//! the weight's shape says the first two.

use burn::nn::conv::{
    Conv1d, Conv1dConfig, Conv2d, Conv2dConfig, Conv3d, Conv3dConfig, ConvTranspose1d,
    ConvTranspose1dConfig, ConvTranspose2d, ConvTranspose2dConfig, ConvTranspose3d,
    ConvTranspose3dConfig, DeformConv2d, DeformConv2dConfig,
};

use super::fields;
use crate::{InitPlan, ResetParameters};

fields! {
    Conv1d { weight, bias }
    Conv2d { weight, bias }
    Conv3d { weight, bias }
    ConvTranspose1d { weight, bias }
    ConvTranspose2d { weight, bias }
    ConvTranspose3d { weight, bias }
    DeformConv2d { weight, bias }
}

/// Rebuild a convolution: the pattern names the dimensions of its weight, the rest its
/// configuration.
macro_rules! convolution {
    ($module:ident, $self:ident, [$($dim:ident),+] => $config:expr) => {
        impl ResetParameters for $module {
            fn reset_parameters(&$self, plan: &mut InitPlan<'_>) {
                let [$($dim),+] = $self.weight.lazy_shape().dims();
                let config = $config.with_bias($self.bias.is_some());
                plan.layer(config.initializer.clone(), |device, initializer| {
                    config.with_initializer(initializer).init(device)
                });
            }
        }
    };
}

convolution!(Conv1d, self, [c_out, c_in, k] => {
    Conv1dConfig::new(c_in * self.groups, c_out, k).with_groups(self.groups)
});
convolution!(Conv2d, self, [c_out, c_in, h, w] => {
    Conv2dConfig::new([c_in * self.groups, c_out], [h, w]).with_groups(self.groups)
});
convolution!(Conv3d, self, [c_out, c_in, d, h, w] => {
    Conv3dConfig::new([c_in * self.groups, c_out], [d, h, w]).with_groups(self.groups)
});
convolution!(ConvTranspose1d, self, [c_in, c_out, k] => {
    ConvTranspose1dConfig::new([c_in, c_out * self.groups], k).with_groups(self.groups)
});
convolution!(ConvTranspose2d, self, [c_in, c_out, h, w] => {
    ConvTranspose2dConfig::new([c_in, c_out * self.groups], [h, w]).with_groups(self.groups)
});
convolution!(ConvTranspose3d, self, [c_in, c_out, d, h, w] => {
    ConvTranspose3dConfig::new([c_in, c_out * self.groups], [d, h, w]).with_groups(self.groups)
});
convolution!(DeformConv2d, self, [c_out, c_in, h, w] => {
    DeformConv2dConfig::new([c_in * self.weight_groups, c_out], [h, w])
        .with_weight_groups(self.weight_groups)
});
