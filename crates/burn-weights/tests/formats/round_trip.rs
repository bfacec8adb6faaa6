//! Every dtype in both formats, metadata, ties, views.

use burn_std::DType;
use burn_weights::{Checkpoint, Copied, FileDType, Format, Reading, WriteOptions, write};

use crate::support::Folder;
use crate::written::{DTYPES, FORMATS, filled, many, tensor};

#[test]
fn every_dtype_in_both_formats() {
    let folder = Folder::new();
    let shapes: [&[usize]; 5] = [&[], &[3], &[2, 0], &[2, 3, 5], &[1, 1, 1, 1, 1, 1, 1, 1, 7]];
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        // Narrow ones in between, so that what follows would be misaligned in that order.
        let wanted = DTYPES
            .iter()
            .flat_map(|dtype| shapes.map(|shape| (*dtype, shape)));
        let wanted: Vec<(String, DType, &[usize], Vec<u8>)> = wanted
            .enumerate()
            .map(|(at, (dtype, shape))| {
                let len = shape.iter().product::<usize>() * dtype.size();
                (format!("t{at:03}"), dtype, shape, filled(at as u8, len))
            })
            .collect();
        let tensors = wanted
            .iter()
            .rev()
            .map(|(name, dtype, shape, bytes)| tensor(name, *dtype, shape, bytes.clone()));
        let written = write(&path, tensors.collect(), &WriteOptions::default()).unwrap();
        assert_eq!(
            (&written.path, &written.files),
            (&path, &vec![path.clone()])
        );
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(checkpoint.names().len(), wanted.len());
        let mut bytes = 0;
        for (name, dtype, shape, expected) in &wanted {
            let info = checkpoint.tensor(name).unwrap();
            assert_eq!(
                (info.dtype, &info.shape[..]),
                (FileDType::Burn(*dtype), *shape)
            );
            let aligned = info.offset.unwrap().is_multiple_of(dtype.size() as u64);
            assert!(aligned, "{name} at {:?}", info.offset);
            bytes += info.bytes;
            for reading in [Reading::Map, Reading::Copy] {
                let read = checkpoint.read(name, None, reading).unwrap();
                assert_eq!(&read.bytes[..], expected, "{name}");
                let copied = match (reading, dtype) {
                    (Reading::Copy, _) => Some(Copied::Asked),
                    (_, DType::Bool(_)) => Some(Copied::Checked),
                    _ => None,
                };
                assert_eq!(read.copied, copied, "{name} {dtype:?}");
                let half = expected.len() as u64 / 2;
                let part = checkpoint.read(name, Some(half..expected.len() as u64), reading);
                assert_eq!(part.unwrap().bytes[..], expected[half as usize..]);
            }
        }
        assert_eq!(written.bytes, bytes);
    }
}

#[test]
fn views_share_the_map() {
    let folder = Folder::new();
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        write(&path, many(3, 5000, 0), &WriteOptions::default()).unwrap();
        let checkpoint = Checkpoint::open(&path).unwrap();
        let place = |checkpoint: &Checkpoint, name| {
            let read = checkpoint.read(name, None, Reading::Map).unwrap();
            assert_eq!(read.copied, None);
            let offset = checkpoint.tensor(name).unwrap().offset.unwrap();
            (read.bytes.as_ptr() as u64 - offset, read.bytes)
        };
        let (map, first) = place(&checkpoint, "layer.0");
        assert_eq!(place(&checkpoint, "layer.2").0, map);
        assert_eq!(place(&checkpoint.clone(), "layer.1").0, map);
        // A view outlives the checkpoint, the file, and the release of its memory.
        checkpoint.release("layer.0", None).unwrap();
        drop(checkpoint);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(first[..], [0; 5000]);
    }
}

