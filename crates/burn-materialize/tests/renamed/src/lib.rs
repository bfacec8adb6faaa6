//! A module of a program that has Burn as `neural` and burn-materialize as `lazily`.

pub mod model {
    //! Burn's own derive names `burn`, so a renamed one is brought into scope under that name.

    use lazily::{Materialize, ResetParameters};
    use neural as burn;
    use neural::module::{Module, Param};
    use neural::nn::{Initializer, Linear, LinearConfig};
    use neural::tensor::{Device, Tensor};

    /// With what the derives write code for: an initialiser, a skipped tensor, generics.
    #[derive(Module, Materialize, ResetParameters, Debug)]
    pub struct Net<M: Module> {
        #[reset(initializer = Initializer::Zeros)]
        linear: Linear,
        scale: Param<Tensor<1>>,
        inner: Option<M>,
        #[module(skip)]
        mask: Tensor<2>,
    }

    impl Net<Linear> {
        /// Build it on `device`.
        pub fn new(device: &Device) -> Self {
            Self {
                linear: LinearConfig::new(3, 2).init(device),
                scale: Param::from_tensor(Tensor::ones([2], device)),
                inner: Some(LinearConfig::new(2, 2).init(device)),
                mask: Tensor::ones([2, 2], device),
            }
        }

        /// The sum of everything in it.
        pub fn sum(&self) -> f32 {
            let inner = self.inner.as_ref().map(|inner| inner.weight.val());
            let inner = inner.map_or(0.0, |weight| weight.mul_scalar(0.0).sum().into_scalar());
            self.linear.weight.val().sum().into_scalar::<f32>()
                + self.scale.val().sum().into_scalar::<f32>()
                + self.mask.clone().sum().into_scalar::<f32>()
                + inner
        }
    }
}

#[cfg(test)]
mod tests {
    use super::model::Net;
    use lazily::Meta;
    use neural::tensor::Device;

    #[test]
    fn a_renamed_burn_works() {
        let meta = Meta::build(Net::new).unwrap();
        assert_eq!(meta.inventory().len(), 6);
        assert_eq!(meta.materialize(&Device::flex()).unwrap().sum(), 6.0);
    }
}
