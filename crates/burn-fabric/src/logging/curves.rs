//! Curves as pictures.

mod picture;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use self::picture::Points;
use super::file::replace;
use super::warn::warn;
use super::{JsonLinesLogger, Logger, LoggerError};

/// At least so long between two pictures that nobody asked for.
const PAUSE: Duration = Duration::from_secs(5);

/// Draws all values by step into `curves.svg` and `curves.png`, where its file is called `curves`: a
/// panel for each last part of a name, so that `train/loss` and `valid/loss` are in one.
///
/// They are drawn by [`flush`](Logger::flush), at the end, and every few seconds in between. What is
/// not finite is a gap. The values themselves go into `curves.points.jsonl`, a line a call: a process
/// that resumes, or goes on, draws those of the earlier one from there, to the last one logged and
/// whatever the other loggers are.
///
/// ```
/// use burn_fabric::{CurvesLogger, Loggers};
///
/// let folder = tempfile::tempdir()?;
/// let mut loggers = Loggers::new().with(CurvesLogger::at(folder.path().join("curves")));
/// for step in 0..100 {
///     let loss = 1.0 / (step + 1) as f64;
///     loggers.log(step, [("train/loss", loss), ("valid/loss", 1.1 * loss)]);
/// }
/// loggers.flush();
/// assert!(folder.path().join("curves.svg").exists() && folder.path().join("curves.png").exists());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct CurvesLogger {
    stem: PathBuf,
    points: JsonLinesLogger,
    /// By name; unknown until an earlier process's were looked for.
    curves: Option<BTreeMap<String, Points>>,
    /// There is something that the pictures do not show.
    changed: bool,
    next: Instant,
}

impl CurvesLogger {
    /// Draw into `stem` with `.svg` and `.png` behind it; folders that are missing are made.
    pub fn at(stem: impl Into<PathBuf>) -> Self {
        let stem = stem.into();
        Self {
            points: JsonLinesLogger::at(with(&stem, ".points.jsonl")),
            stem,
            curves: None,
            changed: false,
            next: Instant::now() + PAUSE,
        }
    }

    /// All curves, those of an earlier process at first.
    fn curves(&mut self) -> Result<&mut BTreeMap<String, Points>, LoggerError> {
        let curves = match self.curves.take() {
            Some(curves) => curves,
            None => self.read()?,
        };
        Ok(self.curves.insert(curves))
    }

    fn read(&self) -> Result<BTreeMap<String, Points>, LoggerError> {
        if !self.points.path().exists() {
            for picture in [with(&self.stem, ".svg"), with(&self.stem, ".png")] {
                if picture.exists() {
                    return Err(LoggerError::OtherFile {
                        path: picture,
                        found: "a picture without the points it was drawn from".to_owned(),
                    });
                }
            }
        }
        let mut curves = BTreeMap::<String, Points>::new();
        for (step, values) in self.points.read()? {
            for (name, value) in values {
                curves.entry(name).or_default().push((step, value));
            }
        }
        Ok(curves)
    }

    fn draw(&mut self) -> Result<(), LoggerError> {
        if !self.changed {
            return Ok(());
        }
        let start = Instant::now();
        let drawn = picture::draw(self.curves()?);
        let picture = drawn.map_err(|source| LoggerError::Custom { source })?;
        for (ending, contents) in [(".svg", picture.svg), (".png", picture.png)] {
            let path = with(&self.stem, ending);
            replace(&path, &contents)?;
        }
        self.changed = false;
        // A twentieth of the time at most, however many points there are.
        self.next = Instant::now() + PAUSE.max(20 * start.elapsed());
        Ok(())
    }
}

/// A path with something behind it; what is behind its last dot stays.
fn with(stem: &Path, ending: &str) -> PathBuf {
    let mut path = stem.as_os_str().to_owned();
    path.push(ending);
    path.into()
}

impl Logger for CurvesLogger {
    fn name(&self) -> String {
        format!("the curves {}", with(&self.stem, ".svg").display())
    }

    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), LoggerError> {
        self.curves()?;
        self.points.log(step, values)?;
        let curves = self.curves()?;
        for (name, value) in values {
            let name = (*name).to_owned();
            curves.entry(name).or_default().push((step, *value));
        }
        self.changed = true;
        match Instant::now() < self.next {
            true => Ok(()),
            false => {
                // If it fails, not with each of the next values again.
                self.next = Instant::now() + PAUSE;
                self.draw()
            }
        }
    }

    fn resume_at(&mut self, step: u64) -> Result<(), LoggerError> {
        self.curves()?;
        self.points.resume_at(step)?;
        let curves = self.curves()?;
        for points in curves.values_mut() {
            points.retain(|(of_point, _)| *of_point < step);
        }
        curves.retain(|_, points| !points.is_empty());
        self.changed = true;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoggerError> {
        self.points.flush()?;
        self.draw()
    }
}

impl Drop for CurvesLogger {
    fn drop(&mut self) {
        // Of a process that ends without `flush`; what is wrong was said, or is said now.
        if !std::thread::panicking()
            && let Err(error) = self.draw()
        {
            warn(&format!("{}: {error}", self.name()));
        }
    }
}
