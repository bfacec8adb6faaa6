//! A tensor of flex without its bytes, and what such tensors take together.

use std::cell::Cell;
use std::sync::Arc;

use burn::backend::{Device, DeviceId, DeviceOps, DeviceSettings, TensorMetadata};
use burn::tensor::{BoolStore, DType, Shape};
use burn_flex::Layout;
use serde::{Deserialize, Serialize};

/// How a device computes what Burn's CPU device, flex, has no kernel in half precision for: products,
/// convolutions, pools, interpolation, attention and layer norms in bf16, some of them in f16.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HalfPrecision {
    /// As it is, as graphics cards do.
    #[default]
    Native,
    /// On copies in f32, as flex does.
    ByF32,
}

/// Whether a tensor of this dtype is copied to f32 for a kernel that flex does not have for `none`.
pub(super) fn is_by_f32(dtype: DType, none: &[DType]) -> bool {
    with_meter(|meter| meter.half == HalfPrecision::ByF32) && none.contains(&dtype)
}

/// What is allocated in this thread.
#[derive(Clone, Copy, Default)]
struct Meter {
    live: u64,
    peak: u64,
    /// Whether what is allocated now counts.
    is_on: bool,
    half: HalfPrecision,
}

thread_local! {
    static METER: Cell<Meter> = const {
        Cell::new(Meter { live: 0, peak: 0, is_on: false, half: HalfPrecision::Native })
    };
}

fn with_meter<T>(change: impl FnOnce(&mut Meter) -> T) -> T {
    METER.with(|cell| {
        let mut meter = cell.get();
        let result = change(&mut meter);
        cell.set(meter);
        result
    })
}

/// Count what is allocated from here on, or do not.
pub(super) fn count(is_on: bool) {
    with_meter(|meter| meter.is_on = is_on);
}

/// From here on compute so in half precision.
pub(super) fn compute(half: HalfPrecision) {
    with_meter(|meter| meter.half = half);
}

/// How many counted bytes are allocated.
pub(super) fn live() -> u64 {
    with_meter(|meter| meter.live)
}

/// The most that was allocated at once since this was called last.
pub(super) fn take_peak() -> u64 {
    with_meter(|meter| std::mem::replace(&mut meter.peak, meter.live))
}

/// Bytes that are allocated while this exists.
#[derive(Debug)]
pub(super) struct Held {
    bytes: u64,
    counts: bool,
}

impl Held {
    pub(super) fn new(bytes: usize) -> Self {
        let mut bytes = bytes as u64;
        with_meter(|meter| {
            if meter.is_on {
                // What was added is what goes.
                bytes = bytes.min(u64::MAX - meter.live);
                meter.live += bytes;
                meter.peak = meter.peak.max(meter.live);
            }
            Self {
                bytes,
                counts: meter.is_on,
            }
        })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if self.counts {
            with_meter(|meter| meter.live -= self.bytes);
        }
    }
}

/// Flex's tensor: shared memory and a view of it. What is unique and what is contiguous decides, as
/// there, whether an operation writes in place, copies or only looks.
#[derive(Clone, Debug)]
pub(super) struct Ghost {
    memory: Arc<Held>,
    layout: Layout,
    dtype: DType,
}

impl Ghost {
    /// One that fills memory of its own in order.
    pub(super) fn alloc(shape: Shape, dtype: DType) -> Self {
        let lengths = shape.iter().copied();
        let bytes = lengths.fold(dtype.size(), usize::saturating_mul);
        Self {
            memory: Arc::new(Held::new(bytes)),
            layout: Layout::contiguous(shape),
            dtype,
        }
    }

    /// One whose bytes flex makes in one place and then copies to another, better aligned.
    pub(super) fn alloc_aligned(shape: Shape, dtype: DType) -> Self {
        let ghost = Self::alloc(shape, dtype);
        drop(Held::new(ghost.bytes()));
        ghost
    }

