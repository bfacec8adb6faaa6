//! A checkpoint, and how each of the three loads it.

use std::path::{Path, PathBuf};

use anyhow::Result;
use burn::tensor::Device;
use burn_fabric_bench::layers::Layers;
use burn_materialize::{Layout, Meta, Weights};
use burn_store::{ModuleSnapshot, PyTorchToBurnAdapter, SafetensorsStore};
use serde_json::{Value, json};

use crate::files::{Files, Sums};

/// A checkpoint, and what is asked of the load.
#[derive(Clone, Copy)]
pub struct Source<'f> {
    /// What burn-fabric opens.
    path: &'f Path,
    /// What the others do, one by one.
    files: &'f [PathBuf],
    layout: Layout,
    copy: bool,
    sums: Sums,
}

/// What of a loaded module is read.
#[derive(Clone, Copy)]
pub enum Reading {
    /// The first value of every page.
    Pages,
    /// Every value.
    All,
}

impl<'f> Source<'f> {
    fn new(path: &'f Path, files: &'f [PathBuf], layout: Layout, sums: Sums) -> Self {
        Self {
            path,
            files,
            layout,
            copy: false,
            sums,
        }
    }

    /// One file in PyTorch's layout.
    pub fn pytorch(files: &'f Files) -> Self {
        Self::new(
            &files.pytorch[0],
            &files.pytorch,
            Layout::PyTorch,
            files.sums,
        )
    }

    /// The same in four files.
    pub fn shards(files: &'f Files) -> Self {
        Self::new(&files.index, &files.shards, Layout::PyTorch, files.sums)
    }

    /// One file in Burn's layout.
    pub fn burn_layout(files: &'f Files) -> Self {
        Self::new(&files.burn[0], &files.burn, Layout::Burn, files.sums)
    }

    /// Whether it is a file as PyTorch writes it.
    pub fn is_pytorch(&self) -> bool {
        self.layout == Layout::PyTorch
    }

    /// Copied out of the file, by burn-fabric and by PyTorch; burn-store always does.
    pub fn copied(self) -> Self {
        Self { copy: true, ..self }
    }

    /// With everything that a load needs, the opening too.
    pub fn weights(&self) -> Result<Weights> {
        let weights = Weights::open(self.path)?;
        Ok(weights.layout(self.layout).copy(self.copy))
    }

    pub fn ours(&self, meta: &Meta<Layers>, device: &Device) -> Result<Layers> {
        Ok(meta.load(device, &self.weights()?)?.module)
    }

    /// Into a lazy module, which burn-store never initialises.
    pub fn burn(&self, mut layers: Layers) -> Result<Layers> {
        for file in self.files {
            let store = SafetensorsStore::from_file(file).allow_partial(self.files.len() > 1);
            let mut store = match self.layout {
                Layout::PyTorch => store.with_from_adapter(PyTorchToBurnAdapter),
                Layout::Burn | Layout::Auto => store,
            };
            layers.load_from(&mut store)?;
        }
        Ok(layers)
    }

    /// What PyTorch is asked.
    pub fn request(&self, reading: Option<Reading>) -> Value {
        json!({
            "do": "load",
            "files": self.files,
            "copy": self.copy,
            "read": reading.map(|reading| match reading {
                Reading::Pages => "pages",
                Reading::All => "sums",
            }),
            "expected": reading.map(|reading| self.expected(reading, self.layout)),
        })
    }

    /// What a read of our module has to come to.
    pub fn our_sum(&self, reading: Reading) -> f64 {
        self.expected(reading, self.layout)
    }

    /// And of burn-store's, which transposes.
    pub fn burn_sum(&self, reading: Reading) -> f64 {
        self.expected(reading, Layout::Burn)
    }

    fn expected(&self, reading: Reading, held: Layout) -> f64 {
        match (reading, held) {
            (Reading::All, _) => self.sums.all,
            (Reading::Pages, Layout::PyTorch) => self.sums.pages_pytorch,
            (Reading::Pages, _) => self.sums.pages_burn,
        }
    }
}
