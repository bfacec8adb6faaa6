//! What a checkpoint keeps of callbacks, and of those that panicked.

use std::any::Any;

use super::Callback;
use super::collection::Callbacks;
use super::entry::{Entry, OnError, report};
use super::seen::Point;
use crate::checkpoint::{Loading, Saving, TrainingState};
use crate::error::FabricError;
use crate::logging::message_of_caught;

/// The part that is no callback's.
pub(super) const STOP: &str = "stop_reason";

/// The part that names those of which nothing was kept; there only if there are such.
pub(super) const PANICKED: &str = "panicked";

fn panicked(callback: &str, point: Point, panic: Box<dyn Any + Send>) -> FabricError {
    FabricError::CallbackPanicked {
        callback: callback.to_owned(),
        point,
        message: message_of_caught(panic),
    }
}

impl<S: 'static> TrainingState for Callbacks<S> {
    fn save_state(&self, saving: &mut Saving) {
        saving.value(STOP, &self.stop_reason);
        let mut left_out = Vec::new();
        for entry in &self.entries {
            if !entry.panicked.is_so()
                && let Err(panic) = saving.try_part(&entry.part, &*entry.callback)
            {
                entry.panicked.mark();
                let problem = panicked(&entry.name, Point::SaveState, panic);
                match entry.on_error.unwrap_or(self.on_error) {
                    OnError::Stop => saving.refuse(problem),
                    OnError::Report => entry.panicked.reported_by_save(problem),
                }
            }
            // What it remembers may be broken: a program that loads this starts it over.
            if entry.panicked.is_so() {
                left_out.push(&entry.part);
            }
        }
        if !left_out.is_empty() {
            saving.value(PANICKED, &left_out);
        }
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        let Self {
            entries,
            on_error,
            stop_reason,
            problems,
        } = self;
        loading.value(STOP, stop_reason);
        let left_out: Vec<String> = loading.value_if_there(PANICKED).unwrap_or_default();
        let mut start_over = Vec::new();
        for entry in entries {
            let Entry {
                callback,
                name,
                part,
                on_error: own,
                panicked: mark,
            } = entry;
            if mark.is_so() {
                loading.pass_over(part); // as at every point
            } else if left_out.contains(part) {
                let callback = name.clone();
                start_over.push(FabricError::CallbackStartsOver { callback });
            } else if let Err(panic) = loading.try_part(part, &mut **callback) {
                mark.mark();
                let problem = panicked(name, Point::LoadState, panic);
                loading.pass_over(part);
                match own.unwrap_or(*on_error) {
                    OnError::Stop => loading.refuse(problem),
                    OnError::Report => report(problems, problem),
                }
            }
        }
        // Not where the load is refused.
        loading.commit(move || {
            for problem in start_over {
                report(problems, problem);
            }
        });
    }
}

impl<S: 'static> TrainingState for dyn Callback<S> {
    fn save_state(&self, saving: &mut Saving) {
        Callback::save_state(self, saving);
    }

    fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
        Callback::load_state(self, loading);
    }
}
