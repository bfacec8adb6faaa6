//! A process that is killed while it saves leaves a whole checkpoint: the old one or the new one.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use burn::module::Module;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Tensor};
use burn_fabric::prelude::*;

use crate::run::flex;

const KILLS: u32 = 100;
const FOLDER: &str = "BURN_FABRIC_TEST_KILLED";
const READY: &str = "about to save";
const TEST: &str = "killed::a_hundred_kills_leave_a_hundred_checkpoints";

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Layers {
    layers: Vec<Linear>,
}

impl Layers {
    fn new(device: &Device) -> Self {
        let layer = || LinearConfig::new(64, 64).with_bias(false).init(device);
        Self {
            layers: (0..4).map(|_| layer()).collect(),
        }
    }
}

/// Two modules, so two files, and a number; all of one value.
#[derive(TrainingState)]
struct Numbered {
    first: FabricModule<Layers>,
    second: FabricModule<Layers>,
    number: u32,
}

impl Numbered {
    fn new() -> Self {
        let fabric = flex();
        let module = || {
            fabric
                .setup(fabric.init_module(Layers::new).unwrap())
                .unwrap()
        };
        let mut numbered = Self {
            first: module(),
            second: module(),
            number: 0,
        };
        numbered.set(0);
        numbered
    }

    fn set(&mut self, number: u32) {
        self.number = number;
        for module in [&mut self.first, &mut self.second] {
            let fill = |mut layers: Layers| {
                for layer in &mut layers.layers {
                    let weight = layer.weight.clone();
                    layer.weight =
                        weight.map(|weight: Tensor<2>| weight.zeros_like().add_scalar(number));
                }
                layers
            };
            module.map(fill).unwrap();
        }
    }

    fn is_of_one_number(&self) -> bool {
        let modules = [&self.first, &self.second];
        let mut layers = modules.iter().flat_map(|module| &module.layers);
        layers.all(|layer| {
            let weight = layer.weight.to_data();
            weight
                .as_slice::<f32>()
                .unwrap()
                .iter()
                .all(|value| *value == self.number as f32)
        })
    }
}

/// In the child: save, one number after another, until it is killed.
fn save_forever(folder: &Path) -> ! {
    let mut state = Numbered::new();
    flex().load(folder, &mut state).unwrap();
    // Not by a macro, whose output the test would keep.
    std::io::stdout()
        .write_all(format!("{READY}\n").as_bytes())
        .unwrap();
    loop {
        state.set(state.number + 1);
        flex().save(folder, &state).unwrap();
    }
}

/// Whether a save was at work: files that the manifest does not name.
fn was_hit(folder: &Path) -> bool {
    let manifest = crate::run::manifest(folder);
    let parts = manifest["parts"].as_object().unwrap().values();
    let named: Vec<&str> = parts
        .filter_map(|part| part["file"]["name"].as_str())
        .collect();
    let mut entries = std::fs::read_dir(folder).unwrap();
    entries.any(|entry| {
        let name = entry.unwrap().file_name().into_string().unwrap();
        name != "manifest.json" && !named.contains(&name.as_str())
    })
}

#[test]
fn a_hundred_kills_leave_a_hundred_checkpoints() {
    if let Ok(folder) = std::env::var(FOLDER) {
        save_forever(Path::new(&folder));
    }
    let folder = tempfile::tempdir().unwrap();
    let mut state = Numbered::new();
    flex().save(folder.path(), &state).unwrap();
    let (mut hits, mut changes, mut delay) = (0, 0, 12345_u64);
    for _ in 0..KILLS {
        let mut child = Command::new(std::env::current_exe().unwrap());
        child.args(["--exact", TEST]).env(FOLDER, folder.path());
        let child = child.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = child.spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let is_ready = lines
            .map_while(Result::ok)
            .any(|line| line.ends_with(READY));
        assert!(is_ready, "the child ended");
        delay = delay
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_micros((delay >> 33) % 40_000));
        child.kill().unwrap();
        child.wait().unwrap();
        hits += u32::from(was_hit(folder.path()));
        let last = state.number;
        flex().load(folder.path(), &mut state).unwrap();
        assert!(state.number >= last, "{} after {last}", state.number);
        assert!(state.is_of_one_number(), "old and new");
        changes += u32::from(state.number > last);
    }
    println!(
        "{KILLS} kills: {hits} in the middle of a save, {changes} after one, {} saves",
        state.number
    );
    assert!(hits >= KILLS / 2, "{hits} of {KILLS} kills hit a save");
    assert!(changes > 0, "no child came to the end of a save");
    flex().save(folder.path(), &state).unwrap();
    assert!(
        !was_hit(folder.path()),
        "what was left is gone with the next save"
    );
}
