//! Where a loader is.

use crate::checkpoint::{Kind, Loading, Saving, TrainingState};
use crate::data::{DataPosition, FabricDataLoader};

impl<O: 'static> TrainingState for FabricDataLoader<O> {
    fn save_state(&self, saving: &mut Saving) {
        saving.record(Kind::Loader, &self.position());
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        self.load_position(loading);
    }
}

impl<O: 'static> FabricDataLoader<O> {
    pub(super) fn load_position<'s>(&'s self, loading: &mut Loading<'s>) {
        let Some((_, position)) = loading.take::<DataPosition>(Kind::Loader) else {
            return;
        };
        match self.check(&position) {
            Err(error) => loading.refuse(error),
            Ok(()) => loading.commit(move || self.go_to(&position)),
        }
    }
}
