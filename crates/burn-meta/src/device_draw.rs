//! Random draws by a device's own generator.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::backend::Dispatch;
use burn::backend::ops::{FloatTensorOps, IntTensorOps};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device};

use crate::error::RecipeError;
use crate::recipe::{Recipe, random_of};
use crate::record::panic_text;

impl Recipe<'_> {
    /// Let the device's own generator make the tensor, where the recipe is one random draw; `None`
    /// where it is anything else.
    ///
    /// Nothing is filled on the host or moved. The values are the device's own: they follow from
    /// `Device::seed` and from everything drawn since, in all threads.
    ///
    /// # Errors
    /// [`RecipeError::Kernel`] when Burn panics, which it does for a distribution that the device
    /// does not have.
    pub fn draw_on_device(
        &self,
        dtype: DType,
        device: &Device,
    ) -> Option<Result<BridgeTensor, RecipeError>> {
        let &[(scope, index)] = self.steps.as_slice() else {
            return None;
        };
        let random = random_of(self.recording.operation(scope, index))?;
        let (shape, distribution) = (self.shape().clone(), random.distribution);
        let device = device.clone().without_autodiff();
        let draw = AssertUnwindSafe(|| {
            let device = device.as_dispatch();
            if dtype.is_float() {
                BridgeTensor::float(Dispatch::float_random(
                    shape,
                    distribution,
                    device,
                    dtype.into(),
                ))
            } else {
                BridgeTensor::int(Dispatch::int_random(
                    shape,
                    distribution,
                    device,
                    dtype.into(),
                ))
            }
        });
        Some(catch_unwind(draw).map_err(|panic| RecipeError::Kernel {
            message: panic_text(&*panic).unwrap_or_else(|| "no message".to_owned()),
        }))
    }
}
