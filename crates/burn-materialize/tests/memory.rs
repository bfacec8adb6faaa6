//! What building and materialising allocate, counted; alone in this file, as the count is the
//! process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::Device;
use burn_materialize::{Materialize, Meta, ResetParameters};

struct Counting;

/// Bytes asked for since the start, and how often a whole tensor's worth was asked for.
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static LARGE: AtomicUsize = AtomicUsize::new(0);

/// What one tensor of the module that is materialised takes; nothing else comes near.
const TENSOR: usize = 4 * 1024 * 1024;

impl Counting {
    fn count(size: usize) {
        ALLOCATED.fetch_add(size, Ordering::Relaxed);
        LARGE.fetch_add(usize::from(size >= TENSOR), Ordering::Relaxed);
    }
}

// SAFETY: every call is passed to the system allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's own contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(layout.size());
        // SAFETY: the caller's own contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(size);
        // SAFETY: the caller's own contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's own contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Stack {
    layers: Vec<Linear>,
}

impl Stack {
    fn new(layers: usize, width: usize, device: &Device) -> Self {
        let layer = |_| {
            LinearConfig::new(width, width)
                .with_bias(false)
                .init(device)
        };
        Self {
            layers: (0..layers).map(layer).collect(),
        }
    }
}

#[test]
fn a_billion_parameters_are_built_for_less_than_a_mebibyte_and_each_tensor_is_allocated_once() {
    let device = Device::flex();
    Meta::build_for(&device, |device| Stack::new(1, 2, device)).unwrap();
    let before = ALLOCATED.load(Ordering::Relaxed);
    let meta = Meta::build_for(&device, |device| Stack::new(10, 10_000, device)).unwrap();
    let summary = meta.summary();
    let printed = format!("{summary}{meta:?}");
    let allocated = ALLOCATED.load(Ordering::Relaxed) - before;
    assert_eq!(summary.parameters(), 1_000_000_000);
    assert!(printed.contains("layers.9.weight"));
    assert!(allocated < 1 << 20, "{allocated} bytes");

    let meta = Meta::build_for(&device, |device| Stack::new(6, 1024, device)).unwrap();
    let before = LARGE.load(Ordering::Relaxed);
    let stack = meta.materialize(&device).unwrap();
    let large = LARGE.load(Ordering::Relaxed) - before;
    assert_eq!(stack.layers.len(), 6);
    assert_eq!(large, 6, "six tensors, {large} allocations of their size");
}
