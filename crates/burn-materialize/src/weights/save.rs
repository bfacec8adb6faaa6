//! Saving a module.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use burn::module::ParamId;
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{BoolStore, Bytes, DType};
use burn_meta::{read, swapped};
use burn_weights::{Outgoing, WriteFormat, WriteOptions, Written, write};

use super::layout::LAYOUT_KEY;
use super::names::Candidate;
use super::stacks::stacks;
use super::{Layout, Lineage, Progress};
use crate::Materialize;
use crate::error::{MaterializeError, Problem, Problems};
use crate::inventory::{Entry, State, inventory};
use crate::site::{Role, Site};
use crate::slot::Slot;
use crate::tie::check_real_ties;
use crate::train::valid;
use crate::traversal::{Pass, traverse};

/// How a module is saved: by default in Burn's layout, in one file, without replacing one.
#[derive(Clone, Debug, Default)]
pub struct SaveOptions {
    layout: Layout,
    buffers: bool,
    write: WriteOptions,
}

impl SaveOptions {
    /// The defaults.
    pub fn new() -> Self {
        Self::default()
    }

    /// Name and hold tensors as Burn's stores do (the default) or as `torch.nn`, which packs the
    /// projections of an attention and the gates of a recurrent layer.
    pub fn layout(mut self, layout: Layout) -> Self {
        self.layout = layout;
        self
    }

    /// Save plain tensors too, which a constructor computes and no store of Burn's keeps.
    pub fn buffers(mut self, save: bool) -> Self {
        self.buffers = save;
        self
    }

    /// The format; without it the path's ending says it: `.bpk` is burnpack, all else safetensors.
    pub fn format(mut self, format: WriteFormat) -> Self {
        self.write.format = Some(format);
        self
    }

    /// Begin another file before one has more bytes of tensors than this, with an index of all.
    pub fn max_shard_bytes(mut self, bytes: u64) -> Self {
        self.write.max_shard_bytes = Some(bytes);
        self
    }

    /// Keep a text beside the tensors.
    pub fn metadata(mut self, key: impl Into<String>, text: impl Into<String>) -> Self {
        self.write.metadata.insert(key.into(), text.into());
        self
    }

    /// Replace what is there. Until the new file is complete the old one stays.
    pub fn overwrite(mut self, overwrite: bool) -> Self {
        self.write.overwrite = overwrite;
        self
    }

    /// Call `report` after each tensor.
    pub fn on_progress(mut self, report: impl Fn(Progress) + Send + Sync + 'static) -> Self {
        let report = move |done, total| report(Progress { done, total });
        self.write.on_progress = Some(Arc::new(report));
        self
    }
}

/// Save the parameters and running states of a module; of a tie, one value and its other names.
///
/// Tensors are read from their device one at a time. The file is written beside its place and
/// renamed, so that a crash leaves the old one or the new one.
///
/// # Errors
/// [`MaterializeError::Refused`] with [`Problem::NothingToSave`] for every tensor that has no value
/// yet, with [`Problem::OneIdTwoTensors`] for a tie that is none any more: Burn's own optimizers
/// update the first path of one only. [`MaterializeError::Checkpoint`] when it cannot be written.
/// What was there is as it was.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use burn_materialize::{Layout, SaveOptions, reset_to_defaults, save};
///
/// let folder = tempfile::tempdir()?;
/// let mut linear = LinearConfig::new(4, 2).init(&Device::flex());
/// reset_to_defaults(&mut linear, 42)?; // a lazy parameter has no value to save
/// let options = SaveOptions::new().layout(Layout::PyTorch).max_shard_bytes(16);
/// let written = save(&linear, folder.path().join("linear.safetensors"), &options)?;
/// assert_eq!(written.files.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn save<M: Materialize>(
    module: &M,
    path: impl AsRef<Path>,
    options: &SaveOptions,
) -> Result<Written, MaterializeError> {
    save_plan(module, options)?.write(path)
}

