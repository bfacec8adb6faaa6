//! Whatever a file has in it: no panic, and no more memory than a small multiple of its size.

mod counting;
mod mutations;
mod worst;

#[path = "../support/mod.rs"]
mod support;

use std::path::Path;

use burn_weights::{Checkpoint, CheckpointError, Reading};
use counting::peak_of;
use proptest::prelude::*;
use support::{Folder, burnpack, safetensors, torch};

/// What opening and reading may take beside multiples of a file: buffers for reading, tables that
/// begin with room, the texts of errors.
const BUFFERS: u64 = 200_000;

/// The shortest entry of a header has 48 bytes, and is kept by name in two maps, with what it says
/// of its tensor; while they are filled, in a list and in a set as well, which double as they grow.
/// That is nine times the header. The shortest text of its metadata has nine bytes, of which two
/// texts are made, in a list that doubles and in two maps: 21 times.
pub const SAFETENSORS: u64 = 24;

/// The shortest entry has 37 bytes, and is kept as above: 13 times.
pub const BURNPACK: u64 = 16;

/// The shortest entry of an index has nine bytes: two texts in a list that doubles, then in a map,
/// and a name in another: 16 times, and more where the list has just doubled.
pub const INDEX: u64 = 28;

/// Burn's reader makes an object of an opcode of one byte: an entry on a stack that doubles. It is
/// counted beforehand, so that this holds for small files only; `worst` has the large ones.
pub const PYTORCH: u64 = 1000;

/// Everything that can be asked of an open checkpoint, one tensor at a time.
pub fn read_all(opened: Result<Checkpoint, CheckpointError>) {
    let checkpoint = match opened {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for name in checkpoint.names() {
        let Ok(info) = checkpoint.tensor(name) else {
            continue;
        };
        for reading in [Reading::Map, Reading::Copy] {
            if let Ok(read) = checkpoint.read(name, None, reading) {
                assert_eq!(read.bytes.len() as u64, info.bytes);
                let size = info.dtype.burn().unwrap().size();
                assert!((read.bytes.as_ptr() as usize).is_multiple_of(size));
            }
            let _ = checkpoint.read(name, Some(info.bytes / 2..info.bytes), reading);
        }
        checkpoint.release(name, None).unwrap();
    }
}

fn in_memory(content: &[u8], times: u64) -> Result<(), TestCaseError> {
    let held = content.to_vec();
    let peak = peak_of(|| read_all(Checkpoint::from_bytes("held", held)));
    prop_assert!(peak <= times * content.len() as u64 + BUFFERS, "{peak}");
    Ok(())
}

fn from_file(path: &Path, content: &[u8], times: u64) -> Result<(), TestCaseError> {
    std::fs::write(path, content).unwrap();
    let peak = peak_of(|| read_all(Checkpoint::open(path)));
    prop_assert!(peak <= times * content.len() as u64 + BUFFERS, "{peak}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn safetensors_that_were_changed(changes in mutations::changes()) {
        in_memory(&mutations::apply(safetensors::sample(), &changes), SAFETENSORS)?;
    }

    #[test]
    fn burnpack_that_was_changed(changes in mutations::changes()) {
        in_memory(&mutations::apply(burnpack::sample(), &changes), BURNPACK)?;
    }

    #[test]
    fn arbitrary_bytes_behind_each_beginning(
        begins in prop::sample::select(mutations::BEGINNINGS.to_vec()),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        in_memory(&[begins, &bytes[..]].concat(), PYTORCH)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn files_of_arbitrary_bytes(
        begins in prop::sample::select(mutations::BEGINNINGS.to_vec()),
        bytes in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let folder = Folder::new();
        from_file(&folder.join("any"), &[begins, &bytes[..]].concat(), PYTORCH)?;
    }

    #[test]
    fn an_index_that_was_changed(changes in mutations::changes()) {
        let folder = Folder::new();
        folder.put("1.safetensors", safetensors::sample());
        folder.put("2.bpk", burnpack::sample());
        let json = br#"{"metadata":{"total_size":30,"format":"pt"},"weight_map":{
            "linear.weight":"1.safetensors","mask":"1.safetensors","bias":"2.bpk"}}"#;
        let content = mutations::apply(json.to_vec(), &changes);
        // What the shards take counts as well.
        let path = folder.join("m.safetensors.index.json");
        from_file(&path, &content, INDEX)?;
    }

    #[test]
    fn archives_that_were_changed(changes in mutations::changes()) {
        let folder = Folder::new();
        let content = mutations::apply(torch::sample(), &changes);
        from_file(&folder.join("model.pt"), &content, PYTORCH)?;
    }

    #[test]
    fn streams_that_were_changed(changes in mutations::changes()) {
        let folder = Folder::new();
        let content = mutations::apply(torch::sample_stream(), &changes);
        from_file(&folder.join("model.pt"), &content, PYTORCH)?;
    }

    /// Behind a sound checksum, which the above hardly ever have.
    #[test]
    fn pickles_that_were_changed(changes in mutations::changes()) {
        let folder = Folder::new();
        let pickle = mutations::apply(torch::sample_pickle(), &changes);
        let content = torch::archive(&pickle, &[("0", &torch::sample_values())]);
        from_file(&folder.join("model.pt"), &content, PYTORCH)?;
    }
}
