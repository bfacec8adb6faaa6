//! Values that serde knows.

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::checkpoint::{Content, Kind, Loading, Saving, StateProblem, TrainingState};

/// A value that is only saved.
pub(in crate::checkpoint) struct Saved<'v, T>(pub(in crate::checkpoint) &'v T);

impl<T: Serialize> TrainingState for Saved<'_, T> {
    fn save_state(&self, saving: &mut Saving) {
        let part = saving.name();
        match Content::record(self.0) {
            Ok(content) => saving.push(Kind::Value, move || Ok(content)),
            Err(message) => saving.fail(StateProblem::Value { part, message }),
        }
    }

    fn load_state<'s>(&'s mut self, _loading: &mut Loading<'s>) {
        unreachable!("made for saving only");
    }
}

pub(in crate::checkpoint) fn load_value<'s, T: DeserializeOwned>(
    loading: &mut Loading<'s>,
    value: &'s mut T,
) {
    let Some(part) = loading.take(Kind::Value) else {
        return;
    };
    match part.record() {
        Ok(loaded) => loading.commit(move || *value = loaded),
        Err(problem) => loading.fail(problem),
    }
}

macro_rules! values {
    ($($value:ty)*) => {$(
        impl TrainingState for $value {
            fn save_state(&self, saving: &mut Saving) {
                Saved(self).save_state(saving);
            }

            fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
                load_value(loading, self);
            }
        }
    )*};
}

values! { bool char f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize String }
