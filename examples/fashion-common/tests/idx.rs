//! What the reader of the samples takes, and what it refuses.

use std::io::Write;
use std::path::Path;

use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::Dataset;
use burn::tensor::Device;
use fashion_common::{CLASSES, IdxError, NAMES, Normalised, PIXELS, SIDE, Samples};
use flate2::Compression;
use flate2::write::GzEncoder;
use tempfile::TempDir;
use test_assets::FASHION;

const IMAGES: &str = "train-images-idx3-ubyte.gz";
const LABELS: &str = "train-labels-idx1-ubyte.gz";

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

/// A header and what follows it.
fn idx(header: &[u32], rest: &[u8]) -> Vec<u8> {
    let header = header.iter().flat_map(|number| number.to_be_bytes());
    header.chain(rest.iter().copied()).collect()
}

fn three_images() -> Vec<u8> {
    let pixels: Vec<u8> = (0..3 * PIXELS).map(|pixel| (pixel % 251) as u8).collect();
    idx(&[0x803, 3, 28, 28], &pixels)
}

fn three_labels() -> Vec<u8> {
    idx(&[0x801, 3], &[9, 0, 4])
}

/// A folder with both files as they are given, compressed already.
fn folder(images: &[u8], labels: &[u8]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(IMAGES), images).unwrap();
    std::fs::write(folder.path().join(LABELS), labels).unwrap();
    folder
}

fn refusal(images: &[u8], labels: &[u8]) -> IdxError {
    let folder = folder(&gzip(images), &gzip(labels));
    let error = Samples::read(folder.path(), "train", None).unwrap_err();
    // The path of the one that is wrong, in one line.
    let text = error.to_string();
    assert!(text.contains(folder.path().to_str().unwrap()), "{text}");
    assert_eq!(text.lines().count(), 1, "{text}");
    error
}

#[test]
fn samples_are_what_the_files_have() {
    let folder = folder(&gzip(&three_images()), &gzip(&three_labels()));
    let samples = Samples::read(folder.path(), "train", None).unwrap();
    assert_eq!(samples.len(), 3);
    let second = samples.get(1).unwrap();
    assert_eq!(second.label, 0);
    assert_eq!(
        second.pixels[..2],
        [(PIXELS % 251) as u8, (PIXELS % 251) as u8 + 1]
    );

    let kept = Samples::read(folder.path(), "train", Some(2)).unwrap();
    assert_eq!(kept.len(), 2);
    assert_eq!(kept.get(1).unwrap(), second);
    assert_eq!(
        Samples::read(folder.path(), "train", Some(9))
            .unwrap()
            .len(),
        3
    );
}

#[test]
fn a_batch_has_pixels_around_zero() {
    let folder = folder(&gzip(&three_images()), &gzip(&three_labels()));
    let samples = Samples::read(folder.path(), "train", None).unwrap();
    let items = (0..3).map(|index| samples.get(index).unwrap()).collect();
    let batch = Normalised.batch(items, &Device::flex());
    assert_eq!(batch.images.dims(), [3, 1, SIDE, SIDE]);
    let labels: Vec<i64> = batch.labels.into_data().iter().collect();
    assert_eq!(labels, [9, 0, 4]);
    let pixels: Vec<f32> = batch.images.into_data().iter().collect();
    assert!((pixels[0] + 0.2860 / 0.3530).abs() < 1e-6, "{}", pixels[0]);
    assert!((pixels[250] - (250.0 / 255.0 - 0.2860) / 0.3530).abs() < 1e-6);
}

#[test]
fn a_file_of_another_kind_is_refused() {
    let error = refusal(&three_labels(), &three_labels());
    let IdxError::Kind {
        found: 0x801,
        expected: 0x803,
        ..
    } = error
    else {
        panic!("{error}");
    };
    let error = refusal(&three_images(), &three_images());
    let IdxError::Kind {
        found: 0x803,
        expected: 0x801,
        ..
    } = error
    else {
        panic!("{error}");
    };
}