/// What [`save`] writes: the tensors of a module as they are now, whatever is done to it later. They
/// are read when they are written, which another thread may do.
///
/// ```
/// use burn::nn::LinearConfig;
/// use burn::tensor::Device;
/// use burn_materialize::{SaveOptions, reset_to_defaults, save_plan};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("linear.safetensors");
/// let mut linear = LinearConfig::new(4, 2).init(&Device::flex());
/// reset_to_defaults(&mut linear, 42)?;
/// let plan = save_plan(&linear, &SaveOptions::new())?;
/// let writing = std::thread::spawn(move || plan.write(path));
/// reset_to_defaults(&mut linear, 43)?; // not what is saved
/// assert_eq!(writing.join().unwrap()?.bytes, 40);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SavePlan {
    tensors: Vec<Outgoing>,
    options: WriteOptions,
}

impl SavePlan {
    /// Write it, as [`save`] does.
    ///
    /// # Errors
    /// [`MaterializeError::Checkpoint`] when it cannot be written; what was there is as it was.
    pub fn write(self, path: impl AsRef<Path>) -> Result<Written, MaterializeError> {
        Ok(write(path, self.tensors, &self.options)?)
    }
}

/// Collect what [`save`] writes.
///
/// # Errors
/// As [`save`] refuses.
pub fn save_plan<M: Materialize>(
    module: &M,
    options: &SaveOptions,
) -> Result<SavePlan, MaterializeError> {
    check_real_ties(module, &inventory(module))?;
    let layout = match options.layout {
        Layout::PyTorch => Layout::PyTorch,
        Layout::Burn | Layout::Auto => Layout::Burn,
    };
    let mut collect = Collect {
        layout,
        buffers: options.buffers,
        tensors: Vec::new(),
        firsts: HashMap::new(),
        ties: Vec::new(),
        problems: Vec::new(),
    };
    // Without autodiff, whose tensors can only be read by copying them.
    traverse(valid(module), &mut collect);
    if !collect.problems.is_empty() {
        return Err(MaterializeError::Refused(Problems(collect.problems)));
    }
    let mut write_options = options.write.clone();
    let metadata = &mut write_options.metadata;
    metadata.insert(LAYOUT_KEY.to_owned(), layout.key().to_owned());
    if layout == Layout::PyTorch {
        // Readers of the Python world ask for it.
        metadata
            .entry("format".to_owned())
            .or_insert_with(|| "pt".to_owned());
    }
    metadata.extend(collect.other_names());
    Ok(SavePlan {
        tensors: collect.outgoing(),
        options: write_options,
    })
}

/// A tensor to save, with the names it may be saved under.
pub(super) struct Kept {
    pub(super) path: String,
    pub(super) candidates: Vec<Candidate>,
    id: Option<ParamId>,
    tensor: BridgeTensor,
    pub(super) shape: Vec<usize>,
    dtype: DType,
}

struct Collect {
    layout: Layout,
    buffers: bool,
    tensors: Vec<Kept>,
    /// The place in `tensors` of each id.
    firsts: HashMap<ParamId, usize>,
    /// What later paths of a tie may be called, with that place.
    ties: Vec<(Vec<Candidate>, usize)>,
    problems: Vec<Problem>,
}

impl Pass for Collect {
    fn tensor(&mut self, site: &Site<'_>, slot: &mut dyn Slot) {
        if slot.role() == Role::Buffer && !self.buffers {
            return;
        }
        let entry = Entry::new(site, slot);
        if entry.state != State::Real {
            self.problems.push(Problem::NothingToSave {
                path: entry.path,
                state: entry.state,
            });
            return;
        }
        let rank = entry.shape.num_dims();
        let candidates = Lineage::of(site).candidates(self.layout, rank);
        if let Some(first) = entry.id.and_then(|id| self.firsts.get(&id)) {
            self.ties.push((candidates, *first));
            return;
        }
        self.firsts
            .extend(entry.id.map(|id| (id, self.tensors.len())));
        let mut tensor = match candidates[0].as_record {
            true => slot.record(),
            false => slot.tensor(),
        };
        if candidates[0].transposed {
            tensor = swapped(tensor);
        }
        self.tensors.push(Kept {
            path: entry.path,
            candidates,
            id: entry.id,
            shape: tensor.shape().as_slice().to_vec(),
            dtype: match tensor.dtype() {
                DType::Bool(_) => DType::Bool(BoolStore::Native),
                DType::Flex32 => DType::F32,
                dtype => dtype,
            },
            tensor,
        });
    }
}