    /// One in another order of memory of its own.
    pub(super) fn alloc_like(layout: Layout, dtype: DType) -> Self {
        let ghost = Self::alloc(layout.shape().clone(), dtype);
        ghost.view(layout)
    }

    pub(super) fn layout(&self) -> &Layout {
        &self.layout
    }

    pub(super) fn dims(&self) -> &[usize] {
        self.layout.shape().as_slice()
    }

    pub(super) fn elements(&self) -> usize {
        self.layout.num_elements()
    }

    pub(super) fn bytes(&self) -> usize {
        self.elements().saturating_mul(self.dtype.size())
    }

    pub(super) fn is_unique(&self) -> bool {
        Arc::strong_count(&self.memory) == 1
    }

    pub(super) fn is_contiguous(&self) -> bool {
        self.layout.is_contiguous()
    }

    /// Contiguous from the start of its memory.
    pub(super) fn starts_at_zero(&self) -> bool {
        self.layout.is_contiguous() && self.layout.start_offset() == 0
    }

    /// Whether its memory holds nothing else.
    pub(super) fn covers_memory(&self) -> bool {
        self.memory.bytes == self.bytes() as u64
    }

    /// Whether flex may write to it in place.
    pub(super) fn is_dense_and_unique(&self) -> bool {
        self.is_unique() && self.layout.is_dense_unique_storage()
    }

    /// The same memory, seen otherwise.
    pub(super) fn view(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    pub(super) fn into_contiguous(self) -> Self {
        if self.starts_at_zero() && self.covers_memory() {
            return self;
        }
        Self::alloc(self.layout.shape().clone(), self.dtype)
    }

    pub(super) fn to_contiguous(&self) -> Self {
        self.clone().into_contiguous()
    }

    pub(super) fn reshape(self, shape: Shape) -> Self {
        match self.layout.reshape(shape.clone()) {
            Some(layout) => self.view(layout),
            None => self.to_contiguous().reshape(shape),
        }
    }

    /// Dimensions of size one repeated, without a copy.
    pub(super) fn expand(self, shape: Shape) -> Self {
        let before = shape.num_dims() - self.layout.num_dims();
        let strides = (0..shape.num_dims()).map(|dim| match dim.checked_sub(before) {
            Some(own) if self.dims()[own] == shape[dim] => self.layout.strides()[own],
            _ => 0,
        });
        let layout = Layout::new(shape.clone(), strides.collect(), self.layout.start_offset());
        self.view(layout)
    }

    /// Windows that slide over a dimension, without a copy.
    pub(super) fn unfold(self, dim: usize, size: usize, step: usize) -> Self {
        let mut shape = self.layout.shape().to_vec();
        let mut strides = self.layout.strides().to_vec();
        // None where the dimension is shorter, as in Burn's own representation.
        shape[dim] = match shape[dim].checked_sub(size) {
            Some(more) => more / step + 1,
            None => 0,
        };
        shape.push(size);
        strides.push(strides[dim]);
        strides[dim] *= step as isize;
        let layout = Layout::new(Shape::from(shape), strides, self.layout.start_offset());
        self.view(layout)
    }
}

impl TensorMetadata for Ghost {
    type Device = GhostDevice;

    fn dtype(&self) -> DType {
        self.dtype
    }

    fn shape(&self) -> Shape {
        self.layout.shape().clone()
    }

    fn device(&self) -> GhostDevice {
        GhostDevice
    }

    fn can_mut(&self) -> bool {
        self.is_unique()
    }
}

/// Where such tensors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct GhostDevice;

impl Device for GhostDevice {
    fn from_id(_id: DeviceId) -> Self {
        Self
    }

    fn to_id(&self) -> DeviceId {
        DeviceId::new(0, 0)
    }
}

impl DeviceOps for GhostDevice {
    fn defaults(&self) -> DeviceSettings {
        DeviceSettings::new(
            DType::F32,
            DType::I32,
            DType::Bool(BoolStore::Native),
            Default::default(),
        )
    }
}
