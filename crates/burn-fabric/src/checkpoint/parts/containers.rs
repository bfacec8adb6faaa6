//! Parts that are there or not, and several of a kind.

use std::sync::Arc;

use crate::checkpoint::{Loading, Saving, TrainingState};
use crate::data::FabricDataLoader;

impl<T: TrainingState> TrainingState for Option<T> {
    fn save_state(&self, saving: &mut Saving) {
        if let Some(part) = self {
            part.save_state(saving);
        }
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        if let Some(part) = self {
            part.load_state(loading);
        }
    }
}

impl<T: TrainingState> TrainingState for Vec<T> {
    fn save_state(&self, saving: &mut Saving) {
        for (number, part) in self.iter().enumerate() {
            saving.part(&number.to_string(), part);
        }
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        for (number, part) in self.iter_mut().enumerate() {
            loading.part(&number.to_string(), part);
        }
    }
}

impl<T: TrainingState + ?Sized> TrainingState for Box<T> {
    fn save_state(&self, saving: &mut Saving) {
        (**self).save_state(saving);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        (**self).load_state(loading);
    }
}

/// Parts that are held elsewhere: a struct of references can be a state.
impl<T: TrainingState + ?Sized> TrainingState for &mut T {
    fn save_state(&self, saving: &mut Saving) {
        (**self).save_state(saving);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        (**self).load_state(loading);
    }
}

/// A loop that goes through a loader's batches borrows it, where the state is to be changed as well.
impl<O: 'static> TrainingState for Arc<FabricDataLoader<O>> {
    fn save_state(&self, saving: &mut Saving) {
        (**self).save_state(saving);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        (**self).load_position(loading);
    }
}