#[test]
fn what_a_program_holds_is_read_in_place() {
    let folder = Folder::new();
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        write(&path, many(2, 8, 5), &WriteOptions::default()).unwrap();
        let content = std::fs::read(&path).unwrap();
        let range = content.as_ptr_range();
        let checkpoint = Checkpoint::from_bytes("included", content).unwrap();
        assert_eq!(checkpoint.path().to_str(), Some("included"));
        let read = checkpoint.read("layer.1", None, Reading::Map).unwrap();
        assert_eq!((&read.bytes[..], read.copied), (&[6; 8][..], None));
        assert!(range.contains(&read.bytes.as_ptr()));
        checkpoint.release("layer.1", None).unwrap();
        let error = checkpoint.tensor("layer.7").unwrap_err();
        assert!(error.to_string().starts_with("included: "));
    }
}

#[test]
fn metadata_and_ties() {
    let folder = Folder::new();
    let texts = [
        ("format", "pt"),
        ("head.weight", "layer.0"),
        ("layer.1", "layer.0"),
        ("other", "layer.9"),
        ("quote\"\n", "\u{1F525}"),
    ];
    let texts = texts.map(|(key, text)| (key.to_owned(), text.to_owned()));
    for format in FORMATS {
        for limit in [None, Some(8)] {
            let options = WriteOptions {
                metadata: texts.clone().into(),
                max_shard_bytes: limit,
                ..WriteOptions::default()
            };
            let name = format!("{}.{}", limit.is_some(), format.extension());
            let written = write(folder.join(&name), many(2, 8, 0), &options).unwrap();
            let checkpoint = Checkpoint::open(written.path).unwrap();
            assert_eq!(checkpoint.metadata(), &options.metadata);
            // Neither a name that is there itself nor one that is not there is a tie.
            let ties: Vec<(&str, &str)> = checkpoint.ties().collect();
            assert_eq!(ties, [("head.weight", "layer.0")]);
        }
    }
}

#[test]
fn burnpack_keeps_the_ids_of_parameters() {
    let folder = Folder::new();
    let ids = [Some(7), None, Some(u64::MAX)];
    let tensors = || {
        let tensors = many(3, 4, 0).into_iter().zip(ids);
        tensors
            .map(|(tensor, id)| tensor.with_param_id(id))
            .collect()
    };
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        write(&path, tensors(), &WriteOptions::default()).unwrap();
        let checkpoint = Checkpoint::open(path).unwrap();
        let read = checkpoint
            .names()
            .map(|name| checkpoint.param_id(name).unwrap());
        let expected = match checkpoint.format().unwrap() {
            Format::Burnpack => ids.to_vec(),
            _ => vec![None; 3],
        };
        assert_eq!(read.collect::<Vec<_>>(), expected);
    }
}

#[test]
fn a_checkpoint_without_tensors() {
    let folder = Folder::new();
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        let written = write(&path, vec![], &WriteOptions::default()).unwrap();
        assert_eq!(written.bytes, 0);
        let checkpoint = Checkpoint::open(path).unwrap();
        assert_eq!(checkpoint.names().len(), 0);
        assert_eq!(checkpoint.tensors(), Ok(vec![]));
    }
}

#[test]
fn the_ending_says_the_format_unless_it_is_asked_for() {
    let folder = Folder::new();
    for (name, format, expected) in [
        ("a.bpk", None, Format::Burnpack),
        ("a.safetensors", None, Format::Safetensors),
        ("a", None, Format::Safetensors),
        ("b.bpk", Some(FORMATS[0]), Format::Safetensors),
        ("b", Some(FORMATS[1]), Format::Burnpack),
    ] {
        let options = WriteOptions {
            format,
            ..WriteOptions::default()
        };
        let path = folder.join(name);
        write(&path, many(1, 4, 0), &options).unwrap();
        let checkpoint = Checkpoint::open(path).unwrap();
        assert_eq!(checkpoint.format(), Ok(expected));
        assert_eq!(checkpoint.format_of("layer.0"), Ok(expected));
    }
}
