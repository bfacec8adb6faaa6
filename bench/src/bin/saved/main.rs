//! Whether PyTorch takes what is saved in its layout, and computes the same with it: no benchmark, a
//! check with the same peer. It fails where an output differs.

mod modules;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Result, ensure};
use burn::module::{Module, ModuleMapper, Param};
use burn::tensor::{Device, Distribution, Tensor};
use burn_fabric_bench::peer::{Peer, target};
use burn_materialize::{Layout, Materialize, Meta, ResetParameters, SaveOptions, save};

/// The largest difference, relative to outputs above one.
const TOLERANCE: f64 = 1e-5;

fn main() -> Result<ExitCode> {
    let folder = target()?.join("bench").join("saved");
    std::fs::create_dir_all(&folder)?;
    let mut check = Check {
        peer: Peer::start(include_str!("peer.py"))?,
        folder,
        differing: 0,
    };
    Device::flex().seed(20);
    modules::check(&mut check)?;
    std::fs::remove_dir_all(&check.folder)?;
    Ok(match check.differing {
        0 => ExitCode::SUCCESS,
        differing => {
            println!("{differing} modules differ");
            ExitCode::FAILURE
        }
    })
}

/// PyTorch, and what it found.
struct Check {
    peer: Peer,
    folder: PathBuf,
    differing: usize,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Example<const I: usize, const O: usize> {
    input: Param<Tensor<I>>,
    output: Param<Tensor<O>>,
}

impl Check {
    /// Save a module, an input and the output, and let PyTorch compare.
    fn module<M: Materialize + Module, const I: usize, const O: usize>(
        &mut self,
        name: &str,
        shape: [usize; I],
        build: impl FnOnce(&Device) -> M,
        forward: impl FnOnce(&M, Tensor<I>) -> Tensor<O>,
    ) -> Result<()> {
        let device = Device::flex();
        let module = Meta::build_for(&device, build)?.materialize(&device)?;
        let module = module.map(&mut Draw);
        let options = SaveOptions::new().overwrite(true);
        let path = self.folder.join(format!("{name}.safetensors"));
        save(&module, path, &options.clone().layout(Layout::PyTorch))?;

        let input = Tensor::random(shape, Distribution::Normal(0.0, 1.0), &device);
        let example = Example {
            output: Param::from_tensor(forward(&module, input.clone())),
            input: Param::from_tensor(input),
        };
        let path = self.folder.join(format!("{name}.example.safetensors"));
        save(&example, path, &options)?;
        ensure!(
            self.folder.to_str().is_some(),
            "the folder's name is no text"
        );
        let difference = self
            .peer
            .ask(&format!("{name} {}", self.folder.display()))?;
        println!("{name}: {difference:.1e}");
        // A NaN is no difference that is small enough.
        self.differing += usize::from(difference.is_nan() || difference > TOLERANCE);
        Ok(())
    }
}

/// Values that are all different and, as a variance has to be, positive: ones and zeros would hide
/// what is swapped. A tie keeps one.
struct Draw;

impl ModuleMapper for Draw {
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<D>>) -> Param<Tensor<D>> {
        // One generator for each id.
        param.device().seed(param.id.val());
        param.map(|tensor| tensor.random_like(Distribution::Uniform(0.1, 0.9)))
    }
}
