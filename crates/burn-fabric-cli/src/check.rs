//! `burn-fabric check`: whether a checkpoint is sound.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;

use burn_weights::{Checkpoint, CheckpointError, FileInfo, TensorInfo};
use serde_json::{Value, json};

use crate::arguments::Check;
use crate::failure::Failure;
use crate::human;
use crate::output::{Output, printable};
use crate::progress::Bar;
use crate::source::{all_metadata, elements, place};
use crate::stream::{ELEMENTS, Stream};
use crate::values::non_finite;

/// One thing that is wrong.
struct Finding {
    kind: Kind,
    tensor: Option<String>,
    message: String,
}

/// What kind of thing is wrong, by the word for it in JSON.
#[derive(Clone, Copy)]
enum Kind {
    Structure,
    Index,
    Tie,
    Value,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Structure => "structure",
            Self::Index => "index",
            Self::Tie => "tie",
            Self::Value => "value",
        }
    }
}

impl Finding {
    fn of(kind: Kind, tensor: &str, message: String) -> Self {
        Self {
            kind,
            tensor: Some(tensor.to_owned()),
            message,
        }
    }

    fn of_error(kind: Kind, error: &CheckpointError) -> Self {
        Self {
            kind,
            tensor: None,
            message: error.to_string(),
        }
    }
}

/// What was looked at.
#[derive(Default)]
struct Seen {
    files: u64,
    tensors: u64,
    values: u64,
    /// Tensors whose values were to be read and have a dtype that Burn lacks.
    unread: u64,
    findings: Vec<Finding>,
}

pub fn run(arguments: &Check, output: &mut Output) -> Result<ExitCode, Failure> {
    let mut seen = Seen::default();
    match Checkpoint::open(&arguments.file) {
        Ok(checkpoint) => look(&checkpoint, arguments.headers, &mut seen)?,
        Err(error) if is_about_the_place(&error) => return Err(error.into()),
        Err(error) => {
            seen.files = 1;
            let finding = Finding::of_error(Kind::Structure, &error);
            seen.findings.push(finding);
        }
    }
    report(arguments, &seen, output)?;
    Ok(ExitCode::from(u8::from(!seen.findings.is_empty())))
}

/// Whether nothing was looked at, as there is no file or none that may be read.
fn is_about_the_place(error: &CheckpointError) -> bool {
    matches!(
        error,
        CheckpointError::Io { .. }
            | CheckpointError::NotAFile { .. }
            | CheckpointError::NothingInFolder { .. }
            | CheckpointError::SeveralInFolder { .. }
    )
}

fn look(checkpoint: &Checkpoint, headers: bool, seen: &mut Seen) -> Result<(), Failure> {
    let (mut files, mut broken) = (Vec::new(), BTreeSet::new());
    for (path, info) in checkpoint.files().into_iter().zip(checkpoint.file_infos()) {
        seen.files += 1;
        match info {
            Ok(info) => files.push(info),
            Err(error) => {
                broken.insert(path.to_owned());
                let finding = Finding::of_error(Kind::Structure, &error);
                seen.findings.push(finding);
            }
        }
    }
    // A shard that cannot be opened is one finding, not one for each tensor in it.
    let is_broken = |path: &Path| broken.contains(path);
    let mut tensors = Vec::new();
    for name in checkpoint.names() {
        if checkpoint.file_of(name).is_some_and(is_broken) {
            continue;
        }
        match checkpoint.tensor(name) {
            Ok(info) => tensors.push(info),
            Err(error) => {
                let finding = Finding::of(Kind::Index, name, error.to_string());
                seen.findings.push(finding);
            }
        }
    }
    seen.tensors = tensors.len() as u64;
    seen.findings.extend(beyond_the_index(checkpoint, &files));
    let metadata = all_metadata(checkpoint, &files);
    seen.findings.extend(doubtful_ties(checkpoint, &metadata));
    if headers {
        return Ok(());
    }
    let bar = Bar::new(tensors.iter().map(|info| info.bytes).sum());
    for info in &tensors {
        values(checkpoint, info, seen, &bar)?;
    }
    bar.clear();
    Ok(())
}

