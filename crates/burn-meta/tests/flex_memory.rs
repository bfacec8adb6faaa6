//! What flex's kernels are said to take, against what they take, by a counting allocator; alone in this
//! file, as the count is the process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::activation::{gelu, relu, sigmoid, softmax};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::module::{
    adaptive_avg_pool2d, attention, avg_pool2d, conv_transpose2d, conv1d, conv2d, conv3d,
    embedding, interpolate, layer_norm, max_pool2d, max_pool2d_with_indices,
};
use burn::tensor::ops::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, InterpolateMode, InterpolateOptions,
    MaxPoolOptions,
};
use burn::tensor::{DType, Device, Distribution, FloatDType, Int, IntDType, Tensor, s};
use burn_meta::{DefaultDTypes, HalfPrecision, MetaDevice, tensor_id};

struct Counting;

/// Bytes in use, and the most of them since somebody asked.
static LIVE: AtomicUsize = AtomicUsize::new(0);
static PEAK: AtomicUsize = AtomicUsize::new(0);

impl Counting {
    fn count(size: usize) {
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

/// What a program leaves: its results, which stay.
type Program = fn(&Device) -> Vec<BridgeTensor>;

/// The peak of a program and what is left of it.
#[derive(Debug, PartialEq)]
struct Bytes {
    peak: u64,
    left: u64,
}

fn measured(program: Program) -> Bytes {
    let device = Device::flex();
    // Threads and packed matrices are made once.
    drop(program(&device));
    let base = LIVE.load(Ordering::Relaxed);
    PEAK.store(base, Ordering::Relaxed);
    let results = program(&device);
    let peak = PEAK.load(Ordering::Relaxed) - base;
    let left = LIVE.load(Ordering::Relaxed) - base;
    drop(results);
    Bytes {
        peak: peak as u64,
        left: left as u64,
    }
}

fn predicted(program: Program) -> Bytes {
    let meta = MetaDevice::new(DefaultDTypes::of(&Device::flex())).unwrap();
    let traced = meta
        .trace(|scope| {
            let begin = scope.mark();
            let results = program(scope.device());
            let held: Vec<_> = results.iter().filter_map(tensor_id).collect();
            (begin, held)
        })
        .unwrap();
    let (begin, held) = traced.outcome.unwrap();
    let live = traced.tape.live_bytes(begin, held, HalfPrecision::ByF32);
    Bytes {
        peak: live.peak().unwrap().1,
        left: *live.after.last().unwrap(),
    }
}

/// A tenth of a mebibyte is for what is no tensor; every tensor here is larger.
fn check(name: &str, program: Program) -> Option<String> {
    let (measured, predicted) = (measured(program), predicted(program));
    let differs = |one: u64, other: u64| one.abs_diff(other) > (100 << 10) + other / 50;
    let is_wrong = differs(predicted.peak, measured.peak) || differs(predicted.left, measured.left);
    is_wrong.then(|| format!("{name}: predicted {predicted:?}, measured {measured:?}"))
}

/// One MiB and more.
fn square(device: &Device) -> Tensor<2> {
    Tensor::ones([512, 768], device)
}

fn images(device: &Device) -> Tensor<4> {
    Tensor::ones([2, 24, 80, 72], device)
}

fn places(device: &Device, below: i64) -> Tensor<1, Int> {
    Tensor::<1, Int>::arange(0..below, device)
}

fn images_in_half(device: &Device) -> Tensor<4> {
    Tensor::ones([2, 24, 80, 72], (device, DType::BF16))
}

/// Programs by name, each from a device to its results.
macro_rules! programs {
    ($($name:ident: |$device:ident| $body:expr;)+) => {
        &[$((stringify!($name), |$device: &Device| $body.into_iter().collect())),+]
    };
}

fn one<const D: usize>(tensor: Tensor<D>) -> [BridgeTensor; 1] {
    [tensor.into_bridge()]
}

fn ints<const D: usize>(tensor: Tensor<D, Int>) -> [BridgeTensor; 1] {
    [tensor.into_bridge()]
}

/// The tensors on both sides of an operation that may not write to what is kept.
fn kept<const D: usize>(tensor: Tensor<D>, result: Tensor<D>) -> [BridgeTensor; 2] {
    [tensor.into_bridge(), result.into_bridge()]
}

const ELEMENTWISE: &[(&str, Program)] = programs! {
    in_place: |device| one(square(device).add_scalar(1.0).exp() * 2.0);
    of_what_is_kept: |device| { let x = square(device); kept(x.clone(), x.exp()) };
    of_a_view: |device| one(square(device).transpose().exp());
    of_a_part: |device| one(square(device).slice(s![10..500, ..]).exp());
    of_a_flip: |device| one(square(device).flip([0]).exp());
    scalar_of_a_view: |device| one(square(device).transpose().add_scalar(1.0));
    two_in_place: |device| one(square(device) + square(device));
    second_in_place: |device| {
        let x = square(device);
        kept(x.clone(), x - square(device).exp())
    };
    two_of_what_is_kept: |device| {
        let x = square(device);
        kept(x.clone(), x.clone() * x)
    };
    with_a_row: |device| one(square(device) * Tensor::ones([1, 768], device));
    with_a_column: |device| one(Tensor::ones([512, 1], device) / square(device));
    row_and_column: |device| {
        one(Tensor::<2>::ones([1, 768], device) + Tensor::ones([512, 1], device))
    };
    transposed_and_not: |device| {
        let x = square(device);
        let y = Tensor::<2>::ones([768, 512], device);
        one(x.transpose() + y)
    };
    power: |device| one(square(device).powi_scalar(2) + square(device).powf_scalar(0.3));
    comparison: |device| {
        let x = square(device);
        let larger = x.clone().greater(x.clone().exp());
        [x.into_bridge(), larger.into_bridge()]
    };
    mask_fill: |device| {
        let mask = square(device).greater_elem(0.5);
        one(square(device).mask_fill(mask, 0.0))
    };
    mask_fill_of_what_is_kept: |device| {
        let mask = Tensor::<2>::ones([512, 1], device).greater_elem(0.5);
        let x = square(device);
        kept(x.clone(), x.mask_fill(mask, 0.0))
    };
    mask_where: |device| {
        let mask = square(device).greater_elem(0.5);
        let x = square(device);
        kept(x.clone(), x.clone().mask_where(mask, x))
    };
    activations: |device| one(gelu(sigmoid(relu(square(device)))));
    half: |device| {
        let x = square(device).cast(FloatDType::BF16);
        one((x.clone() + x).cast(FloatDType::F32))
    };
    random: |device| {
        one(Tensor::<2>::random([512, 768], Distribution::Normal(0.0, 1.0), device))
    };
    integers: |device| {
        let x = Tensor::<2, Int>::ones([512, 768], device);
        ints((x.clone() + x).mul_scalar(3).cast(IntDType::I64))
    };
};

const SHAPES: &[(&str, Program)] = programs! {
    reshape: |device| one(square(device).reshape([768, 512]).reshape([2, 256, 768]));
    reshape_of_a_view: |device| one(square(device).transpose().reshape([512 * 768]));
    cat_of_rows: |device| one(Tensor::cat(vec![square(device), square(device)], 0));
    cat_of_columns: |device| one(Tensor::cat(vec![square(device), square(device).exp()], 1));
    repeat: |device| one(square(device).repeat_dim(1, 3));
    slices: |device| {
        let x = square(device);
        let part = x.clone().slice(s![0..256, ..]);
        kept(x, part)
    };
    slice_assign: |device| {
        one(square(device).slice_assign(s![0..256, ..], Tensor::zeros([256, 768], device)))
    };
    slice_assign_of_what_is_kept: |device| {
        let x = square(device);
        let y = x.clone().slice_assign(s![0..256, ..], Tensor::zeros([256, 768], device));
        kept(x, y)
    };
    select: |device| {
        let rows = places(device, 400);
        one(square(device).select(0, rows))
    };
    gather: |device| {
        let at = Tensor::<2, Int>::zeros([512, 600], device);
        one(square(device).gather(1, at))
    };
    scatter: |device| {
        let at = Tensor::<2, Int>::zeros([512, 600], device);
        let values = Tensor::<2>::ones([512, 600], device);
        let add = burn::tensor::IndexingUpdateOp::Add;
        one(square(device).scatter(1, at, values, add))
    };
    triangle: |device| one(square(device).triu(1));
    sort: |device| one(square(device).sort(1));
    argsort: |device| ints(square(device).argsort(1));
    cumulative_sum: |device| one(square(device).cumsum(0));
};

const REDUCTIONS: &[(&str, Program)] = programs! {
    sum: |device| one(square(device).sum());
    sum_of_rows: |device| one(square(device).sum_dim(1).repeat_dim(1, 768));
    sum_of_a_permutation: |device| {
        let x = Tensor::<4>::ones([8, 64, 32, 24], device).permute([0, 2, 3, 1]);
        one(x.clone().mean_dim(2) + x)
    };
    variance: |device| one(square(device).var(1).repeat_dim(1, 768));
    largest: |device| {
        let (values, places) = square(device).max_dim_with_indices(0);
        [values.repeat_dim(0, 512).into_bridge(), places.into_bridge()]
    };
    softmax_of_rows: |device| one(softmax(square(device), 1));
    softmax_of_columns: |device| one(softmax(square(device), 0));
    norm_of_layers: |device| one(layer_norm(
        square(device),
        Tensor::ones([768], device),
        Some(Tensor::zeros([768], device)),
        1e-5,
    ));
};

const LAYERS: &[(&str, Program)] = programs! {
    product: |device| one(square(device).matmul(Tensor::ones([768, 640], device)));
    product_of_batches: |device| {
        let x = Tensor::<3>::ones([6, 200, 300], device);
        one(x.clone().matmul(x.transpose()))
    };
    product_in_half: |device| {
        let x = Tensor::<2>::ones([512, 768], (device, DType::BF16));
        one(x.clone().matmul(x.transpose()))
    };
    embedded: |device| {
        let tokens = Tensor::<2, Int>::zeros([16, 40], device);
        one(embedding(Tensor::ones([1000, 512], device), tokens))
    };
    conv_of_lines: |device| {
        let x = Tensor::<3>::ones([4, 40, 1500], device);
        let options = ConvOptions::new([2], [2], [1], 1);
        one(conv1d(x, Tensor::ones([48, 40, 5], device), None, options))
    };
    conv_of_few_places: |device| {
        let x = Tensor::<3>::ones([8, 64, 700], device);
        let options = ConvOptions::new([1], [0], [1], 1);
        one(conv1d(x, Tensor::ones([96, 64, 3], device), None, options))
    };
    conv: |device| {
        let options = ConvOptions::new([1, 1], [1, 1], [1, 1], 1);
        let bias = Some(Tensor::ones([32], device));
        one(conv2d(images(device), Tensor::ones([32, 24, 3, 3], device), bias, options))
    };
    conv_of_points: |device| {
        let options = ConvOptions::new([1, 1], [0, 0], [1, 1], 1);
        one(conv2d(images(device), Tensor::ones([32, 24, 1, 1], device), None, options))
    };
    conv_by_channels: |device| {
        let options = ConvOptions::new([1, 1], [1, 1], [1, 1], 24);
        one(conv2d(images(device), Tensor::ones([24, 1, 3, 3], device), None, options))
    };
    conv_of_few_channels: |device| {
        let x = Tensor::<4>::ones([4, 3, 200, 200], device);
        let options = ConvOptions::new([1, 1], [1, 1], [1, 1], 1);
        one(conv2d(x, Tensor::ones([8, 3, 3, 3], device), None, options))
    };
    conv_by_groups: |device| {
        let options = ConvOptions::new([2, 2], [1, 1], [1, 1], 4);
        one(conv2d(images(device), Tensor::ones([32, 6, 3, 3], device), None, options))
    };
    conv_of_volumes: |device| {
        let x = Tensor::<5>::ones([1, 8, 24, 40, 40], device);
        let options = ConvOptions::new([1, 1, 1], [1, 1, 1], [1, 1, 1], 1);
        one(conv3d(x, Tensor::ones([12, 8, 3, 3, 3], device), None, options))
    };
    conv_transposed: |device| {
        let options = ConvTransposeOptions::new([2, 2], [0, 0], [0, 0], [1, 1], 1);
        // Of several images, how many are at work at once is up to the threads.
        let image = images(device).slice(s![0..1]);
        one(conv_transpose2d(image, Tensor::ones([24, 16, 2, 2], device), None, options))
    };
    pools: |device| {
        let x = max_pool2d(images(device), MaxPoolOptions::new([2, 2]).with_stride([2, 2]));
        one(avg_pool2d(x, AvgPoolOptions::new([3, 3]).with_stride([1, 1])))
    };
    pool_with_places: |device| {
        let options = MaxPoolOptions::new([2, 2]).with_stride([2, 2]);
        let (x, at) = max_pool2d_with_indices(images(device), options);
        [x.into_bridge(), at.into_bridge()]
    };
    adaptive_pool: |device| one(adaptive_avg_pool2d(images(device), [60, 50]));
    interpolated: |device| {
        let options = InterpolateOptions::new(InterpolateMode::Bilinear);
        one(interpolate(images(device), options.with_output_size([120, 100])))
    };
    attention_with_all_scores: |device| {
        let x = Tensor::<4>::ones([4, 8, 256, 64], device);
        one(attention(x.clone(), x.clone(), x, None, None, Default::default()))
    };
    attention_in_tiles: |device| {
        let x = Tensor::<4>::ones([1, 4, 1024, 64], device);
        one(attention(x.clone(), x.clone(), x, None, None, Default::default()))
    };
};

const LAYERS_IN_HALF: &[(&str, Program)] = programs! {
    conv_in_half: |device| {
        let weight = Tensor::ones([32, 24, 3, 3], (device, DType::BF16));
        let options = ConvOptions::new([1, 1], [1, 1], [1, 1], 1);
        one(conv2d(images_in_half(device), weight, None, options))
    };
    maxima_in_half: |device| {
        let options = MaxPoolOptions::new([2, 2]).with_stride([1, 1]);
        one(max_pool2d(images_in_half(device), options))
    };
    means_in_half: |device| {
        let options = AvgPoolOptions::new([3, 3]).with_stride([1, 1]);
        one(avg_pool2d(images_in_half(device), options))
    };
    adaptive_pool_in_half: |device| one(adaptive_avg_pool2d(images_in_half(device), [60, 50]));
    interpolated_in_half: |device| {
        let options = InterpolateOptions::new(InterpolateMode::Bilinear);
        one(interpolate(images_in_half(device), options.with_output_size([120, 100])))
    };
    norm_in_half: |device| {
        let tensor = |shape| Tensor::<1>::ones(shape, (device, DType::BF16));
        let x = Tensor::<2>::ones([512, 768], (device, DType::BF16));
        one(layer_norm(x, tensor([768]), Some(tensor([768])), 1e-5))
    };
    attention_in_half: |device| {
        let x = Tensor::<4>::ones([4, 8, 256, 64], (device, DType::BF16));
        one(attention(x.clone(), x.clone(), x, None, None, Default::default()))
    };
};

#[test]
fn kernels_take_what_is_predicted() {
    let programs = [ELEMENTWISE, SHAPES, REDUCTIONS, LAYERS, LAYERS_IN_HALF].concat();
    let wrong: Vec<String> = programs
        .into_iter()
        .filter_map(|(name, program)| check(name, program))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}
