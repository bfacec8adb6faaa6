//! Producing a tensor from its recipe, on a real device.

use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::backend::ir::{
    BaseOperationIr, HandleKind, IrVisitorMut, OperationIr, ScalarIr, TensorIr, TensorStatus,
};
use burn::backend::ops::{BoolTensorOps, FloatTensorOps, IntTensorOps};
use burn::backend::{
    BackendTensor, Dispatch, DispatchAutodiffContext, DispatchTensor, DispatchTensorKind, Flex,
    Scalar, TensorMetadata,
};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{BoolStore, DType, Device, Shape, TensorData};
use burn_capture::TensorId;
use burn_flex::FlexDevice;
use burn_router::TensorInterpreter;

use crate::error::RecipeError;
use crate::generator::{self, DrawKey};
use crate::recipe::{Recipe, full_of, int_cast_of, random_of};
use crate::record::{constant_of, panic_text};

impl Recipe<'_> {
    /// Produce the tensor on `device`, in `dtype` (a dtype of the tensor's own kind).
    ///
    /// Constants are made on the device, a random draw is filled on the host and moved there; a
    /// graph runs on the CPU, with the same draws, and its result moves. Where the default dtype it was
    /// recorded with is one of half precision, what a graph has in it is computed in f32, and its
    /// result rounded once. `key` gives each random draw of the recipe its key. Memory that the constructor left uninitialised
    /// (`Tensor::empty`) becomes zeros: nothing undefined is ever handed out.
    ///
    /// # Errors
    /// [`RecipeError::Draw`] for a distribution that is not defined, [`RecipeError::Kernel`] when
    /// Burn panics.
    pub fn evaluate(
        &self,
        key: impl Fn(TensorId) -> DrawKey,
        dtype: DType,
        device: &Device,
    ) -> Result<BridgeTensor, RecipeError> {
        let device = device.clone().without_autodiff();
        let produce = AssertUnwindSafe(|| match self.steps.as_slice() {
            &[(scope, index)] => {
                let operation = self.recording.operation(scope, index);
                self.produce(scope, operation, &key, dtype, &device)
            }
            _ => self
                .interpret(&key)
                .map(|tensor| place(tensor, dtype, &device)),
        });
        catch_unwind(produce).unwrap_or_else(|panic| {
            let message = panic_text(&*panic).unwrap_or_else(|| "no message".to_owned());
            Err(RecipeError::Kernel { message })
        })
    }

    /// A tensor made by a single operation, straight on the device.
    fn produce(
        &self,
        scope: usize,
        operation: &OperationIr,
        key: &impl Fn(TensorId) -> DrawKey,
        dtype: DType,
        device: &Device,
    ) -> Result<BridgeTensor, RecipeError> {
        let shape = self.shape().clone();
        if let Some(random) = random_of(operation) {
            let data = draw(&key(random.out.id), random.distribution, dtype, shape)?;
            return Ok(from_data(data, device));
        }
        if let Some(constant) = constant_of(operation) {
            let data = self.recording.constant(scope, constant);
            return Ok(from_data(data.convert_dtype(dtype), device));
        }
        if let Some(full) = full_of(operation) {
            return Ok(filled(shape, full.value, dtype, device));
        }
        match operation {
            OperationIr::BaseFloat(base)
            | OperationIr::BaseInt(base)
            | OperationIr::BaseBool(base) => {
                let ones = matches!(base, BaseOperationIr::Ones(_));
                Ok(filled(shape, ScalarIr::Int(ones.into()), dtype, device))
            }
            // Whatever takes no input is one of the above; the rest reads a tensor, hence has two
            // steps at least.
            other => Err(RecipeError::Unsupported {
                operation: format!("{other:?}"),
            }),
        }
    }

    fn flex_dtypes(&self) -> FlexDTypes {
        // All scopes of a graph were recorded on one device.
        let scope = self.steps.last().map(|&(scope, _)| scope);
        FlexDTypes {
            half: scope.and_then(|scope| self.recording.half_default(scope)),
        }
    }

    /// Run a graph on the CPU; one interpreter a recipe, so that its intermediates go with it.
    fn interpret(&self, key: &impl Fn(TensorId) -> DrawKey) -> Result<DispatchTensor, RecipeError> {
        let mut interpreter = TensorInterpreter::<Flex>::new(FlexDevice);
        let mut dtypes = self.flex_dtypes();
        for &(scope, index) in &self.steps {
            let operation = self.recording.operation(scope, index);
            if let Some(random) = random_of(operation) {
                let out = &random.out;
                let data = draw(
                    &key(out.id),
                    random.distribution,
                    out.dtype,
                    out.shape.clone(),
                )?;
                let data = data.convert_dtype(dtypes.of(out.dtype));
                interpreter.register_tensor_data_id(out.id, data);
            } else if let Some(constant) = constant_of(operation) {
                let data = self.recording.constant(scope, constant);
                let data = data.convert_dtype(dtypes.of(constant.dtype));
                interpreter.register_tensor_data_id(constant.id, data);
            } else if let Some((input, out)) = int_cast_of(operation) {
                if let HandleKind::Int(tensor) = interpreter.get_tensor(&dtypes.read_only(input)) {
                    let tensor = Flex::int_cast(tensor, out.dtype.into());
                    interpreter.register_tensor_to_device(out.id, HandleKind::Int(tensor));
                }
            } else {
                let mut operation = zeros_for_empty(operation.clone());
                operation.visit_mut(&mut dtypes);
                interpreter.register_op(operation);
            }
        }
        let root = TensorIr {
            id: self.tensor(),
            shape: self.shape().clone(),
            status: TensorStatus::ReadOnly,
            dtype: dtypes.of(self.dtype()),
        };
        let tensor = match interpreter.get_tensor(&root) {
            HandleKind::Float(tensor) => BackendTensor::Float(tensor),
            HandleKind::Int(tensor) => BackendTensor::Int(tensor),
            HandleKind::Bool(tensor) => BackendTensor::Bool(tensor),
            HandleKind::Quantized(_) => {
                return Err(RecipeError::Unsupported {
                    operation: "quantize".to_owned(),
                });
            }
        };
        Ok(DispatchTensor {
            kind: DispatchTensorKind::Flex(tensor),
            autodiff: DispatchAutodiffContext::Disabled,
        })
    }
}

