use burn::nn::conv::{
    Conv1dConfig, Conv2dConfig, Conv3dConfig, ConvTranspose1dConfig, ConvTranspose2dConfig,
    ConvTranspose3dConfig, DeformConv2dConfig,
};

use crate::support::{FAN_IN, FANS, NO_FANS, check, check_initializers, flat, input};

/// Two configurations of one convolution, with a bias and without; groups, where it has them,
/// change the fans.
macro_rules! convolution {
    ($test:ident, $config:expr, $initializers:expr, $input:expr) => {
        #[test]
        fn $test() {
            for bias in [true, false] {
                let config = $config.with_bias(bias);
                check(
                    |device| config.init(device),
                    |convolution, device| flat(convolution.forward(input($input, device))),
                );
                for initializers in $initializers(bias) {
                    check_initializers(initializers, |device, initializer| {
                        config.clone().with_initializer(initializer).init(device)
                    });
                }
            }
        }
    };
}

convolution!(
    module_conv1d,
    Conv1dConfig::new(60, 40, 9).with_groups(2),
    // The bias has no fan out.
    |bias| if bias {
        vec![NO_FANS, FAN_IN]
    } else {
        vec![NO_FANS, FAN_IN, FANS]
    },
    [2, 60, 11]
);
convolution!(
    module_conv2d,
    Conv2dConfig::new([60, 40], [3, 4])
        .with_groups(2)
        .with_stride([2, 1]),
    |_| [NO_FANS, FAN_IN, FANS],
    [2, 60, 5, 5]
);
convolution!(
    module_conv3d,
    Conv3dConfig::new([16, 60], [3, 2, 4]).with_groups(2),
    |_| [NO_FANS, FAN_IN, FANS],
    [1, 16, 4, 4, 4]
);
convolution!(
    module_conv_transpose1d,
    ConvTranspose1dConfig::new([60, 40], 9).with_groups(2),
    |_| [NO_FANS, FAN_IN],
    [2, 60, 3]
);
convolution!(
    module_conv_transpose2d,
    ConvTranspose2dConfig::new([60, 40], [3, 4]).with_groups(2),
    |_| [NO_FANS, FAN_IN],
    [1, 60, 3, 3]
);
convolution!(
    module_conv_transpose3d,
    ConvTranspose3dConfig::new([16, 60], [3, 2, 4]).with_groups(2),
    |_| [NO_FANS, FAN_IN],
    [1, 16, 2, 2, 2]
);

#[test]
fn module_deform_conv2d() {
    for bias in [true, false] {
        let config = DeformConv2dConfig::new([60, 40], [3, 4])
            .with_weight_groups(2)
            .with_offset_groups(3)
            .with_bias(bias);
        check(
            |device| config.init(device),
            |convolution, device| {
                let offset = input([1, 3 * 2 * 3 * 4, 3, 2], device);
                flat(convolution.forward(input([1, 60, 5, 5], device), offset, None))
            },
        );
        for initializers in [NO_FANS, FAN_IN, FANS] {
            check_initializers(initializers, |device, initializer| {
                config.clone().with_initializer(initializer).init(device)
            });
        }
    }
}
