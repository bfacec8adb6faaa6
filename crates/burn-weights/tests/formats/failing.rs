//! Tensors that cannot be had, and what is refused before anything is written.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn_std::{BoolStore, Bytes, DType};
use burn_weights::{CheckpointError, Outgoing, WriteOptions, write};

use crate::support::{Folder, named};
use crate::written::{FORMATS, many, overwriting, seeds, tensor};

type Produce = fn() -> Result<Bytes, String>;

#[test]
fn a_tensor_that_cannot_be_had_leaves_everything_as_it_was() {
    let panics: Produce = || panic!("on purpose");
    let fails: Produce = || Err("the device is gone".to_owned());
    let short: Produce = || Ok(Bytes::from_bytes_vec(vec![0; 9]));
    for format in FORMATS {
        for (old, new) in [
            (None, None),
            (None, Some(10)),
            (Some(10), None),
            (Some(10), Some(10)),
        ] {
            let folder = Folder::new();
            let path = folder.join(&format!("model.{}", format.extension()));
            let options = |limit| WriteOptions {
                max_shard_bytes: limit,
                ..overwriting()
            };
            write(&path, many(3, 10, 1), &options(old)).unwrap();
            let before = folder.names();
            for (produce, text) in [
                (fails, "the device is gone"),
                (short, "9 bytes came where its shape takes 10"),
                (panics, ""),
            ] {
                let mut tensors = many(4, 10, 100);
                tensors[2] = Outgoing::new("layer.2", DType::U8, [10], produce);
                let attempt = || write(&path, tensors, &options(new));
                if let Ok(result) = catch_unwind(AssertUnwindSafe(attempt)) {
                    let error = result.unwrap_err();
                    let CheckpointError::Produce { path, tensor, .. } = &error else {
                        panic!("{error}");
                    };
                    assert_eq!(tensor, "layer.2");
                    named(&error, path, &["`layer.2`", text]);
                }
                assert_eq!(folder.names(), before);
                assert_eq!(seeds(folder.path()), [1, 2, 3]);
            }
        }
    }
}

#[test]
fn what_no_file_holds_is_refused_before_anything_is_asked_for() {
    let folder = Folder::new();
    let asked = Arc::new(AtomicUsize::new(0));
    let counted = |name: &str, dtype, shape: &[usize]| {
        let asked = Arc::clone(&asked);
        Outgoing::new(name, dtype, shape, move || {
            asked.fetch_add(1, Ordering::Relaxed);
            Err("it was asked for".to_owned())
        })
    };
    let good = || counted("good", DType::U8, &[1]);
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        let refused = |tensor: Outgoing, part: &str| {
            let error = write(&path, vec![good(), tensor], &WriteOptions::default());
            let error = error.unwrap_err();
            named(&error, &path, &[part]);
            error
        };
        let twice = refused(good(), "`good`");
        assert!(matches!(twice, CheckpointError::DuplicateName { .. }));
        for (dtype, name) in [
            (DType::Flex32, "Flex32"),
            (DType::QFloat(Default::default()), "QFloat"),
        ] {
            let foreign = refused(counted("odd", dtype, &[1]), name);
            assert!(
                matches!(foreign, CheckpointError::Unsupported { .. }),
                "{foreign}"
            );
        }
        for shape in [[usize::MAX, 2], [1 << 62, 1]] {
            let large = refused(counted("large", DType::F64, &shape), "`large`");
            assert!(matches!(large, CheckpointError::Produce { .. }));
        }
        let name = refused(counted("__metadata__", DType::U8, &[1]), "`__metadata__`");
        assert!(matches!(name, CheckpointError::Produce { .. }));
        // Each can be counted, and their sum cannot.
        let large = (0..16).map(|at| counted(&format!("t{at}"), DType::U8, &[1 << 60]));
        let error = write(&path, large.collect(), &WriteOptions::default()).unwrap_err();
        assert!(matches!(error, CheckpointError::Produce { tensor, .. } if tensor == "t15"));
    }
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    assert!(folder.names().is_empty());
}

#[test]
fn bools_of_devices_are_written_as_the_formats_have_them() {
    let folder = Folder::new();
    for format in FORMATS {
        let path = folder.join(&format!("model.{}", format.extension()));
        let wide = tensor("mask", DType::Bool(BoolStore::U32), &[2], vec![0; 8]);
        let error = write(&path, vec![wide], &overwriting()).map(drop);
        assert!(
            matches!(error, Err(CheckpointError::Unsupported { .. })),
            "{error:?}"
        );
        let bytes = tensor("mask", DType::Bool(BoolStore::U8), &[2], vec![1, 0]);
        write(&path, vec![bytes], &overwriting()).unwrap();
        let checkpoint = burn_weights::Checkpoint::open(&path).unwrap();
        assert_eq!(crate::support::bytes(&checkpoint, "mask"), [1, 0]);
    }
}

#[test]
fn a_header_that_nobody_would_read_is_not_written() {
    let folder = Folder::new();
    let options = WriteOptions {
        metadata: [("log".to_owned(), "x".repeat(100_000_000))].into(),
        ..WriteOptions::default()
    };
    let path = folder.join("model.safetensors");
    let error = write(&path, many(1, 1, 0), &options).unwrap_err();
    named(&error, &path, &["100000000"]);
    assert!(matches!(error, CheckpointError::HeaderTooLarge { .. }));
    assert!(folder.names().is_empty());
}

#[test]
fn one_tensor_is_in_memory_at_a_time() {
    struct Counted(Arc<AtomicUsize>);
    impl Drop for Counted {
        fn drop(&mut self) {
            self.0.fetch_sub(1, Ordering::SeqCst);
        }
    }
    impl AsRef<[u8]> for Counted {
        fn as_ref(&self) -> &[u8] {
            &[7; 100]
        }
    }
    let folder = Folder::new();
    for format in FORMATS {
        for limit in [None, Some(200)] {
            let alive = Arc::new(AtomicUsize::new(0));
            let most = Arc::new(AtomicUsize::new(0));
            let tensors = (0..10).map(|number| {
                let (alive, most) = (Arc::clone(&alive), Arc::clone(&most));
                Outgoing::new(format!("t{number}"), DType::U8, [100], move || {
                    let now = alive.fetch_add(1, Ordering::SeqCst) + 1;
                    most.fetch_max(now, Ordering::SeqCst);
                    let bytes = bytes::Bytes::from_owner(Counted(Arc::clone(&alive)));
                    Ok(Bytes::from_shared(
                        bytes,
                        burn_std::AllocationProperty::Other,
                    ))
                })
            });
            let options = WriteOptions {
                max_shard_bytes: limit,
                ..overwriting()
            };
            let path = folder.join(&format!("model.{}", format.extension()));
            write(path, tensors.collect(), &options).unwrap();
            assert_eq!(most.load(Ordering::SeqCst), 1);
            assert_eq!(alive.load(Ordering::SeqCst), 0);
        }
    }
}
