//! Gradients that wait for their group to end, by the parameters' paths.

use burn::module::ParamId;
use burn::tensor::kind::BridgeTensor;
use serde::{Deserialize, Serialize};

use super::tensors::{outgoing, placed};
use crate::checkpoint::loading::SavedPart;
use crate::checkpoint::part::Modules;
use crate::checkpoint::{Content, Kind, Loading, Saving, StateProblem, TrainingState};
use crate::error::FabricError;
use crate::gradients::{Accumulation, Waiting};
use crate::parameters::Parameter;

#[derive(Serialize, Deserialize)]
struct Record {
    /// Micro-batches of a group, and how many of the present one are done.
    size: usize,
    done: usize,
    weight: f64,
    gradients: Vec<Gradient>,
}

#[derive(Serialize, Deserialize)]
struct Gradient {
    /// The part that is its parameter's module.
    module: String,
    path: String,
}

impl Gradient {
    fn name(&self) -> String {
        format!("{}.{}", self.module, self.path)
    }

    fn of(id: ParamId, modules: &Modules) -> Option<Self> {
        modules.iter().find_map(|(module, registered)| {
            let parameters = registered.parameters();
            let parameter = parameters.iter().find(|parameter| parameter.id == id)?;
            Some(Self {
                module: module.clone(),
                path: parameter.path().to_owned(),
            })
        })
    }

    fn parameter(&self, modules: &Modules) -> Option<Parameter> {
        let (_, registered) = modules.iter().find(|(name, _)| *name == self.module)?;
        let parameters = registered.parameters();
        let parameter = parameters
            .iter()
            .find(|parameter| parameter.path() == self.path);
        parameter.cloned()
    }
}

impl TrainingState for Accumulation {
    fn save_state(&self, saving: &mut Saving) {
        let (part, waiting) = (saving.name(), self.waiting());
        saving.later(Kind::Accumulation, move |modules| {
            let (mut known, mut lost) = (Vec::new(), Vec::new());
            for (id, sum) in waiting.sums {
                match Gradient::of(id, modules) {
                    Some(gradient) => known.push((gradient, sum)),
                    None => lost.push(format!("the id {id}")),
                }
            }
            // By name: ids are others in every process.
            known.sort_by_key(|(gradient, _)| gradient.name());
            let names = known.iter().map(|(gradient, _)| gradient.name());
            let names: Vec<String> = names.collect();
            let (gradients, sums): (Vec<_>, Vec<_>) = known.into_iter().unzip();
            if !lost.is_empty() {
                let parameters = lost;
                return Err(StateProblem::NoSuchParameter { part, parameters });
            }
            let record = Record {
                size: waiting.size,
                done: waiting.done,
                weight: waiting.weight,
                gradients,
            };
            Ok(Box::new(move || {
                let content = Content::record(&part, &record)?;
                let sums = names.into_iter().zip(sums);
                Ok(content.with(sums.map(|(name, sum)| outgoing(name, sum)).collect()))
            }))
        });
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let Some((part, record)) = loading.take::<Record>(Kind::Accumulation) else {
            return;
        };
        let here = self.waiting().size;
        if record.done > 0 && record.size != here {
            let there = record.size;
            let differences = vec![format!(
                "micro-batches of a group: {there} there, {here} here"
            )];
            return loading.refuse(FabricError::OtherData { differences });
        }
        loading.later(move |modules| {
            let sums = sums(&part, &record, modules)?;
            let waiting = Waiting {
                size: here,
                done: record.done,
                weight: record.weight,
                sums,
            };
            Ok(Box::new(move || self.resume(waiting)))
        });
    }
}

fn sums(
    part: &SavedPart,
    record: &Record,
    modules: &Modules,
) -> Result<Vec<(ParamId, BridgeTensor)>, StateProblem> {
    let tensors = part.tensors()?;
    let (mut sums, mut lost) = (Vec::new(), Vec::new());
    for gradient in &record.gradients {
        let name = gradient.name();
        match (gradient.parameter(modules), &tensors) {
            (Some(parameter), Some(tensors)) => {
                let info = tensors.tensor(&name)?;
                match info.dtype.burn() {
                    Some(dtype) if info.shape == parameter.shape.as_slice() => {
                        let device = &parameter.device;
                        let sum = placed(&part.name, tensors, &name, dtype, device)?;
                        sums.push((parameter.id, sum));
                    }
                    _ => lost.push(name),
                }
            }
            _ => lost.push(name),
        }
    }
    match lost.is_empty() {
        true => Ok(sums),
        false => Err(StateProblem::NoSuchParameter {
            part: part.name.clone(),
            parameters: lost,
        }),
    }
}
