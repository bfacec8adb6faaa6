//! One of several callbacks, and what becomes of its errors and panics.

use std::cell::{Cell, OnceCell};
use std::panic::{AssertUnwindSafe, catch_unwind};

use super::seen::Point;
use super::{Callback, CallbackResult, Flow};
use crate::error::FabricError;
use crate::logging::{message_of_caught, text_of, warn};

/// What becomes of an error or a panic in a callback.
///
/// A callback that panicked is in no checkpoint, under neither: a mark stands there for it. A program
/// that loads it keeps the callback as it was made, and has
/// [`FabricError::CallbackStartsOver`] as one of its [`problems`](super::Callbacks::problems).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnError {
    /// The point returns it to the loop; callbacks after this one are not called there. A panic while
    /// a checkpoint is written or loaded is an error of that.
    #[default]
    Stop,
    /// It is a line on stderr and one of [`problems`](super::Callbacks::problems), and the run goes on. One
    /// that panicked is left out of it, and of its checkpoints.
    Report,
}

/// A callback among others.
pub(super) struct Entry<S> {
    pub(super) callback: Box<dyn Callback<S>>,
    pub(super) name: String,
    /// The name of its part in a checkpoint.
    pub(super) part: String,
    /// Where it differs from that of all.
    pub(super) on_error: Option<OnError>,
    pub(super) panicked: Panicked,
}

/// Whether it panicked: then it is not called again. A save, which changes nothing, can find out too.
#[derive(Debug, Default)]
pub(super) struct Panicked {
    is_so: Cell<bool>,
    in_save: OnceCell<FabricError>,
}

impl Panicked {
    pub(super) fn is_so(&self) -> bool {
        self.is_so.get()
    }

    pub(super) fn mark(&self) {
        self.is_so.set(true);
    }

    /// A save found out, and it is only reported.
    pub(super) fn reported_by_save(&self, problem: FabricError) {
        warn(&text_of(&problem));
        // There is none yet: it was not called again.
        let _ = self.in_save.set(problem);
    }
}

impl<S> Entry<S> {
    pub(super) fn new(
        callback: Box<dyn Callback<S>>,
        name: String,
        part: String,
        on_error: Option<OnError>,
    ) -> Self {
        Self {
            callback,
            name,
            part,
            on_error,
            panicked: Panicked::default(),
        }
    }

    pub(super) fn panic_in_save(&self) -> Option<&FabricError> {
        self.panicked.in_save.get()
    }

    /// Call it, unless it has panicked before.
    pub(super) fn call(
        &mut self,
        point: Point,
        call: impl FnOnce(&mut dyn Callback<S>) -> CallbackResult,
    ) -> Result<Flow, FabricError> {
        if self.panicked.is_so() {
            return Ok(Flow::Continue);
        }
        // Nobody sees what a panic left of it: it is not called again.
        let done = catch_unwind(AssertUnwindSafe(|| call(&mut *self.callback)));
        let callback = || self.name.clone();
        match done {
            Ok(Ok(flow)) => Ok(flow),
            Ok(Err(source)) => Err(FabricError::Callback {
                callback: callback(),
                point,
                source,
            }),
            Err(panic) => {
                self.panicked.mark();
                Err(FabricError::CallbackPanicked {
                    callback: callback(),
                    point,
                    message: message_of_caught(panic),
                })
            }
        }
    }
}

/// Say it, and keep it.
pub(super) fn report(problems: &mut Vec<FabricError>, problem: FabricError) {
    warn(&text_of(&problem));
    problems.push(problem);
}
