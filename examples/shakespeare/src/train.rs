//! The loop.

use burn_fabric::StepReport;
use burn_fabric::prelude::*;
use run_common::Ended;

use crate::{Batch, Stacked, Training, Windows};

/// Windows of a batch in a test.
const TEST_BATCH: usize = 64;

/// The windows held out, for [`train`].
///
/// # Errors
/// As [`Fabric::setup_dataloader`].
pub fn test_loader(
    fabric: &Fabric,
    windows: Windows,
) -> Result<FabricDataLoader<Batch>, FabricError> {
    let loader = LoaderOverDataset::new(windows, Stacked)
        .batch_size(TEST_BATCH)
        .inference(true);
    fabric.setup_dataloader(loader)
}

/// The mean loss of the windows held out, in nats a character.
fn test(
    fabric: &Fabric,
    training: &Training,
    windows: &FabricDataLoader<Batch>,
) -> Result<f64, FabricError> {
    fabric.evaluate(&training.model, |model, _| {
        let (mut sum, mut count) = (0.0, 0);
        for batch in windows.iter() {
            let batch = batch?;
            let [windows, _] = batch.symbols.dims();
            let loss: f32 = model.loss(batch).into_scalar();
            sum += f64::from(loss) * windows as f64;
            count += windows;
        }
        Ok(sum / count as f64)
    })?
}

/// Train from where the state is, to the end, a callback's or the last step's, or to an interrupt; what the
/// model becomes follows from its weights, the texts, the seed and the settings alone.
///
/// # Errors
/// As [`Fabric::backward`], [`add`](burn_fabric::Accumulation::add), [`Fabric::clip_gradients`],
/// [`FabricOptimizer::step`], [`Callbacks::after_step`] and [`Checkpoints::save`]; where a batch cannot
/// be made.
pub fn train(
    fabric: &Fabric,
    training: &mut Training,
    windows: &FabricDataLoader<Batch>,
    checkpoints: &Checkpoints,
    interrupt: &Interrupt,
    loggers: &mut Loggers,
) -> Result<Ended, FabricError> {
    let (steps, test_every) = (training.settings.steps, training.settings.test_every);
    let progress = fabric.progress(u64::from(steps));
    progress.resume_at(u64::from(training.steps()));
    training.journal.begin(&progress);
    while !training.is_over() {
        let mut losses = Vec::new();
        for (batch, place) in training.accumulation.groups(training.data.iter()) {
            let loss = training.model.loss(batch?);
            losses.push(f64::from(loss.clone().into_scalar::<f32>()));
            let gradients = fabric.backward(loss, &training.model)?;
            let gradients = training
                .accumulation
                .add(place, &training.model, gradients)?;
            let Some(mut gradients) = gradients else {
                continue;
            };
            let clip = fabric.settings().clip;
            let clipped = fabric.clip_gradients(&training.model, &mut gradients, clip)?;
            let rate = training.scheduler.step();
            let base_rate = rate.base();
            let model = &mut training.model;
            let report = match clipped.is_skipped() {
                true => StepReport::default(),
                false => training.optimizer.step(rate, model, gradients)?,
            };
            // In mixed-f16 the scale of the loss may have been too high.
            let is_left_out = clipped.is_skipped() || report.is_skipped();
            let loss = losses.iter().sum::<f64>() / losses.len() as f64;
            losses.clear();
            training.journal.step(loss, is_left_out);
            progress.step(loss);

            let step = training.steps();
            let seen = AfterStep::new(u64::from(step), &report).loss(loss);
            let seen = seen.rate(base_rate).clipped(&clipped);
            training.callbacks.after_step(&mut training.model, seen)?;

            let mut logged = vec![
                ("train/loss", loss),
                ("train/norm", clipped.norm),
                ("rate", base_rate),
            ];
            let mut measured = Vec::new();
            if step.is_multiple_of(test_every) || step == steps {
                let loss = test(fabric, training, windows)?;
                training.journal.tested(loss, &progress);
                logged.push(("test/loss", loss));
                measured.push(("test_loss", loss));
                let seen = Evaluation::new(
                    u64::from(step),
                    training.data.epoch(),
                    [("test_loss", loss)],
                );
                training
                    .callbacks
                    .on_evaluation(&mut training.model, seen)?;
            }
            loggers.log(u64::from(step), logged);
            let is_interrupted = interrupt.is_requested();
            if is_interrupted || !measured.is_empty() {
                loggers.flush();
                let folder = checkpoints.save(training, u64::from(step), measured)?;
                if is_interrupted && !training.is_over() {
                    return Ok(Ended::Interrupted(folder));
                }
            }
            if training.is_over() {
                break;
            }
        }
    }
    Ok(Ended::Done)
}