/// The dtypes of a graph as flex runs it.
///
/// A constructor computes a table in the default dtype. In half precision each operation would round
/// anew, and angles, say, would be off by more than their sines and cosines are rounded.
struct FlexDTypes {
    /// What is computed in f32.
    half: Option<DType>,
}

impl FlexDTypes {
    fn of(&self, dtype: DType) -> DType {
        match dtype {
            // It may be recorded for a device that stores bools as flex cannot.
            DType::Bool(BoolStore::U32) => DType::Bool(BoolStore::Native),
            dtype if Some(dtype) == self.half => DType::F32,
            dtype => dtype,
        }
    }

    /// The recording says when a handle was last used; a recipe is evaluated on its own, and any of
    /// its tensors may be read again.
    fn read_only(&self, tensor: &TensorIr) -> TensorIr {
        TensorIr {
            status: TensorStatus::ReadOnly,
            dtype: self.of(tensor.dtype),
            ..tensor.clone()
        }
    }
}

impl IrVisitorMut for FlexDTypes {
    fn visit_tensor_mut(&mut self, tensor: &mut TensorIr) {
        if tensor.status == TensorStatus::ReadWrite {
            tensor.status = TensorStatus::ReadOnly;
        }
        tensor.dtype = self.of(tensor.dtype);
    }
}

fn zeros_for_empty(operation: OperationIr) -> OperationIr {
    let zeros = |base| match base {
        BaseOperationIr::Empty(creation) => BaseOperationIr::Zeros(creation),
        other => other,
    };
    match operation {
        OperationIr::BaseFloat(base) => OperationIr::BaseFloat(zeros(base)),
        OperationIr::BaseInt(base) => OperationIr::BaseInt(zeros(base)),
        OperationIr::BaseBool(base) => OperationIr::BaseBool(zeros(base)),
        other => other,
    }
}

fn draw(
    key: &DrawKey,
    distribution: burn::tensor::Distribution,
    dtype: DType,
    shape: Shape,
) -> Result<TensorData, RecipeError> {
    generator::fill(key, distribution, dtype, shape.clone()).map_err(|source| RecipeError::Draw {
        shape,
        source: Box::new(source),
    })
}

