//! TensorBoard's event files.
//!
//! The format is written here, three messages of protobuf in records with CRC-32C sums, and only the
//! sums come from a crate. There are two crates of the format, neither kept up: `tensorboard-rs` 0.5.9
//! panics where a file cannot be made or written, in a thread of its own where nobody can catch it, and
//! brings old lines of protobuf and of image codecs; `tboard` 0.1.1 needs `protoc` in the build and an
//! old line of prost. What a file must hold is small, and TensorBoard's own reader holds it in a test.

use std::fs::{self, File};
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use super::csv::sync;
use super::file::Records;
use super::{Logger, LoggerError};

/// Writes an event file of TensorBoard into a folder, one a process: a scalar a value, rounded to 32
/// bits, NaN and infinities as they are; settings as a table under `settings` in the tab of texts.
///
/// [`resume_at`](Logger::resume_at) writes the mark of a restart, from which TensorBoard leaves out
/// what earlier files say of that step and later ones.
///
/// ```
/// use burn_fabric::{Loggers, TensorBoardLogger};
///
/// let folder = tempfile::tempdir()?;
/// let mut loggers = Loggers::new().with(TensorBoardLogger::at(folder.path()));
/// loggers.log(0, [("train/loss", 0.5)]);
/// assert_eq!(std::fs::read_dir(folder.path())?.count(), 1);
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Debug)]
pub struct TensorBoardLogger {
    path: PathBuf,
    /// The file, once something is logged.
    records: Option<Records<File>>,
    /// The mark of a restart that is not written yet.
    restart: Option<u64>,
    /// The step that settings belong to: 0, or that of the restart.
    first: u64,
}

impl TensorBoardLogger {
    /// Write into `folder`, which is made with the first values.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        // So that two of one process and second are apart.
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let host = std::env::var("HOSTNAME").or_else(|_| std::env::var("COMPUTERNAME"));
        let host = host.unwrap_or_else(|_| "localhost".to_owned());
        let host = host.replace(['/', '\\'], "_");
        let name = format!(
            "events.out.tfevents.{:010}.{host}.{}.{}",
            seconds() as u64,
            std::process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        Self {
            path: folder.into().join(name),
            records: None,
            restart: None,
            first: 0,
        }
    }

    fn write(&mut self, event: &[u8]) -> Result<(), LoggerError> {
        let written = self.try_write(event);
        written.map_err(LoggerError::file(&self.path))
    }

    fn try_write(&mut self, event: &[u8]) -> io::Result<()> {
        let records = match self.records.take() {
            Some(records) => records,
            None => {
                super::file::make_folder_of(&self.path)?;
                let file = File::options().append(true).create(true).open(&self.path)?;
                let length = fs::metadata(&self.path)?.len();
                Records::new(file, length)
            }
        };
        let records = self.records.insert(records);
        if records.is_empty() {
            let version = Message::event(None).text(3, "brain.Event:2");
            records.append(&record(&version.0))?;
        }
        if let Some(step) = self.restart {
            // `SessionLog` with the status START.
            let restart = Message::event(Some(step)).message(7, &Message::default().number(1, 1));
            records.append(&record(&restart.0))?;
            self.restart = None;
        }
        records.append(&record(event))
    }
}

impl Logger for TensorBoardLogger {
    fn name(&self) -> String {
        format!("the TensorBoard file {}", self.path.display())
    }

    fn log(&mut self, step: u64, values: &[(&str, f64)]) -> Result<(), LoggerError> {
        let mut summary = Message::default();
        for (name, value) in values {
            let value = Message::default().text(1, name).float(2, *value as f32);
            summary = summary.message(1, &value);
        }
        self.write(&Message::event(Some(step)).message(5, &summary).0)
    }

    fn log_settings(&mut self, settings: &[(String, String)]) -> Result<(), LoggerError> {
        let mut table = "| name | value |\n|---|---|\n".to_owned();
        let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
        for (name, value) in settings {
            table += &format!("| {} | {} |\n", cell(name), cell(value));
        }
        let plugin = Message::default().text(1, "text");
        let metadata = Message::default().message(1, &plugin);
        // A tensor of one text: `DT_STRING`, of rank 1.
        let shape = Message::default().message(2, &Message::default().number(1, 1));
        let tensor = Message::default().number(1, 7);
        let tensor = tensor.message(2, &shape).text(8, &table);
        let value = Message::default().text(1, "settings");
        let value = value.message(8, &tensor).message(9, &metadata);
        let summary = Message::default().message(1, &value);
        self.write(&Message::event(Some(self.first)).message(5, &summary).0)
    }

    fn resume_at(&mut self, step: u64) -> Result<(), LoggerError> {
        self.restart = Some(step); // before the next event
        self.first = step;
        Ok(())
    }

    fn flush(&mut self) -> Result<(), LoggerError> {
        sync(&self.path)
    }
}

fn seconds() -> f64 {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    time.unwrap_or_default().as_secs_f64()
}

/// Length and contents, each with its sum.
fn record(event: &[u8]) -> Vec<u8> {
    let masked = |bytes: &[u8]| {
        let sum = crc32c::crc32c(bytes);
        sum.rotate_right(15).wrapping_add(0xA282_EAD8).to_le_bytes()
    };
    let length = (event.len() as u64).to_le_bytes();
    [&length[..], &masked(&length), event, &masked(event)].concat()
}

/// A message of protobuf as it grows field by field.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    /// An `Event` of now.
    fn event(step: Option<u64>) -> Self {
        let mut event = Self::default();
        event.varint(1 << 3 | 1);
        event.0.extend(seconds().to_le_bytes());
        match step {
            Some(step) => event.number(2, step),
            None => event,
        }
    }

    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.0.push(number as u8);
    }

    fn number(mut self, field: u64, number: u64) -> Self {
        self.varint(field << 3);
        self.varint(number);
        self
    }

    fn float(mut self, field: u64, number: f32) -> Self {
        self.varint(field << 3 | 5);
        self.0.extend(number.to_le_bytes());
        self
    }

    fn bytes(mut self, field: u64, bytes: &[u8]) -> Self {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend(bytes);
        self
    }

    fn text(self, field: u64, text: &str) -> Self {
        self.bytes(field, text.as_bytes())
    }

    fn message(self, field: u64, message: &Self) -> Self {
        self.bytes(field, &message.0)
    }
}
