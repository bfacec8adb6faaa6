//! The values of one tensor of a file, on their way to a device.

use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device, Shape, TensorData};
use burn_meta::place_data;
use burn_weights::{Copied, Reading};

use super::report::narrows;
use super::{Progress, Weights};
use crate::error::MaterializeError;

/// A tensor of a file, checked against the module by the file's header.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct FileTensor {
    /// Its name in the file.
    pub(crate) name: String,
    pub(crate) dtype: DType,
    /// The shape of what is read: of the part, before a transposition.
    pub(crate) shape: Vec<usize>,
    /// The bytes that are read; all of them for the whole tensor.
    pub(crate) bytes: std::ops::Range<u64>,
    pub(crate) transposed: bool,
    /// Whether the parameter's own mapper for records makes the value of it.
    pub(crate) as_record: bool,
}

impl FileTensor {
    pub(crate) fn len(&self) -> u64 {
        self.bytes.end - self.bytes.start
    }
}

/// Reads tensors one by one and says how far it is.
pub(crate) struct Reader<'w> {
    pub(crate) weights: &'w Weights,
    pub(crate) progress: Progress,
}

impl Reader<'_> {
    /// Its bytes, as the file has them.
    pub(crate) fn data(
        &self,
        tensor: &FileTensor,
    ) -> Result<(TensorData, Option<Copied>), MaterializeError> {
        let Weights {
            checkpoint,
            reading,
            ..
        } = self.weights;
        let read = checkpoint.read(&tensor.name, Some(tensor.bytes.clone()), *reading)?;
        let shape = Shape::from(tensor.shape.clone());
        let data = TensorData::from_bytes(read.bytes, shape, tensor.dtype);
        Ok((data, read.copied))
    }

    /// Let the file's memory go of a tensor that is no view of it any more.
    pub(crate) fn release(&self, tensor: &FileTensor) -> Result<(), MaterializeError> {
        let part = Some(tensor.bytes.clone());
        Ok(self.weights.checkpoint.release(&tensor.name, part)?)
    }

    /// The tensor on `device` in `dtype`, and why it is a copy where it might be a view.
    pub(crate) fn tensor(
        &mut self,
        path: &str,
        tensor: &FileTensor,
        dtype: DType,
        device: &Device,
    ) -> Result<(BridgeTensor, Option<Copied>), MaterializeError> {
        let (data, copied) = self.data(tensor)?;
        if self.weights.require_finite
            && let Some(index) = first_not_finite(&data)
        {
            return Err(MaterializeError::NotFinite {
                path: path.to_owned(),
                name: tensor.name.clone(),
                index,
            });
        }
        if !dtype.is_float() && !dtype.is_bool() && narrows(tensor.dtype, dtype) {
            fits(path, &tensor.name, &data, dtype)?;
        }
        let placed = place_data(data, dtype, tensor.transposed, device);
        let placed = placed.map_err(|source| MaterializeError::Produce {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        self.progress.done += tensor.len();
        if let Some(report) = &self.weights.on_progress {
            report(self.progress);
        }
        let wanted = self.weights.reading == Reading::Map;
        Ok((placed, copied.filter(|_| wanted)))
    }
}

/// The first NaN or infinity.
fn first_not_finite(data: &TensorData) -> Option<usize> {
    match data.dtype() {
        DType::F32 => data
            .as_slice::<f32>()
            .ok()?
            .iter()
            .position(|x| !x.is_finite()),
        dtype if dtype.is_float() => data.iter::<f64>().position(|x| !x.is_finite()),
        _ => None,
    }
}

/// Ints that lose their upper bits would be other numbers.
fn fits(path: &str, name: &str, data: &TensorData, dtype: DType) -> Result<(), MaterializeError> {
    let is_unsigned = data.dtype().is_uint();
    let bits = dtype.size() as u32 * 8;
    let (least, most) = match dtype.is_uint() {
        true => (0, (1_i128 << bits) - 1),
        false => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
    };
    let value = match is_unsigned {
        true => data
            .iter::<u64>()
            .map(i128::from)
            .find(|x| *x < least || *x > most),
        false => data
            .iter::<i64>()
            .map(i128::from)
            .find(|x| *x < least || *x > most),
    };
    match value {
        None => Ok(()),
        Some(value) => Err(MaterializeError::TooLargeFor {
            path: path.to_owned(),
            name: name.to_owned(),
            value,
            dtype,
        }),
    }
}