impl Collect {
    /// The name of each tensor, by place in `tensors`.
    fn names(&self) -> Vec<&Candidate> {
        let stacks = stacks(&self.tensors);
        let preferred = self.tensors.iter().map(|kept| {
            let level = kept.candidates.iter().find(|candidate| {
                let level = candidate.level.as_ref();
                level.is_some_and(|level| stacks.contains(level.list.as_str()))
            });
            level.unwrap_or(&kept.candidates[0])
        });
        let preferred: Vec<&Candidate> = preferred.collect();
        let mut packs: HashMap<&str, Vec<&Kept>> = HashMap::new();
        for (kept, candidate) in self.tensors.iter().zip(&preferred) {
            packs.entry(&candidate.name).or_default().push(kept);
        }
        let is_whole = |kept: &Kept, candidate: &Candidate| match candidate.part {
            None => true,
            // All parts are there, and they fit together.
            Some((_, of)) => {
                let pack = &packs[candidate.name.as_str()];
                let alike = |other: &&Kept| other.shape == kept.shape && other.dtype == kept.dtype;
                pack.len() == of && pack.iter().all(alike)
            }
        };
        let named = self.tensors.iter().zip(preferred);
        let named = named.map(|(kept, preferred)| match is_whole(kept, preferred) {
            true => preferred,
            false => alone(&kept.candidates),
        });
        named.collect()
    }

    /// The names of ties that are not written, as every reader of this metadata takes them.
    fn other_names(&self) -> BTreeMap<String, String> {
        let names = self.names();
        let mut others: BTreeMap<String, String> = BTreeMap::new();
        // Of what is packed: how many parts of one tensor are the same ones of another.
        let mut packs: BTreeMap<(&str, &str), usize> = BTreeMap::new();
        for (candidates, first) in &self.ties {
            let first = names[*first];
            match (first.part, candidates[0].part) {
                (None, _) => {
                    others.insert(alone(candidates).name.clone(), first.name.clone());
                }
                (part @ Some((_, of)), other) if part == other => {
                    let parts = packs.entry((&candidates[0].name, &first.name)).or_default();
                    *parts += 1;
                    if *parts == of {
                        others.insert(candidates[0].name.clone(), first.name.clone());
                    }
                }
                _ => {}
            }
        }
        others
    }

    fn outgoing(&self) -> Vec<Outgoing> {
        type Parts<'k> = Vec<(&'k Kept, Option<(usize, usize)>)>;
        let mut written: Vec<(&str, Parts<'_>)> = Vec::new();
        let mut places: HashMap<&str, usize> = HashMap::new();
        for (kept, candidate) in self.tensors.iter().zip(self.names()) {
            let place = *places.entry(&candidate.name).or_insert(written.len());
            if place == written.len() {
                written.push((&candidate.name, Vec::new()));
            }
            written[place].1.push((kept, candidate.part));
        }
        let outgoing = written.into_iter().map(|(name, mut parts)| {
            parts.sort_by_key(|(_, part)| *part);
            let first = parts[0].0;
            let mut shape = first.shape.clone();
            if let Some(rows) = shape.first_mut() {
                *rows *= parts.len();
            }
            let (dtype, id) = (first.dtype, first.id);
            let tensors = parts.iter().map(|(kept, _)| kept.tensor.clone());
            let tensors: Vec<BridgeTensor> = tensors.collect();
            let id = id.filter(|_| parts.len() == 1).map(|id| id.val());
            Outgoing::new(name, dtype, shape, move || values(&tensors, dtype)).with_param_id(id)
        });
        outgoing.collect()
    }
}

/// The first name under which a tensor is not part of another.
fn alone(candidates: &[Candidate]) -> &Candidate {
    let mut alone = candidates.iter().filter(|name| name.part.is_none());
    alone.next().expect("every tensor has a name of its own")
}

/// The values of tensors, one after the other.
fn values(tensors: &[BridgeTensor], dtype: DType) -> Result<Bytes, String> {
    let one = |tensor: &BridgeTensor| -> Result<Bytes, String> {
        let data = read(tensor.clone()).map_err(|error| error.reason().to_owned())?;
        let data = if data.dtype() == dtype {
            data
        } else {
            data.convert_dtype(dtype)
        };
        Ok(data.into_parts().0)
    };
    match tensors {
        [tensor] => one(tensor),
        tensors => {
            let mut all = Vec::new();
            for tensor in tensors {
                all.extend_from_slice(&one(tensor)?);
            }
            Ok(Bytes::from_bytes_vec(all))
        }
    }
}
