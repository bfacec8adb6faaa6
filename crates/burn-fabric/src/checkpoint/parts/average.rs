//! A moving average of weights.

use std::collections::HashMap;

use burn::tensor::Tensor;
use burn::tensor::kind::BridgeTensor;
use burn_materialize::Checkpoint;
use serde::{Deserialize, Serialize};

use super::tensors::{outgoing, placed};
use crate::checkpoint::loading::SavedPart;
use crate::checkpoint::{Content, Kind, Loading, Saving, StateProblem, TrainingState};
use crate::ema::MovingAverage;
use crate::gradients::with_rank;

#[derive(Serialize, Deserialize)]
struct Record {
    paths: Vec<String>,
}

impl TrainingState for MovingAverage {
    fn save_state(&self, saving: &mut Saving) {
        let part = saving.name();
        let mut averages: Vec<(String, BridgeTensor)> =
            self.averages().clone().into_iter().collect();
        averages.sort_by(|first, second| first.0.cmp(&second.0));
        saving.push(Kind::Average, move || {
            let paths = averages.iter().map(|(path, _)| path.clone()).collect();
            let content = Content::record(&part, &Record { paths })?;
            let averages = averages.into_iter();
            let tensors = averages.map(|(path, tensor)| outgoing(path, tensor));
            Ok(content.with(tensors.collect()))
        });
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let Some((part, record)) = loading.take(Kind::Average) else {
            return;
        };
        match self.loaded(&part, record) {
            Ok(averages) => loading.commit(move || *self.averages_mut() = averages),
            Err(problem) => loading.fail(problem),
        }
    }
}

impl MovingAverage {
    fn loaded(
        &self,
        part: &SavedPart,
        record: Record,
    ) -> Result<HashMap<String, BridgeTensor>, StateProblem> {
        let tensors = part.tensors()?;
        let mut unknown = Vec::new();
        let mut averages = HashMap::new();
        for path in record.paths {
            match (self.averages().get(&path), &tensors) {
                (Some(now), Some(tensors))
                    if now.shape().as_slice() == tensors.tensor(&path)?.shape =>
                {
                    averages.insert(path.clone(), like(now, &part.name, tensors, &path)?);
                }
                _ => unknown.push(path),
            }
        }
        let missing = self
            .averages()
            .keys()
            .filter(|path| !averages.contains_key(*path));
        unknown.extend(missing.cloned());
        unknown.sort();
        unknown.dedup();
        match unknown.is_empty() {
            true => Ok(averages),
            false => Err(StateProblem::NoSuchParameter {
                part: part.name.clone(),
                parameters: unknown,
            }),
        }
    }
}

/// A tensor of the checkpoint, where another is and in its dtype.
fn like(
    now: &BridgeTensor,
    part: &str,
    tensors: &Checkpoint,
    path: &str,
) -> Result<BridgeTensor, StateProblem> {
    let device =
        with_rank!(now.shape().rank(), D => Tensor::<D>::from_bridge(now.clone()).device());
    placed(part, tensors, path, now.dtype(), &device)
}
