//! `burn-fabric convert`: a checkpoint in another format, dtype, layout, or under other names.

mod cast;
mod layout;
mod plan;
pub mod rename;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use burn_std::{Bytes, DType};
use burn_weights::{
    Checkpoint, FileDType, Outgoing, Reading, TensorInfo, WriteFormat, WriteOptions, Written, write,
};

use crate::arguments::{Convert, Float, Format};
use crate::failure::Failure;
use crate::human;
use crate::output::{Output, printable};
use crate::progress::Bar;
use crate::source::{Source, place};
use cast::Counts;
use plan::{Entry, Plan};

pub fn run(arguments: &Convert, output: &mut Output) -> Result<ExitCode, Failure> {
    let format = format(arguments)?;
    let source = Source::open(&arguments.input)?;
    let plan = plan::plan(&source, arguments)?;
    let told = Arc::new(Told::default());
    let mut outgoing = Vec::with_capacity(plan.entries.len());
    let mut jobs = Vec::with_capacity(plan.entries.len());
    for entry in &plan.entries {
        let job = Job::new(&source.checkpoint, entry, arguments)?;
        jobs.push((
            job,
            entry.to.clone(),
            source.checkpoint.param_id(&entry.info.name)?,
        ));
    }
    let bar = Bar::new(jobs.iter().map(|(job, ..)| job.bytes()).sum());
    for (job, to, param_id) in jobs {
        let (told, bar) = (told.clone(), bar.clone());
        let (dtype, shape) = (job.to, job.shape());
        let produce = move || {
            let produced = job.produce(&told);
            match &produced {
                Ok(bytes) => bar.add(bytes.len() as u64),
                Err(message) => told.lock().failure = Some(message.clone()),
            }
            produced
        };
        outgoing.push(Outgoing::new(to, dtype, shape, produce).with_param_id(param_id));
    }
    let mut metadata = source.metadata.clone();
    metadata.extend(plan.ties.clone());
    let options = WriteOptions {
        format: Some(format),
        max_shard_bytes: arguments.max_shard_size,
        metadata,
        overwrite: arguments.overwrite,
        on_progress: None,
    };
    let written = write(&arguments.output, outgoing, &options);
    bar.clear();
    // The writer knows that a tensor could not be had; why, it was told by this.
    let written = written.map_err(|error| match told.lock().failure.take() {
        Some(message) => Failure::Files(message),
        None => error.into(),
    })?;
    report(&written, &plan, &told, output)?;
    Ok(ExitCode::SUCCESS)
}

/// The format to write: what was asked for, or what the ending says.
fn format(arguments: &Convert) -> Result<WriteFormat, Failure> {
    match arguments.format {
        Some(Format::Safetensors) => return Ok(WriteFormat::Safetensors),
        Some(Format::Burnpack) => return Ok(WriteFormat::Burnpack),
        None => {}
    }
    let extension = arguments.output.extension().unwrap_or_default();
    [WriteFormat::Safetensors, WriteFormat::Burnpack]
        .into_iter()
        .find(|format| extension == format.extension())
        .ok_or_else(|| {
            Failure::Arguments(format!(
                "{}: its ending tells no format that is written here: name it .safetensors or .bpk, \
                 or pass --format",
                arguments.output.display()
            ))
        })
}

/// How one tensor is had.
struct Job {
    checkpoint: Checkpoint,
    info: TensorInfo,
    from: DType,
    to: DType,
    transpose: bool,
    allow_overflow: bool,
}

impl Job {
    fn new(
        checkpoint: &Checkpoint,
        entry: &Entry<'_>,
        arguments: &Convert,
    ) -> Result<Self, Failure> {
        let info = entry.info.clone();
        let Some(from) = info.dtype.burn() else {
            return Err(Failure::Files(format!(
                "{}: `{}` has dtype {}, which Burn lacks: choose other tensors with --filter",
                info.file.display(),
                info.name,
                info.dtype
            )));
        };
        let to = match arguments.dtype {
            Some(float) if cast::is_float(from) => match float {
                Float::F64 => DType::F64,
                Float::F32 => DType::F32,
                Float::F16 => DType::F16,
                Float::Bf16 => DType::BF16,
            },
            _ => from,
        };
        Ok(Self {
            checkpoint: checkpoint.clone(),
            info,
            from,
            to,
            transpose: entry.transpose,
            allow_overflow: arguments.allow_overflow,
        })
    }

    fn shape(&self) -> Vec<usize> {
        let mut shape = self.info.shape.clone();
        if self.transpose {
            shape.reverse();
        }
        shape
    }

    fn bytes(&self) -> u64 {
        self.info.bytes / self.from.size() as u64 * self.to.size() as u64
    }

    fn produce(&self, told: &Told) -> Result<Bytes, String> {
        let info = &self.info;
        // A copy: whoever cuts the file off meanwhile makes an error, not a bus error.
        let read = self.checkpoint.read(&info.name, None, Reading::Copy);
        let mut bytes = read.map_err(|error| error.to_string())?.bytes;
        if self.from != self.to {
            let (converted, counts) = cast::cast(self.from, self.to, &bytes);
            bytes = Bytes::from_bytes_vec(converted);
            if let (Some(first), false) = (counts.first_overflow, self.allow_overflow) {
                return Err(format!(
                    "{}: `{}` has {} beyond {}, the first at {:?}: pass --allow-overflow to write \
                     infinities",
                    info.file.display(),
                    info.name,
                    human::several(counts.overflowed, "finite value"),
                    name(self.to),
                    place(first, &info.shape),
                ));
            }
            told.add(self.from, self.to, counts);
        }
        if let (true, &[rows, columns]) = (self.transpose, info.shape.as_slice()) {
            bytes = Bytes::from_bytes_vec(cast::transpose(&bytes, rows, columns, self.to.size()));
        }
        Ok(bytes)
    }
}

/// What the tensors' turns leave behind.
#[derive(Default)]
struct Told(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    failure: Option<String>,
    /// Tensors, and what became of their values, by the names of two dtypes.
    casts: BTreeMap<(String, String), (u64, Counts, bool)>,
}

impl Told {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, from: DType, to: DType, counts: Counts) {
        let mut inner = self.lock();
        let cast = inner.casts.entry((name(from), name(to))).or_default();
        cast.0 += 1;
        cast.1.add(counts);
        cast.2 = cast::is_narrowing(from, to);
    }
}

fn name(dtype: DType) -> String {
    FileDType::Burn(dtype).name()
}

fn report(
    written: &Written,
    plan: &Plan<'_>,
    told: &Told,
    output: &mut Output,
) -> Result<(), Failure> {
    let path: &Path = &written.path;
    let mut lines = vec![format!(
        "{}: {}, {}, {}",
        path.display(),
        human::several(written.files.len() as u64, "file"),
        human::several(plan.entries.len() as u64, "tensor"),
        human::bytes(written.bytes),
    )];
    for ((from, to), (tensors, counts, narrowing)) in &told.lock().casts {
        let tensors = human::several(*tensors, "tensor");
        let values = human::several(counts.values, "value");
        let became = match narrowing {
            true => format!(
                "{} rounded, {} of them to zero and {} to infinity",
                human::count(counts.changed),
                human::count(counts.vanished),
                human::count(counts.overflowed),
            ),
            false => "all exact".to_owned(),
        };
        lines.push(format!("{from} to {to}: {tensors}, {values}, {became}"));
    }
    lines.extend(plan.notes.iter().map(|note| format!("note: {note}")));
    for line in lines {
        output.line(&printable(&line))?;
    }
    Ok(())
}
