//! PyTorch's archives and streams: what is around the pickle.

use std::time::{Duration, Instant};

use burn_weights::{Checkpoint, CheckpointError, Copied, Format, Reading};
use zip::CompressionMethod;

use crate::support::pickle::{Pickle, Tensor};
use crate::support::torch::{archive, sample, sample_stream, sample_values, stream, zip};
use crate::support::{Folder, bytes, named, refused};

#[test]
fn sound_files_are_read() {
    let folder = Folder::new();
    for (name, content) in [("new.pt", sample()), ("old.pt", sample_stream())] {
        let checkpoint = Checkpoint::open(folder.put(name, content)).unwrap();
        assert_eq!(checkpoint.format(), Ok(Format::PyTorch));
        assert_eq!(checkpoint.names().collect::<Vec<_>>(), ["turned", "weight"]);
        assert_eq!(bytes(&checkpoint, "weight"), sample_values());
        let turned: Vec<f32> = checkpoint
            .read("turned", None, Reading::Map)
            .unwrap()
            .bytes
            .chunks(4)
            .map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()))
            .collect();
        assert_eq!(turned, [0.0, 3.0, 1.0, 4.0, 2.0, 5.0]);
        let part = checkpoint.read("weight", Some(4..8), Reading::Map).unwrap();
        assert_eq!(part.copied, Some(Copied::Container));
        assert_eq!(part.bytes[..], 1_f32.to_le_bytes());
    }
}

#[test]
fn files_that_are_cut_off() {
    let folder = Folder::new();
    for content in [sample(), sample_stream()] {
        for len in (5..content.len()).step_by(7) {
            let path = folder.put("cut.pt", &content[..len]);
            let error = refused(&path, &["nothing in it was executed"]);
            assert!(matches!(error, CheckpointError::PyTorch { .. }), "{error}");
        }
    }
}

#[test]
fn an_entry_that_unpacks_to_more_than_the_file() {
    let folder = Folder::new();
    let zeros = vec![b'N'; 10_000_000];
    let values = vec![0; 10_000_000];
    let shape = [2_500_000];
    let pickle = Pickle::state_dict("w", Tensor::whole("0", &shape, &[1]));
    let cases: [&[(&str, &[u8])]; 2] = [
        &[("archive/data.pkl", &zeros)],
        &[("archive/data.pkl", &pickle), ("archive/data/0", &values)],
    ];
    for (entries, name) in cases
        .into_iter()
        .zip(["`archive/data.pkl`", "`archive/data/0`"])
    {
        let content = zip(CompressionMethod::Deflated, entries);
        assert!(content.len() < 100_000);
        let path = folder.put("bomb.pt", &content);
        let error = refused(&path, &[name, &content.len().to_string()]);
        assert!(matches!(error, CheckpointError::Inflates { .. }), "{error}");
    }
}

#[test]
fn an_entry_that_lies_about_its_size() {
    let folder = Folder::new();
    // Nothing but protocols, of which the reader makes no objects.
    let pickle = b"\x80\x02".repeat(50_000_000);
    let content = zip(CompressionMethod::Deflated, &[("a/data.pkl", &pickle)]);
    let size = (pickle.len() as u32).to_le_bytes();
    let mut lying = content.clone();
    for at in 0..content.len() - 4 {
        if content[at..at + 4] == size {
            lying[at..at + 4].copy_from_slice(&100_u32.to_le_bytes());
        }
    }
    assert_ne!(lying, content);
    let path = folder.put("lie.pt", lying);
    let start = Instant::now();
    let error = refused(&path, &[]);
    assert!(matches!(error, CheckpointError::PyTorch { .. }), "{error}");
    assert!(start.elapsed() < Duration::from_secs(2));
}

#[test]
fn one_value_seen_as_a_million() {
    let folder = Folder::new();
    let one_value = Tensor {
        values: 1,
        ..Tensor::whole("0", &[1000, 1000], &[0, 0])
    };
    let pickle = Pickle::state_dict("wide", one_value);
    let path = folder.put("wide.pt", archive(&pickle, &[("0", &[0; 4])]));
    let checkpoint = Checkpoint::open(&path).unwrap();
    let error = checkpoint.read("wide", None, Reading::Map).unwrap_err();
    named(&error, &path, &["`wide`", "4000000"]);
    assert!(matches!(error, CheckpointError::Inflates { .. }));
    // A part of it would take all of it.
    assert!(checkpoint.read("wide", Some(0..4), Reading::Map).is_err());
}

