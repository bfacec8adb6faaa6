//! Everything that can be asked of an open checkpoint.

use burn_weights::{Checkpoint, CheckpointError, Reading};

/// Tensors that are looked at: a pickle may have one storage under a million names.
const MANY: usize = 64;

pub fn exercise(opened: Result<Checkpoint, CheckpointError>) {
    let checkpoint = match opened {
        Ok(checkpoint) => checkpoint,
        Err(error) => {
            assert!(!error.to_string().is_empty());
            return;
        }
    };
    for file in checkpoint.file_infos() {
        let _ = file.map(|file| file.names.len());
    }
    let _ = (checkpoint.format(), checkpoint.ties().count());
    for name in checkpoint.names().take(MANY) {
        let Ok(info) = checkpoint.tensor(name) else {
            continue;
        };
        for reading in [Reading::Map, Reading::Copy] {
            if let Ok(read) = checkpoint.read(name, None, reading) {
                assert_eq!(read.bytes.len() as u64, info.bytes);
                let size = info.dtype.burn().expect("it was read").size();
                assert!((read.bytes.as_ptr() as usize).is_multiple_of(size));
                let sum = read.bytes.iter().fold(0_u8, |sum, byte| sum.wrapping_add(*byte));
                std::hint::black_box(sum);
            }
            let half = info.bytes / 2;
            let part = checkpoint.read(name, Some(half..info.bytes), reading);
            let _ = part.map(|part| assert_eq!(part.bytes.len() as u64, info.bytes - half));
        }
        let _ = checkpoint.release(name, None);
        let _ = checkpoint.param_id(name);
    }
    assert!(checkpoint.tensor("no such tensor").is_err() || checkpoint.contains("no such tensor"));
}
