//! An optimizer: what it remembers of each parameter, by path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use burn::optim::{DynOptimizer, DynState, StateSink, StateSource};
use burn::tensor::{DType, Device, Shape, TensorData};
use burn_materialize::{Checkpoint, DefaultDTypes};
use burn_pack::Scalar;
use burn_weights::Outgoing;
use serde::{Deserialize, Serialize};

use super::moments::moments;
use super::tensors::outgoing;
use crate::checkpoint::loading::read;
use crate::checkpoint::{
    Content, Kind, Loading, OptimizerMatch, Saving, StateProblem, TrainingState,
};
use crate::data::caught;
use crate::optimizer::FabricOptimizer;

#[derive(Serialize, Deserialize)]
struct Record {
    parameters: BTreeMap<String, Parameter>,
}

/// A parameter, and what is remembered of it.
#[derive(Serialize, Deserialize)]
struct Parameter {
    optimizer: String,
    shape: Vec<usize>,
    /// None for one that was never stepped.
    state: Option<State>,
}

#[derive(Serialize, Deserialize)]
struct State {
    /// Names of tensors in the file.
    tensors: Vec<String>,
    scalars: BTreeMap<String, Scalar>,
}

/// What an optimizer shows of a parameter it updates.
pub(crate) struct Remembered {
    pub(crate) path: String,
    pub(crate) shape: Shape,
    /// The optimizer's configuration.
    pub(crate) name: &'static str,
    pub(crate) optimizer: Arc<dyn DynOptimizer>,
    /// Where its state lives.
    pub(crate) device: Device,
    pub(crate) state: Option<DynState>,
}

impl Remembered {
    /// The values of its state, which are read from the device.
    fn flatten(&self) -> Result<StateSink, String> {
        let Some(state) = &self.state else {
            return Ok(StateSink::default());
        };
        caught(|| {
            let mut sink = StateSink::default();
            self.optimizer.state_flatten(&self.path, state, &mut sink);
            sink
        })
    }

    fn failed(&self, part: &str, message: String) -> StateProblem {
        StateProblem::OptimizerState {
            part: part.to_owned(),
            path: self.path.clone(),
            message,
        }
    }

    /// Burn restores tensors in the default dtype of their device, whatever they were.
    fn check_dtype(&self, dtype: DType) -> Result<(), String> {
        let default = DType::from(DefaultDTypes::of(&self.device).float);
        match dtype == default {
            true => Ok(()),
            false => Err(format!(
                "it is in {} and Burn would restore it in {}, the device's default: build the Fabric \
                 with this `float_dtype`",
                dtype.name(),
                default.name()
            )),
        }
    }
}

/// Reads states one parameter at a time: what comes next is what was read with the last.
struct States {
    all: Vec<Remembered>,
    read: Mutex<(usize, BTreeMap<String, TensorData>)>,
}

impl States {
    fn take(&self, place: usize, name: &str) -> Result<TensorData, String> {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if read.0 == place
            && let Some(data) = read.1.remove(name)
        {
            return Ok(data);
        }
        // Let go first, so that one parameter's state is in memory and not two.
        read.1.clear();
        *read = (
            place,
            self.all[place].flatten()?.tensors.into_iter().collect(),
        );
        let data = read.1.remove(name);
        data.ok_or_else(|| "its optimizer does not show it again".to_owned())
    }
}

fn content(part: &str, all: Vec<Remembered>) -> Result<Content, StateProblem> {
    let mut parameters = BTreeMap::new();
    let mut tensors = Vec::new();
    // Of states that only copies show.
    let mut shapes = Vec::new();
    for (place, one) in all.iter().enumerate() {
        let check = |dtype| {
            let checked = one.check_dtype(dtype);
            checked.map_err(|message| one.failed(part, message))
        };
        let mut names = Vec::new();
        let state = one.state.as_ref();
        let moments = state.and_then(|state| moments(one.name, &one.path, state));
        let scalars = match moments {
            Some(moments) => {
                for (name, tensor) in moments.tensors {
                    check(tensor.dtype())?;
                    names.push(name.clone());
                    tensors.push(outgoing(name, tensor));
                }
                moments.scalars
            }
            None => {
                let sink = one.flatten().map_err(|message| one.failed(part, message))?;
                for (name, data) in sink.tensors {
                    check(data.dtype())?;
                    names.push(name.clone());
                    shapes.push((place, name, data.dtype(), data.shape().as_slice().to_vec()));
                }
                sink.scalars
            }
        };
        let state = state.map(|_| State {
            tensors: names,
            scalars: scalars.into_iter().collect(),
        });
        let parameter = Parameter {
            optimizer: one.name.to_owned(),
            shape: one.shape.as_slice().to_vec(),
            state,
        };
        parameters.insert(one.path.clone(), parameter);
    }
    let states = Arc::new(States {
        all,
        read: Mutex::new((usize::MAX, BTreeMap::new())),
    });
    tensors.extend(shapes.into_iter().map(|(place, name, dtype, shape)| {
        let (states, taken) = (states.clone(), name.clone());
        Outgoing::new(name, dtype, shape, move || {
            Ok(states.take(place, &taken)?.into_parts().0)
        })
    }));
    Ok(Content::record(part, &Record { parameters })?.with(tensors))
}