#[test]
fn tensors_beyond_their_storage() {
    let folder = Folder::new();
    let shape = [2, 3];
    let whole = Tensor::whole("0", &shape, &[3, 1]);
    for tensor in [
        Tensor { offset: 1, ..whole },
        Tensor { values: 5, ..whole },
        Tensor {
            offset: -1,
            ..whole
        },
        Tensor {
            values: -1,
            ..whole
        },
        Tensor {
            stride: &[i64::MAX, 1],
            ..whole
        },
        Tensor {
            shape: &[i64::MAX, i64::MAX],
            ..whole
        },
        Tensor {
            stride: &[1],
            ..whole
        },
        Tensor {
            offset: i64::MAX,
            ..whole
        },
    ] {
        let pickle = Pickle::state_dict("w", tensor);
        let path = folder.put("beyond.pt", archive(&pickle, &[("0", &sample_values())]));
        assert!(matches!(
            refused(&path, &[]),
            CheckpointError::PyTorch { .. }
        ));
    }
    // What the storage lacks, and a storage that is not there, show when they are read.
    let pickle = Pickle::state_dict("w", whole);
    for storages in [&[("0", &[0; 20][..])][..], &[("1", &[0; 24])]] {
        let path = folder.put("short.pt", archive(&pickle, storages));
        let checkpoint = Checkpoint::open(&path).unwrap();
        let error = checkpoint.read("w", None, Reading::Map).unwrap_err();
        named(&error, &path, &["'w'"]);
        assert!(matches!(error, CheckpointError::PyTorch { .. }));
    }
}

#[test]
fn a_damaged_storage_fails_its_checksum() {
    let folder = Folder::new();
    let mut content = sample();
    let values = sample_values();
    let at = content
        .windows(24)
        .position(|bytes| bytes == values)
        .unwrap();
    content[at] ^= 1;
    let path = folder.put("damaged.pt", content);
    let checkpoint = Checkpoint::open(&path).unwrap();
    let error = checkpoint.read("weight", None, Reading::Map).unwrap_err();
    named(&error, &path, &["checksum", "'weight'"]);
}

#[test]
fn a_stream_whose_storages_are_not_there() {
    let folder = Folder::new();
    let pickle = Pickle::state_dict("w", Tensor::whole("0", &[2, 3], &[3, 1]));
    let values = sample_values();
    for content in [
        stream(&pickle, &[]),
        stream(&pickle, &[("0", &values[..20], 4)]),
        stream(&pickle, &[("0", &values, 4), ("1", &values, 4)]),
    ] {
        let path = folder.put("old.pt", content);
        let refused = match Checkpoint::open(&path) {
            Ok(checkpoint) => checkpoint.read("w", None, Reading::Map).map(drop),
            Err(error) => Err(error),
        };
        assert!(matches!(refused, Err(CheckpointError::PyTorch { .. })));
    }
}

#[test]
fn an_archive_without_a_pickle() {
    let folder = Folder::new();
    for entries in [&[][..], &[("a.txt", &b"text"[..])]] {
        let mut content = zip(CompressionMethod::Stored, entries);
        if entries.is_empty() {
            content.splice(0..0, *b"PK\x03\x04");
        }
        let path = folder.put("no.pt", content);
        assert!(matches!(
            refused(&path, &[]),
            CheckpointError::PyTorch { .. }
        ));
    }
}

#[test]
fn a_tar_archive_that_begins_as_a_pickle() {
    let folder = Folder::new();
    // One entry that is said to be sparse: nothing in the file, gigabytes of zeros when unpacked.
    let mut header = [0_u8; 512];
    header[..3].copy_from_slice(b"\x80\x02x");
    header[124..135].copy_from_slice(b"00000000000");
    header[156] = b'S';
    header[257..265].copy_from_slice(b"ustar  \0");
    header[386..397].copy_from_slice(b"77777777777");
    header[483..494].copy_from_slice(b"77777777777");
    let path = folder.put("tar.pt", header);
    let error = refused(&path, &["tar archive"]);
    assert!(matches!(error, CheckpointError::PyTorch { .. }));
}

#[test]
fn bytes_in_memory_are_no_path() {
    let folder = Folder::new();
    let path = folder.put("model.pt", sample());
    let error = Checkpoint::from_bytes(&path, sample()).unwrap_err();
    named(&error, &path, &["from a file"]);
    assert!(matches!(error, CheckpointError::PyTorch { .. }));
}
