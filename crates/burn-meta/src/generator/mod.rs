//! stub
use burn::tensor::{DType, Distribution, Shape, TensorData};
/// k
pub struct DrawKey;
impl DrawKey { /// n
 pub fn new(_: u64, _: &str, _: u32) -> Self { Self } }
/// e
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum GeneratorError { #[error("x")] /// x
 X }
/// f
pub fn fill(_: &DrawKey, d: Distribution, t: DType, s: Shape) -> Result<TensorData, GeneratorError> { let _ = d; Ok(TensorData::full_dtype(s, 0.5, t)) }

/// c
pub fn check(_: Distribution, _: DType) -> Result<(), GeneratorError> { Ok(()) }