impl TrainingState for FabricOptimizer {
    fn save_state(&self, saving: &mut Saving) {
        let (part, all) = (saving.name(), self.remembered());
        saving.push(Kind::Optimizer, move || content(&part, all));
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let Some((part, record)) = loading.take::<Record>(Kind::Optimizer) else {
            return;
        };
        let tensors = match part.tensors() {
            Ok(tensors) => tensors,
            Err(problem) => return loading.fail(problem),
        };
        let saved = Saved {
            name: part.name,
            record,
            tensors,
        };
        let (mut matched, mut fresh, mut differences) = (Vec::new(), Vec::new(), Vec::new());
        let mut states = Vec::new();
        for one in self.remembered() {
            let Some(parameter) = saved.record.parameters.get(&one.path) else {
                fresh.push(one.path);
                states.push(None);
                continue;
            };
            match parameter.difference(&one) {
                Some(difference) => differences.push(difference),
                None => match saved.state(&one, parameter) {
                    Ok(state) => states.push(state),
                    Err(problem) => loading.fail(problem),
                },
            }
            matched.push(one.path);
        }
        let there = saved.record.parameters.into_keys();
        let orphaned: Vec<String> = there.filter(|path| !matched.contains(path)).collect();
        let part = saved.name;
        if !differences.is_empty() {
            return loading.fail(StateProblem::OtherOptimizer { part, differences });
        }
        let is_partial = !(orphaned.is_empty() && fresh.is_empty());
        if is_partial && (matched.is_empty() || !loading.options().allows_orphans()) {
            return loading.fail(StateProblem::OtherParameters {
                part,
                orphaned,
                fresh,
            });
        }
        loading.matched(OptimizerMatch {
            matched,
            orphaned,
            fresh,
        });
        loading.commit(move || self.restore(states));
    }
}

impl Parameter {
    fn difference(&self, here: &Remembered) -> Option<String> {
        let path = &here.path;
        if self.optimizer != here.name {
            let (there, here) = (&self.optimizer, here.name);
            return Some(format!("`{path}`: {there} there, {here} here"));
        }
        let (there, here) = (&self.shape, here.shape.as_slice());
        (there != here).then(|| format!("`{path}`: the shape {there:?} there, {here:?} here"))
    }
}

struct Saved {
    name: String,
    record: Record,
    tensors: Option<Checkpoint>,
}

impl Saved {
    fn state(&self, one: &Remembered, saved: &Parameter) -> Result<Option<DynState>, StateProblem> {
        let Some(state) = &saved.state else {
            return Ok(None);
        };
        let failed = |message| one.failed(&self.name, message);
        let mut source = StateSource::new(state.scalars.clone());
        for name in &state.tensors {
            let tensors = self.tensors.as_ref();
            let tensors =
                tensors.ok_or_else(|| failed("the checkpoint has no tensors".to_owned()))?;
            let data = read(tensors, name)?;
            one.check_dtype(data.dtype()).map_err(failed)?;
            source.insert_tensor(name.clone(), data);
        }
        let rank = one.shape.rank();
        let restored = caught(|| {
            let device = &one.device;
            one.optimizer
                .state_unflatten(rank, &one.path, &mut source, device)
        });
        let restored = restored.map_err(failed)?;
        match restored {
            Some(state) => Ok(Some(state)),
            None => Err(failed(
                "what the checkpoint has is not all of it".to_owned(),
            )),
        }
    }
}
