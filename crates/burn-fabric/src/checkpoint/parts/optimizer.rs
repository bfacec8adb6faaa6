//! An optimizer: what it remembers of each parameter, by path.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use burn::optim::{DynOptimizer, DynState, StateSink};
use burn::tensor::kind::BridgeTensor;
use burn::tensor::{DType, Device, Shape, TensorData};
use burn_materialize::{Checkpoint, DefaultDTypes};
use burn_pack::Scalar;
use burn_weights::Outgoing;
use serde::{Deserialize, Serialize};

use super::moments::moments;
use super::restore::{SavedValues, restores};
use super::tensors::{outgoing, placed};
use crate::checkpoint::loading::read;
use crate::checkpoint::{
    Content, Kind, Loading, OptimizerMatch, Saving, StateProblem, TrainingState,
};
use crate::data::caught;
use crate::optimizer::FabricOptimizer;
use crate::precision::{LossScale, LossScaler};

/// What a master weight is called after its parameter's path; no state of Burn's is.
const MASTER: &str = "master_weight";

#[derive(Serialize, Deserialize)]
struct Record {
    /// Of the losses that its gradients come from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    loss_scale: Option<LossScale>,
    parameters: BTreeMap<String, Parameter>,
}

/// A parameter, and what is remembered of it.
#[derive(Serialize, Deserialize)]
struct Parameter {
    optimizer: String,
    shape: Vec<usize>,
    /// What it is updated in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    dtype: Option<String>,
    /// What it is kept in, where that is another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    weight: Option<String>,
    /// Whether that is a weight of the optimizer's own.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    has_master: bool,
    /// The name of that weight in the file, once there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    master: Option<String>,
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
    /// The dtype of the parameter.
    pub(crate) dtype: Option<DType>,
    /// Whether it is updated through a weight in f32, and that weight once there is one.
    pub(crate) has_master: bool,
    pub(crate) master: Option<BridgeTensor>,
}

impl Remembered {
    /// The name of the dtype it is updated in.
    fn updated_in(&self) -> Option<&'static str> {
        match self.has_master {
            true => Some(DType::F32.name()),
            false => self.dtype.map(|dtype| dtype.name()),
        }
    }

    /// The name of the dtype it is kept in, where that is another.
    fn kept_in(&self) -> Option<&'static str> {
        let dtype = self.dtype.filter(|_| self.has_master);
        dtype.map(|dtype| dtype.name())
    }

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

    /// The state of an optimizer that is none of Burn's can be restored in the default dtype of its
    /// device only.
    fn check_dtype(&self, dtype: DType) -> Result<(), String> {
        let default = DType::from(DefaultDTypes::of(&self.device).float);
        match restores(self.name) || dtype == default {
            true => Ok(()),
            false => Err(format!(
                "it is in {} and would be restored in {}, the device's default: build the Fabric with \
                 this `float_dtype`, or train with an optimizer of Burn's",
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

fn content(
    part: &str,
    all: Vec<Remembered>,
    loss_scale: Option<LossScale>,
) -> Result<Content, StateProblem> {
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
        let master = one.master.clone().map(|master| {
            let name = format!("{}.{MASTER}", one.path);
            tensors.push(outgoing(name.clone(), master));
            name
        });
        let parameter = Parameter {
            optimizer: one.name.to_owned(),
            shape: one.shape.as_slice().to_vec(),
            dtype: one.updated_in().map(str::to_owned),
            weight: one.kept_in().map(str::to_owned),
            has_master: one.has_master,
            master,
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
    let record = Record {
        loss_scale,
        parameters,
    };
    Ok(Content::record(part, &record)?.with(tensors))
}

impl TrainingState for FabricOptimizer {
    fn save_state(&self, saving: &mut Saving) {
        let (part, all) = (saving.name(), self.remembered());
        let loss_scale = self.scaler().map(LossScaler::now);
        saving.push(Kind::Optimizer, move || content(&part, all, loss_scale));
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
                states.push((None, None));
                continue;
            };
            match parameter.difference(&one) {
                Some(difference) => differences.push(difference),
                None => {
                    let state = saved.state(&one, parameter);
                    let both = state.and_then(|state| Ok((state, saved.master(&one, parameter)?)));
                    match both {
                        Ok(both) => states.push(both),
                        Err(problem) => loading.fail(problem),
                    }
                }
            }
            matched.push(one.path);
        }
        let loss_scale = saved.record.loss_scale;
        if let Some(LossScale { scale, .. }) = loss_scale
            && !LossScale::is_scale(scale)
        {
            let expected = LossScale::EXPECTED;
            let message = format!("its loss scale is {scale}, and should be {expected}");
            loading.fail(StateProblem::Value {
                part: saved.name.clone(),
                message,
            });
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
        loading.commit(move || {
            self.restore(states);
            if let Some((scaler, scale)) = self.scaler().zip(loss_scale) {
                scaler.set(scale);
            }
        });
    }
}

impl Parameter {
    fn difference(&self, here: &Remembered) -> Option<String> {
        let path = &here.path;
        if self.optimizer != here.name {
            let (there, here) = (&self.optimizer, here.name);
            return Some(format!("`{path}`: {there} there, {here} here"));
        }
        let shapes = (&self.shape[..], here.shape.as_slice());
        if shapes.0 != shapes.1 {
            let (there, here) = shapes;
            return Some(format!(
                "`{path}`: the shape {there:?} there, {here:?} here"
            ));
        }
        if let Some((there, now)) = self.dtype.as_deref().zip(here.updated_in())
            && there != now
        {
            return Some(format!("`{path}`: updated in {there} there, in {now} here"));
        }
        if let Some((there, now)) = self.weight.as_deref().zip(here.kept_in())
            && there != now
        {
            return Some(format!("`{path}`: kept in {there} there, in {now} here"));
        }
        let weight = |has_master: bool| match has_master {
            true => "a master weight",
            false => "none",
        };
        let (there, here) = (weight(self.has_master), weight(here.has_master));
        (there != here).then(|| format!("`{path}`: {there} there, {here} here"))
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
        let mut tensors = BTreeMap::new();
        for name in &state.tensors {
            let data = read(self.tensors(one)?, name)?;
            one.check_dtype(data.dtype()).map_err(failed)?;
            tensors.insert(name.clone(), data);
        }
        let values = SavedValues {
            path: &one.path,
            rank: one.shape.rank(),
            device: &one.device,
            tensors,
            scalars: &state.scalars,
        };
        let restored = caught(|| values.restore(one.name, &*one.optimizer));
        let restored = restored.and_then(|restored| restored);
        restored.map(Some).map_err(failed)
    }

    fn master(
        &self,
        one: &Remembered,
        saved: &Parameter,
    ) -> Result<Option<BridgeTensor>, StateProblem> {
        let Some(name) = &saved.master else {
            return Ok(None);
        };
        let master = placed(
            &self.name,
            self.tensors(one)?,
            name,
            DType::F32,
            &one.device,
        )?;
        Ok(Some(master))
    }

    fn tensors(&self, one: &Remembered) -> Result<&Checkpoint, StateProblem> {
        let none = || one.failed(&self.name, "the checkpoint has no tensors".to_owned());
        self.tensors.as_ref().ok_or_else(none)
    }
}
