//! `burn-fabric inspect`: what is in a checkpoint, by its headers.

use std::process::ExitCode;

use burn_weights::TensorInfo;
use serde_json::{Value, json};

use crate::arguments::{Inspect, Sort};
use crate::failure::Failure;
use crate::human;
use crate::output::{Output, printable};
use crate::progress::Bar;
use crate::source::{Source, elements, is_chosen, natural};
use crate::stream::{ELEMENTS, Stream};
use crate::table::Table;
use crate::values::Statistics;

/// The letters of a text of the metadata that are printed; some writers keep whole programs there.
const METADATA: usize = 120;

/// A tensor to list; statistics only where they were asked for and the dtype is one of Burn's.
struct Listed<'s> {
    info: &'s TensorInfo,
    statistics: Option<Statistics>,
}

pub fn run(arguments: &Inspect, output: &mut Output) -> Result<ExitCode, Failure> {
    let source = Source::open(&arguments.file)?;
    let mut tensors: Vec<&TensorInfo> = source
        .tensors
        .iter()
        .filter(|info| is_chosen(&info.name, &arguments.filter))
        .collect();
    sort(&mut tensors, arguments.sort);
    let listed = match arguments.stats {
        true => statistics(&source, &tensors)?,
        false => tensors
            .into_iter()
            .map(|info| Listed {
                info,
                statistics: None,
            })
            .collect(),
    };
    match arguments.json {
        true => output.json(&as_json(&source, &listed, arguments)?)?,
        false => print(&source, &listed, arguments, output)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn sort(tensors: &mut [&TensorInfo], sort: Sort) {
    let by_name = |a: &&TensorInfo, b: &&TensorInfo| natural(&a.name, &b.name);
    match sort {
        Sort::Name => tensors.sort_by(by_name),
        Sort::Bytes => {
            tensors.sort_by(|a, b| b.bytes.cmp(&a.bytes).then_with(|| by_name(a, b)));
        }
        Sort::FileOrder => tensors.sort_by(|a, b| {
            let files = natural(&a.file.to_string_lossy(), &b.file.to_string_lossy());
            let offsets = files.then(a.offset.cmp(&b.offset));
            offsets.then_with(|| by_name(a, b))
        }),
    }
}

fn statistics<'s>(source: &Source, tensors: &[&'s TensorInfo]) -> Result<Vec<Listed<'s>>, Failure> {
    let bar = Bar::new(tensors.iter().map(|info| info.bytes).sum());
    let mut listed = Vec::with_capacity(tensors.len());
    for info in tensors {
        let mut statistics = None;
        if let Some(dtype) = info.dtype.burn() {
            let mut stream = Stream::new(&source.checkpoint, info);
            let statistics = statistics.insert(Statistics::default());
            while let Some(bytes) = stream.next(ELEMENTS)? {
                statistics.add(dtype, bytes);
                bar.add(bytes.len() as u64);
            }
        }
        listed.push(Listed { info, statistics });
    }
    bar.clear();
    Ok(listed)
}

fn file_name(info: &TensorInfo) -> String {
    let name = info.file.file_name().unwrap_or(info.file.as_os_str());
    name.to_string_lossy().into_owned()
}