#[test]
fn images_of_another_size_are_refused() {
    let error = refusal(&idx(&[0x803, 1, 32, 28], &[0; 32 * 28]), &three_labels());
    assert!(
        matches!(
            error,
            IdxError::Size {
                rows: 32,
                columns: 28,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn a_file_of_another_length_than_it_says_is_refused() {
    let whole = three_images();
    let expected = (3 * PIXELS) as u64;
    for (images, found) in [
        (whole[..whole.len() - 1].to_vec(), expected - 1),
        ([whole.as_slice(), &[0, 0]].concat(), expected + 1),
    ] {
        let error = refusal(&images, &three_labels());
        let IdxError::Length {
            expected: said,
            found: there,
            ..
        } = error
        else {
            panic!("{error}");
        };
        assert_eq!((said, there), (expected, found));
    }
    // As many as a header can say: refused without room being made for them.
    let error = refusal(
        &idx(&[0x803, u32::MAX, 28, 28], &[0; PIXELS]),
        &three_labels(),
    );
    assert!(matches!(error, IdxError::Length { .. }), "{error}");
    let error = refusal(&three_images(), &idx(&[0x801, 3], &[1, 2]));
    assert!(
        matches!(error, IdxError::Length { found: 2, .. }),
        "{error}"
    );
}

#[test]
fn a_label_of_no_class_is_refused() {
    let error = refusal(&three_images(), &idx(&[0x801, 3], &[0, 10, 255]));
    assert!(
        matches!(
            error,
            IdxError::Label {
                index: 1,
                found: 10,
                ..
            }
        ),
        "{error}"
    );
    assert!(error.to_string().contains("10 classes"), "{error}");
}

#[test]
fn as_many_labels_as_images() {
    let error = refusal(&three_images(), &idx(&[0x801, 2], &[1, 2]));
    assert!(
        matches!(
            error,
            IdxError::Counts {
                images: 3,
                labels: 2,
                ..
            }
        ),
        "{error}"
    );
}

#[test]
fn none_is_refused() {
    let error = refusal(&idx(&[0x803, 0, 28, 28], &[]), &three_labels());
    assert!(matches!(error, IdxError::Empty { .. }), "{error}");
}

#[test]
fn what_is_cut_short_or_not_compressed_is_refused() {
    let whole = gzip(&three_images());
    let labels = gzip(&three_labels());
    let mut changed = whole.clone();
    // In the sum at the end.
    let last = changed.len() - 6;
    changed[last] ^= 1;
    for images in [
        &whole[..whole.len() / 2],
        &changed,
        &three_images(),
        &[],
        b"<html>",
    ] {
        let folder = folder(images, &labels);
        let error = Samples::read(folder.path(), "train", None).unwrap_err();
        let IdxError::File { path, .. } = error else {
            panic!("{error}");
        };
        assert!(path.ends_with(IMAGES));
    }
    // A header that ends too early.
    let error = refusal(&idx(&[0x803, 3], &[]), &three_labels());
    assert!(matches!(error, IdxError::File { .. }), "{error}");
    let error = Samples::read(Path::new("nowhere"), "train", None).unwrap_err();
    assert!(error.to_string().contains("nowhere"), "{error}");
}

#[test]
fn the_real_files_are_fashion_mnist() {
    let Some(folder) = FASHION.for_test() else {
        return;
    };
    for (name, count) in [("train", 60_000), ("t10k", 10_000)] {
        let samples = Samples::read(&folder, name, None).unwrap();
        assert_eq!(samples.len(), count);
        let mut counts = [0; CLASSES];
        for index in 0..count {
            counts[usize::from(samples.get(index).unwrap().label)] += 1;
        }
        assert_eq!(counts, [count / CLASSES; CLASSES]);
        let boot = NAMES.iter().position(|name| *name == "boot");
        assert_eq!(boot, Some(usize::from(samples.get(0).unwrap().label)));
    }
}
