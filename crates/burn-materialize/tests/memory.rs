//! What building, materialising, loading and saving allocate, counted; alone in this file, as the count is the
//! process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::Device;
use burn_materialize::{
    Layout as FileLayout, Materialize, Meta, ResetParameters, SaveOptions, Weights, save,
};

struct Counting;

/// Bytes asked for since the start, and how often a whole tensor's worth was asked for.
static ALLOCATED: AtomicUsize = AtomicUsize::new(0);
static LARGE: AtomicUsize = AtomicUsize::new(0);
/// Bytes in use, and the most of them since somebody asked.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

/// What one tensor of the module that is materialised takes; nothing else comes near.
const TENSOR: usize = 4 * 1024 * 1024;

impl Counting {
    fn count(size: usize) {
        ALLOCATED.fetch_add(size, Ordering::Relaxed);
        LARGE.fetch_add(usize::from(size >= TENSOR), Ordering::Relaxed);
        let live = LIVE.fetch_add(size, Ordering::Relaxed) + size;
        PEAK.fetch_max(live, Ordering::Relaxed);
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
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
        Self::count(size);
        // SAFETY: the caller's own contract.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Ordering::Relaxed);
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

    // Saving holds a tensor or two beside the module, whichever way round it is written.
    let folder = tempfile::tempdir().unwrap();
    for layout in [FileLayout::Burn, FileLayout::PyTorch] {
        let path = folder.path().join(format!("{layout}.safetensors"));
        let (_, more) = growth(|| save(&stack, &path, &SaveOptions::new().layout(layout)).unwrap());
        assert!(
            more < 2 * TENSOR + TENSOR / 4,
            "{layout}: {more} bytes more while saving"
        );

        // Loading allocates no tensor: each is a view of the file.
        let weights = Weights::open(&path).unwrap().layout(layout);
        let before = LARGE.load(Ordering::Relaxed);
        let loaded = meta.load(&device, &weights).unwrap();
        assert_eq!(
            LARGE.load(Ordering::Relaxed),
            before,
            "{layout}: a tensor was allocated"
        );
        assert_eq!(loaded.report.loaded.len(), 6);
        drop(loaded);

        // Unless copies are asked for: then each once.
        let (loaded, more) = growth(|| meta.load(&device, &weights.copy(true)).unwrap());
        assert!(
            more < 6 * TENSOR + TENSOR / 4,
            "{layout}: {more} bytes for six tensors"
        );
        assert!(LARGE.load(Ordering::Relaxed) - before >= 6);
        drop(loaded);
    }
}

/// How many bytes more were in use at the most while `work` ran.
fn growth<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = LIVE.load(Ordering::Relaxed);
    PEAK.store(before, Ordering::Relaxed);
    let result = work();
    (result, PEAK.load(Ordering::Relaxed) - before)
}
