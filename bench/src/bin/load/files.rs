//! The files that are loaded: values from a fixed generator, and what they sum to.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use burn::module::{Module, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burn_fabric_bench::folder::Folder;
use burn_fabric_bench::layers::{BYTES, LAYERS, Layers, PAGE, WIDTH};
use burn_materialize::{Layout, SaveOptions, save};

/// One checkpoint in three forms.
pub struct Files {
    folder: Folder,
    /// One file as `torch.nn` holds it.
    pub pytorch: Vec<PathBuf>,
    /// The same in four files, and their index.
    pub shards: Vec<PathBuf>,
    pub index: PathBuf,
    /// One file in Burn's layout.
    pub burn: Vec<PathBuf>,
    pub sums: Sums,
}

/// What the values sum to. They are multiples of 2^-16, and few enough for every sum of them to be
/// exact, in whatever order and in single precision too.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sums {
    /// All of them.
    pub all: f64,
    /// The first of each page where weights are held as `torch.nn` does, `[out, in]`.
    pub pages_pytorch: f64,
    /// And as Burn does, `[in, out]`.
    pub pages_burn: f64,
}

impl Files {
    /// Write all, and leave them in the page cache.
    pub fn make() -> Result<Self> {
        let folder = Folder::new("load")?;
        let (layers, sums) = generated()?;
        let write = |name: &str, options: &SaveOptions| {
            let written = save(&layers, folder.path().join(name), options)?;
            for file in &written.files {
                warm(file)?;
            }
            anyhow::Ok(written)
        };
        let pytorch = SaveOptions::new().layout(Layout::PyTorch);
        let quarter = pytorch.clone().max_shard_bytes((BYTES / 4) as u64);
        let shards = write("sharded.safetensors", &quarter)?;
        ensure!(shards.files.len() == 4, "{} shards", shards.files.len());
        Ok(Self {
            pytorch: write("pytorch.safetensors", &pytorch)?.files,
            shards: shards.files,
            index: shards.path,
            burn: write("burn.safetensors", &SaveOptions::new())?.files,
            sums,
            folder,
        })
    }

    /// A path to save to.
    pub fn new_file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}

/// A module with the values of the files, in memory of its own and in Burn's layout.
pub fn generated() -> Result<(Layers, Sums)> {
    let device = Device::flex();
    let mut sums = Sums::default();
    let mut layers = Layers::new(&device);
    for (index, layer) in layers.layers.iter_mut().enumerate() {
        let weight = values(2 * index as u64, WIDTH * WIDTH);
        let bias = values(2 * index as u64 + 1, WIDTH);
        let each = |values: &[f32]| -> f64 { values.iter().copied().map(f64::from).sum() };
        let pages =
            |values: &[f32]| -> f64 { values.iter().step_by(PAGE).copied().map(f64::from).sum() };
        sums.all += each(&weight) + each(&bias);
        sums.pages_burn += pages(&weight) + pages(&bias);
        let transposed = (0..WIDTH * WIDTH).step_by(PAGE).map(|at| {
            let (row, column) = (at / WIDTH, at % WIDTH);
            f64::from(weight[column * WIDTH + row])
        });
        sums.pages_pytorch += transposed.sum::<f64>() + pages(&bias);
        let weight = TensorData::new(weight, [WIDTH, WIDTH]);
        layer.weight = Param::from_tensor(Tensor::from_data(weight, &device));
        let bias = TensorData::new(bias, [WIDTH]);
        layer.bias = Some(Param::from_tensor(Tensor::from_data(bias, &device)));
    }
    ensure!(layers.num_params() * size_of::<f32>() == BYTES && layers.layers.len() == LAYERS);
    Ok((layers, sums))
}

/// Uniform in [-1/64, 1/64), as `torch.nn` initialises such layers, in steps of 2^-16.
fn values(stream: u64, count: usize) -> Vec<f32> {
    const STEP: f32 = 1.0 / 65536.0;
    let words = (0..count as u64 / 4).map(|index| mix(stream << 32 | index));
    let values = words.flat_map(|word| {
        let bits = [0, 16, 32, 48].map(|shift| (word >> shift) as i16 & 0x7FF);
        bits.map(|bits| f32::from(bits - 0x400) * STEP)
    });
    values.collect()
}

/// SplitMix64's output for a state.
fn mix(state: u64) -> u64 {
    let word = state.wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    word ^ (word >> 31)
}

/// Read a file once, so that it is in the page cache.
fn warm(path: &Path) -> io::Result<()> {
    let mut file = File::open(path)?;
    let mut buffer = vec![0; 1 << 20];
    while file.read(&mut buffer)? > 0 {}
    Ok(())
}
