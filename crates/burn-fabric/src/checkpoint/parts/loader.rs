//! Where a loader is.

use crate::checkpoint::{Content, Kind, Loading, Saving, StateProblem, TrainingState};
use crate::data::{DataPosition, FabricDataLoader};

impl<O: 'static> TrainingState for FabricDataLoader<O> {
    fn save_state(&self, saving: &mut Saving) {
        let position = self.position();
        let part = saving.name();
        saving.push(Kind::Loader, move || {
            Content::record(&position).map_err(|message| StateProblem::Value { part, message })
        });
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        self.load_position(loading);
    }
}

impl<O: 'static> FabricDataLoader<O> {
    pub(super) fn load_position<'s>(&'s self, loading: &mut Loading<'s>) {
        let Some(part) = loading.take(Kind::Loader) else {
            return;
        };
        match part.record::<DataPosition>() {
            Err(problem) => loading.fail(problem),
            Ok(position) => match self.check(&position) {
                Err(error) => loading.refuse(error),
                Ok(()) => loading.commit(move || self.go_to(&position)),
            },
        }
    }
}
