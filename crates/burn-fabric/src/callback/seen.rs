//! The points of a loop, and what there is to see at each.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use crate::gradients::Clipped;
use crate::optimizer::StepReport;

/// A point of a training loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Point {
    /// [`Callback::after_setup`](super::Callback::after_setup).
    AfterSetup,
    /// [`Callback::on_epoch_begin`](super::Callback::on_epoch_begin).
    EpochBegin,
    /// [`Callback::before_step`](super::Callback::before_step).
    BeforeStep,
    /// [`Callback::after_step`](super::Callback::after_step).
    AfterStep,
    /// [`Callback::on_evaluation`](super::Callback::on_evaluation).
    Evaluation,
    /// [`Callback::on_epoch_end`](super::Callback::on_epoch_end).
    EpochEnd,
    /// [`Callback::on_save`](super::Callback::on_save).
    Save,
    /// [`Callback::on_exception`](super::Callback::on_exception).
    Exception,
    /// [`Callback::save_state`](super::Callback::save_state).
    SaveState,
    /// [`Callback::load_state`](super::Callback::load_state).
    LoadState,
}

impl fmt::Display for Point {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::AfterSetup => "after set-up",
            Self::EpochBegin => "at the beginning of an epoch",
            Self::BeforeStep => "before a step",
            Self::AfterStep => "after a step",
            Self::Evaluation => "on an evaluation",
            Self::EpochEnd => "at the end of an epoch",
            Self::Save => "on a save",
            Self::Exception => "on an exception",
            Self::SaveState => "while its state was saved",
            Self::LoadState => "while its state was loaded",
        })
    }
}

/// The beginning of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EpochBegin {
    /// Its number, counted from 0.
    pub epoch: u32,
}

/// The end of an epoch.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EpochEnd {
    /// Its number, counted from 0.
    pub epoch: u32,
}

/// A step that is to be taken.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BeforeStep {
    /// Its number, as the loop counts.
    pub step: u64,
}

impl EpochBegin {
    pub(super) fn new(epoch: u32) -> Self {
        Self { epoch }
    }
}

impl EpochEnd {
    pub(super) fn new(epoch: u32) -> Self {
        Self { epoch }
    }
}

impl BeforeStep {
    pub(super) fn new(step: u64) -> Self {
        Self { step }
    }
}

/// A step that was taken, with as much as the loop knows of it.
///
/// ```
/// use burn_fabric::{AfterStep, StepReport};
///
/// let report = StepReport::default(); // of `optimizer.step`
/// let seen = AfterStep::new(3, &report).loss(0.5).rate(1e-3);
/// assert_eq!((seen.step, seen.loss), (3, Some(0.5)));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct AfterStep<'a> {
    /// Its number, as the loop counts.
    pub step: u64,
    /// What it did; nothing is updated by a step that was left out.
    pub report: &'a StepReport,
    /// Its loss, where the loop has read it: that waits for the device.
    pub loss: Option<f64>,
    /// Its learning rate.
    pub rate: Option<f64>,
    /// What clipping found.
    pub clipped: Option<&'a Clipped>,
}

impl<'a> AfterStep<'a> {
    /// The step of this number, as the loop counts, and what it did.
    pub fn new(step: u64, report: &'a StepReport) -> Self {
        Self {
            step,
            report,
            loss: None,
            rate: None,
            clipped: None,
        }
    }

    /// With its loss.
    pub fn loss(mut self, loss: impl Into<f64>) -> Self {
        self.loss = Some(loss.into());
        self
    }

    /// With its learning rate.
    pub fn rate(mut self, rate: f64) -> Self {
        self.rate = Some(rate);
        self
    }

    /// With what [`clip_gradients`](crate::Fabric::clip_gradients) returned.
    pub fn clipped(mut self, clipped: &'a Clipped) -> Self {
        self.clipped = Some(clipped);
        self
    }
}

/// An evaluation: values by name.
///
/// ```
/// use burn_fabric::Evaluation;
///
/// let seen = Evaluation::new(200, 1, [("valid/loss", 0.25), ("valid/accuracy", 0.9)]);
/// assert_eq!(seen.values["valid/accuracy"], 0.9);
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Evaluation {
    /// Steps taken before it.
    pub step: u64,
    /// The epoch it belongs to, counted from 0.
    pub epoch: u32,
    /// What was found.
    pub values: BTreeMap<String, f64>,
}

impl Evaluation {
    /// After so many steps, in this epoch, with these values.
    pub fn new<N: Into<String>>(
        step: u64,
        epoch: u32,
        values: impl IntoIterator<Item = (N, f64)>,
    ) -> Self {
        let values = values.into_iter();
        Self {
            step,
            epoch,
            values: values.map(|(name, value)| (name.into(), value)).collect(),
        }
    }
}

/// A checkpoint that was written.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Saved<'a> {
    /// Steps taken before it.
    pub step: u64,
    /// Its folder.
    pub folder: &'a Path,
}

impl<'a> Saved<'a> {
    pub(super) fn new(step: u64, folder: &'a Path) -> Self {
        Self { step, folder }
    }
}

/// What ended the loop.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exception {
    /// The error's or the panic's text.
    pub message: String,
    /// Whether it was a panic.
    pub panicked: bool,
}

impl Exception {
    pub(super) fn new(message: String, panicked: bool) -> Self {
        Self { message, panicked }
    }
}