/// Tensors in a file that the index does not put there.
fn beyond_the_index(checkpoint: &Checkpoint, files: &[FileInfo]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in files {
        for name in &file.names {
            let place = match checkpoint.file_of(name) {
                Some(path) if path == file.path => continue,
                Some(path) => format!(
                    "the index puts it into {:?}",
                    path.file_name().unwrap_or_default()
                ),
                None => "the index does not name it".to_owned(),
            };
            let message = format!(
                "{}: `{name}` is in this shard, and {place}",
                file.path.display()
            );
            findings.push(Finding::of(Kind::Index, name, message));
        }
    }
    findings
}

/// Notes of ties that no reader can follow.
fn doubtful_ties(checkpoint: &Checkpoint, metadata: &BTreeMap<String, String>) -> Vec<Finding> {
    let path = checkpoint.path().display();
    let mut findings = Vec::new();
    for (other, name) in metadata {
        let message = if checkpoint.contains(name) && checkpoint.contains(other) {
            format!("`{other}` is said to be `{name}`, and is there as a tensor of its own")
        } else if metadata
            .get(name)
            .is_some_and(|end| checkpoint.contains(end))
        {
            format!("`{other}` is said to be `{name}`, which is no tensor but tied itself")
        } else {
            continue;
        };
        findings.push(Finding::of(Kind::Tie, other, format!("{path}: {message}")));
    }
    findings
}

/// Look at the values of one tensor. What cannot be read is wrong with it; the others go on.
fn values(
    checkpoint: &Checkpoint,
    info: &TensorInfo,
    seen: &mut Seen,
    bar: &Bar,
) -> Result<(), Failure> {
    let Some(dtype) = info.dtype.burn() else {
        seen.unread += 1;
        bar.add(info.bytes);
        return Ok(());
    };
    let mut stream = Stream::new(checkpoint, info);
    let (mut position, mut count, mut first) = (0, 0, None);
    loop {
        let bytes = match stream.next(ELEMENTS) {
            Ok(Some(bytes)) => bytes,
            Ok(None) => break,
            Err(error) => {
                let finding = Finding::of(Kind::Value, &info.name, error.to_string());
                seen.findings.push(finding);
                return Ok(());
            }
        };
        let (here, first_here) = non_finite(dtype, bytes);
        count += here;
        let absolute = first_here.map(|(at, value)| (position + at, value));
        first = first.or(absolute);
        position += (bytes.len() / dtype.size()) as u64;
        bar.add(bytes.len() as u64);
    }
    seen.values += position;
    if let Some((at, value)) = first {
        let message = format!(
            "{}: `{}` has {} of {} not finite, the first is {value} at {:?}",
            info.file.display(),
            info.name,
            human::count(count),
            human::several(elements(&info.shape), "value"),
            place(at, &info.shape),
        );
        let finding = Finding::of(Kind::Value, &info.name, message);
        seen.findings.push(finding);
    }
    Ok(())
}

fn report(arguments: &Check, seen: &Seen, output: &mut Output) -> Result<(), Failure> {
    if arguments.json {
        let findings = seen.findings.iter().map(|finding| {
            json!({
                "kind": finding.kind.word(),
                "tensor": finding.tensor,
                "message": finding.message,
            })
        });
        return output.json(&json!({
            "path": arguments.file.to_string_lossy(),
            "sound": seen.findings.is_empty(),
            "files": seen.files,
            "tensors": seen.tensors,
            "values": match arguments.headers {
                true => Value::Null,
                false => seen.values.into(),
            },
            "findings": findings.collect::<Vec<_>>(),
        }));
    }
    for finding in &seen.findings {
        output.line(&printable(&finding.message))?;
    }
    let verdict = match seen.findings.len() as u64 {
        0 => "sound".to_owned(),
        findings => human::several(findings, "finding"),
    };
    let mut looked = vec![
        human::several(seen.files, "file"),
        human::several(seen.tensors, "tensor"),
    ];
    looked.push(match arguments.headers {
        true => "no values".to_owned(),
        false => human::several(seen.values, "value"),
    });
    if seen.unread > 0 {
        let tensors = human::several(seen.unread, "tensor");
        looked.push(format!("not {tensors} of dtypes that Burn lacks"));
    }
    let (path, looked) = (arguments.file.display(), looked.join(", "));
    output.line(&printable(&format!(
        "{path}: {verdict} (looked at {looked})"
    )))
}