fn filled(shape: Shape, value: ScalarIr, dtype: DType, device: &Device) -> BridgeTensor {
    let device = device.as_dispatch();
    let scalar = Scalar::from(value);
    let (is_zero, is_one) = match value {
        ScalarIr::Float(value) => (value == 0.0 && value.is_sign_positive(), value == 1.0),
        ScalarIr::Int(value) => (value == 0, value == 1),
        ScalarIr::UInt(value) => (value == 0, value == 1),
        ScalarIr::Bool(value) => (!value, value),
    };
    if dtype.is_float() {
        let dtype = dtype.into();
        BridgeTensor::float(match (is_zero, is_one) {
            (true, _) => Dispatch::float_zeros(shape, device, dtype),
            (_, true) => Dispatch::float_ones(shape, device, dtype),
            _ => Dispatch::float_full(shape, scalar, device, dtype),
        })
    } else if dtype.is_bool() {
        let dtype = dtype.into();
        BridgeTensor::bool(match is_zero {
            true => Dispatch::bool_zeros(shape, device, dtype),
            false => Dispatch::bool_ones(shape, device, dtype),
        })
    } else {
        let dtype = dtype.into();
        BridgeTensor::int(match (is_zero, is_one) {
            (true, _) => Dispatch::int_zeros(shape, device, dtype),
            (_, true) => Dispatch::int_ones(shape, device, dtype),
            _ => Dispatch::int_full(shape, scalar, device, dtype),
        })
    }
}

/// Values from the host, on `device` in `dtype` (a dtype of their own kind), with the dimensions of a
/// matrix swapped where `transposed` says so.
///
/// Flex takes the bytes as they are; a swap is a view; a cast runs on the CPU, before anything is
/// uploaded.
///
/// # Errors
/// [`RecipeError::Kernel`] when Burn panics.
pub fn place_data(
    data: TensorData,
    dtype: DType,
    transposed: bool,
    device: &Device,
) -> Result<BridgeTensor, RecipeError> {
    let device = device.clone().without_autodiff();
    let placed = catch_unwind(AssertUnwindSafe(|| {
        let tensor = match data.dtype() == dtype {
            true => from_data(data, &device),
            false => {
                let (_, tensor) = from_data(data, &Device::flex()).into_parts();
                place(tensor, dtype, &device)
            }
        };
        if transposed { swapped(tensor) } else { tensor }
    }));
    placed.map_err(|panic| RecipeError::Kernel {
        message: panic_text(&*panic).unwrap_or_else(|| "no message".to_owned()),
    })
}

/// The transposed matrix, as a view.
pub fn swapped(tensor: BridgeTensor) -> BridgeTensor {
    let dtype = tensor.dtype();
    let (_, tensor) = tensor.into_parts();
    if dtype.is_float() {
        BridgeTensor::float(Dispatch::float_swap_dims(tensor, 0, 1))
    } else if dtype.is_bool() {
        BridgeTensor::bool(Dispatch::bool_swap_dims(tensor, 0, 1))
    } else {
        BridgeTensor::int(Dispatch::int_swap_dims(tensor, 0, 1))
    }
}

fn from_data(data: TensorData, device: &Device) -> BridgeTensor {
    let device = device.as_dispatch();
    let dtype = data.dtype();
    if dtype.is_float() {
        BridgeTensor::float(Dispatch::float_from_data(data, device))
    } else if dtype.is_bool() {
        BridgeTensor::bool(Dispatch::bool_from_data(data, device))
    } else {
        BridgeTensor::int(Dispatch::int_from_data(data, device))
    }
}

/// From flex to where it is wanted.
fn place(tensor: DispatchTensor, dtype: DType, device: &Device) -> BridgeTensor {
    let has = tensor.dtype();
    if has == dtype {
        to_device(tensor, device)
    } else if dtype.is_float() {
        to_device(Dispatch::float_cast(tensor, dtype.into()), device)
    } else if dtype.is_bool() {
        // Stores of bools differ in layout only; the host rewrites it.
        let data = burn::tensor::read_sync(Dispatch::bool_into_data(tensor))
            .expect("flex tensors can always be read");
        from_data(data.convert_dtype(dtype), device)
    } else {
        to_device(Dispatch::int_cast(tensor, dtype.into()), device)
    }
}

fn to_device(tensor: DispatchTensor, device: &Device) -> BridgeTensor {
    let device = device.as_dispatch();
    let dtype = tensor.dtype();
    if dtype.is_float() {
        BridgeTensor::float(Dispatch::float_to_device(tensor, device))
    } else if dtype.is_bool() {
        BridgeTensor::bool(Dispatch::bool_to_device(tensor, device))
    } else {
        BridgeTensor::int(Dispatch::int_to_device(tensor, device))
    }
}