fn print(
    source: &Source,
    listed: &[Listed<'_>],
    arguments: &Inspect,
    output: &mut Output,
) -> Result<(), Failure> {
    let sum = |of: fn(&TensorInfo) -> u64| -> u64 {
        let numbers = listed.iter().map(|listed| of(listed.info));
        numbers.fold(0, u64::saturating_add)
    };
    let mut tensors = human::several(listed.len() as u64, "tensor");
    if listed.len() < source.tensors.len() {
        tensors.push_str(&format!(
            " of {}",
            human::count(source.tensors.len() as u64)
        ));
    }
    output.line(&printable(&format!(
        "{}: {}, {}, {tensors}, {}, {}",
        source.checkpoint.path().display(),
        source.checkpoint.format()?,
        human::several(source.files.len() as u64, "file"),
        human::several(sum(|info| elements(&info.shape)), "element"),
        human::bytes(sum(|info| info.bytes)),
    )))?;

    let is_sharded = source.checkpoint.is_sharded();
    let mut headings = vec!["name", "dtype", "shape", ">bytes"];
    headings.extend(is_sharded.then_some("file"));
    if arguments.stats {
        headings.extend([">min", ">max", ">mean", ">std", ">non-finite"]);
    }
    let mut table = Table::new(&headings);
    for Listed { info, statistics } in listed {
        let mut row = vec![
            printable(&info.name),
            printable(&info.dtype.name()),
            format!("{:?}", info.shape),
            human::bytes(info.bytes),
        ];
        row.extend(is_sharded.then(|| printable(&file_name(info))));
        if arguments.stats {
            let or_dash = |value: Option<f64>| value.map_or("-".to_owned(), human::value);
            let of = |value: fn(&Statistics) -> Option<f64>| {
                or_dash(statistics.as_ref().and_then(value))
            };
            row.extend([
                of(Statistics::min),
                of(Statistics::max),
                of(Statistics::mean),
                of(Statistics::std),
                statistics.map_or("-".to_owned(), |statistics| {
                    human::count(statistics.non_finite)
                }),
            ]);
        }
        table.row(row);
    }
    if !listed.is_empty() {
        output.line("")?;
        print_all(table.lines(), output)?;
    }
    let chosen = |names: &[&String]| {
        let mut names = names.iter();
        names.any(|name| is_chosen(name, &arguments.filter))
    };
    let ties = source
        .ties
        .iter()
        .filter(|(other, name)| chosen(&[other, name]));
    let ties: Vec<String> = ties
        .map(|(other, name)| printable(&format!("  {other} = {name}")))
        .collect();
    let metadata = source.metadata.iter().map(|(key, text)| {
        let letters = text.chars().count();
        let rest = match letters > METADATA {
            true => format!("… ({} letters)", human::count(letters as u64)),
            false => String::new(),
        };
        let text: String = text.chars().take(METADATA).collect();
        printable(&format!("  {key}: {text}{rest}"))
    });
    for (heading, lines) in [("ties", ties), ("metadata", metadata.collect())] {
        if !lines.is_empty() {
            output.line("")?;
            output.line(heading)?;
            print_all(lines, output)?;
        }
    }
    Ok(())
}

fn print_all(lines: impl IntoIterator<Item = String>, output: &mut Output) -> Result<(), Failure> {
    for line in lines {
        output.line(&line)?;
        if output.is_closed() {
            break;
        }
    }
    Ok(())
}

fn as_json(source: &Source, listed: &[Listed<'_>], arguments: &Inspect) -> Result<Value, Failure> {
    let tensors = listed.iter().map(|Listed { info, statistics }| {
        let mut tensor = json!({
            "name": info.name,
            "dtype": info.dtype.name(),
            "shape": info.shape,
            "bytes": info.bytes,
            "file": file_name(info),
            "offset": info.offset,
        });
        if arguments.stats {
            tensor["stats"] = match statistics {
                Some(statistics) => json!({
                    "min": statistics.min(),
                    "max": statistics.max(),
                    "mean": statistics.mean(),
                    "std": statistics.std(),
                    "non_finite": statistics.non_finite,
                }),
                None => Value::Null,
            };
        }
        tensor
    });
    let files = source.files.iter().map(|file| {
        json!({
            "path": file.path.to_string_lossy(),
            "format": file.format.to_string(),
            "bytes": file.bytes,
            "tensors": file.names.len(),
        })
    });
    Ok(json!({
        "path": source.checkpoint.path().to_string_lossy(),
        "format": source.checkpoint.format()?.to_string(),
        "sharded": source.checkpoint.is_sharded(),
        "files": files.collect::<Vec<_>>(),
        "tensors": tensors.collect::<Vec<_>>(),
        "ties": source.ties,
        "metadata": source.metadata,
    }))
}
