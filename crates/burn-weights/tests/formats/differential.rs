//! The same files through this crate and through the formats' own.
//!
//! Deliberate differences from the crate of safetensors: a dtype that is not known is no error until
//! its tensor is wanted; a tensor of half bytes is passed over as well; a name that is there twice is
//! one, in metadata too; a shape has at most 64 dimensions; and a file says what it is, so that a
//! header begins with a brace, without spaces before it.

use std::collections::BTreeMap;

use burn_std::{Bytes, DType};
use burn_weights::{Checkpoint, CheckpointError, FileDType, WriteOptions, write};
use proptest::prelude::*;
use safetensors::{Dtype, SafeTensorError, SafeTensors, tensor::TensorView};

use crate::support::safetensors::{entry, file};
use crate::support::{Folder, burnpack, bytes};
use crate::written::{DTYPES, filled, many, tensor};

/// Names, with dtypes, shapes and bytes.
type Views = BTreeMap<String, (String, Vec<usize>, Vec<u8>)>;

fn theirs(content: &[u8]) -> Result<Views, SafeTensorError> {
    let file = SafeTensors::deserialize(content)?;
    let views = file.tensors().into_iter().map(|(name, view)| {
        let dtype = view.dtype().to_string();
        (name, (dtype, view.shape().to_vec(), view.data().to_vec()))
    });
    Ok(views.collect())
}

/// What cannot be read of ours is taken from the file.
fn ours(content: &[u8]) -> Result<Views, CheckpointError> {
    let checkpoint = Checkpoint::from_bytes("differential", content.to_vec())?;
    let views = checkpoint.tensors()?.into_iter().map(|info| {
        let start = info.offset.unwrap() as usize;
        let data = content[start..start + info.bytes as usize].to_vec();
        let bools = info.dtype == FileDType::of_name("BOOL");
        if info.dtype.burn().is_some() && !(bools && data.iter().any(|byte| *byte > 1)) {
            assert_eq!(bytes(&checkpoint, &info.name), data);
        }
        (info.name, (info.dtype.name(), info.shape, data))
    });
    Ok(views.collect())
}

fn compare(content: &[u8]) -> Result<(), TestCaseError> {
    let (theirs, ours) = (theirs(content), ours(content));
    match (&theirs, &ours) {
        (Ok(theirs), Ok(ours)) => prop_assert_eq!(theirs, ours),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => {
            let brace = content.get(8) == Some(&b'{');
            let deliberate = matches!(error, CheckpointError::DuplicateName { .. })
                || error.to_string().contains("64 dimensions")
                || (!brace && matches!(error, CheckpointError::UnknownFormat { .. }));
            prop_assert!(deliberate, "{error}");
        }
        (Err(error), Ok(_)) => {
            let deliberate = error.to_string().contains("unknown variant")
                || matches!(error, SafeTensorError::MisalignedSlice);
            prop_assert!(deliberate, "{error}");
        }
    }
    Ok(())
}

/// An entry and how far its offsets are from where they should be.
fn entries() -> impl Strategy<Value = Vec<(String, String, Vec<u64>, i64, i64)>> {
    let names = ["a", "b", "a.b", "é\u{1F525}", "__metadata__", ""].map(str::to_owned);
    let names = prop_oneof![
        8 => "[a-z]{1,6}",
        1 => prop::sample::select(names.to_vec()),
    ];
    let dtypes = [
        "F64", "F32", "F16", "BF16", "I64", "I32", "I16", "I8", "U64", "U32", "U16", "U8", "BOOL",
        "C64", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F6_E2M3", "F4", "F3", "f32",
    ];
    let dims = prop_oneof![20 => 0_u64..5, 1 => Just(u64::MAX), 1 => 1_u64 << 31..1 << 33];
    let off = || prop_oneof![30 => Just(0_i64), 1 => -3..4_i64];
    let entry = (
        names,
        prop::sample::select(dtypes.to_vec()).prop_map(str::to_owned),
        prop::collection::vec(dims, 0..4),
        off(),
        off(),
    );
    prop::collection::vec(entry, 0..6)
}

fn bits(dtype: &str) -> u64 {
    match dtype {
        "F4" => 4,
        "F6_E2M3" => 6,
        "F64" | "I64" | "U64" | "C64" => 64,
        "F32" | "I32" | "U32" => 32,
        "F16" | "BF16" | "I16" | "U16" => 16,
        _ => 8,
    }
}

fn content(entries: &[(String, String, Vec<u64>, i64, i64)], padding: usize, more: i64) -> Vec<u8> {
    let mut end: u64 = 0;
    let texts = entries.iter().map(|(name, dtype, shape, before, after)| {
        let values = shape
            .iter()
            .fold(bits(dtype), |bits, dim| bits.wrapping_mul(*dim));
        let start = end.saturating_add_signed(*before);
        end = end
            .saturating_add((values / 8) % 1000)
            .saturating_add_signed(*after);
        entry(name, dtype, shape, start..end)
    });
    let mut header = format!("{{{}}}", texts.collect::<Vec<_>>().join(","));
    header.extend(std::iter::repeat_n(' ', padding));
    let len = end.min(10_000).saturating_add_signed(more);
    file(&header, &filled(3, len as usize))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn headers_are_accepted_and_refused_alike(
        entries in entries(),
        padding in 0_usize..9,
        more in prop_oneof![20 => Just(0_i64), 1 => -3..4_i64],
    ) {
        compare(&content(&entries, padding, more))?;
    }

    #[test]
    fn headers_with_a_few_other_bytes_as_well(
        entries in entries(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        digits in any::<bool>(),
    ) {
        let mut content = content(&entries, 0, 0);
        let end = content.len();
        for (at, byte) in changes {
            let byte = if digits { b'0' + byte % 10 } else { byte };
            content[at.index(end)] = byte;
        }
        compare(&content)?;
    }
}

#[test]
fn what_we_write_they_read() {
    let folder = Folder::new();
    let path = folder.join("model.safetensors");
    let tensors = DTYPES.iter().enumerate().map(|(at, dtype)| {
        let bytes = filled(at as u8, 3 * dtype.size());
        tensor(&format!("t{at}"), *dtype, &[3], bytes)
    });
    write(&path, tensors.collect(), &WriteOptions::default()).unwrap();
    let content = std::fs::read(path).unwrap();
    let views = theirs(&content).unwrap();
    assert_eq!(views.len(), DTYPES.len());
    assert_eq!(ours(&content).unwrap(), views);
}

#[test]
fn what_they_write_we_read() {
    let data: Vec<u8> = (0..16).map(|byte| byte % 2).collect();
    let dtypes = [
        Dtype::BOOL,
        Dtype::U8,
        Dtype::I8,
        Dtype::F8_E4M3,
        Dtype::F16,
        Dtype::BF16,
        Dtype::I16,
        Dtype::U16,
        Dtype::F32,
        Dtype::I32,
        Dtype::U32,
        Dtype::F64,
        Dtype::I64,
        Dtype::U64,
        Dtype::C64,
    ];
    let views = dtypes.iter().map(|dtype| {
        let count = data.len() * 8 / dtype.bitsize();
        let view = TensorView::new(*dtype, vec![1, count], &data).unwrap();
        (dtype.to_string(), view)
    });
    let texts = [("format".to_owned(), "pt".to_owned())].into();
    let content = safetensors::serialize(views, Some(texts)).unwrap();
    let views = ours(&content).unwrap();
    assert_eq!(views.len(), dtypes.len());
    assert_eq!(views, theirs(&content).unwrap());
    let checkpoint = Checkpoint::from_bytes("theirs", content).unwrap();
    assert_eq!(checkpoint.metadata()["format"], "pt");
}

fn burns(content: &[u8]) -> Result<Views, burn_pack::Error> {
    let reader = burn_pack::Reader::from_bytes(Bytes::from_bytes_vec(content.to_vec()))?;
    let tensors = reader.into_tensors()?.into_iter().map(|tensor| {
        let (name, dtype, shape, _, bytes) = tensor.into_parts().unwrap();
        let dtype = match dtype {
            DType::Bool(_) => "BOOL".to_owned(),
            dtype => FileDType::Burn(dtype).name(),
        };
        (name, (dtype, shape.to_vec(), bytes.to_vec()))
    });
    Ok(tensors.collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// Burn's reader is the one to agree with, but that it keeps one of two tensors of one name,
    /// lets them overlap, refuses scalars that we pass over, and knows no limit of dimensions.
    #[test]
    fn burnpack_is_accepted_and_refused_alike(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        header in 1_usize..4,
        len in prop_oneof![4 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)],
    ) {
        let mut content = burnpack::sample();
        // Most of the sample is padding and data.
        let end = content.len() / header;
        for (at, byte) in changes {
            content[at.index(end)] = byte;
        }
        if let Some(len) = len {
            content.truncate(len.index(content.len()) + 1);
        }
        match (burns(&content), ours(&content)) {
            (Ok(burns), Ok(ours)) => prop_assert_eq!(burns, ours),
            (Err(_), Err(_)) => {}
            (Ok(_), Err(error)) => {
                let deliberate = matches!(
                    error,
                    CheckpointError::DuplicateName { .. } | CheckpointError::NotAdjacent { .. }
                );
                prop_assert!(deliberate, "{error}");
            }
            (Err(error), Ok(_)) => {
                let deliberate = matches!(
                    error,
                    burn_pack::Error::MetadataDeserializationError(_)
                );
                prop_assert!(deliberate, "{error}");
            }
        }
    }
}

#[test]
fn burn_reads_what_we_write() {
    let folder = Folder::new();
    let path = folder.join("model.bpk");
    let tensors = DTYPES.iter().enumerate().map(|(at, dtype)| {
        let bytes = filled(at as u8, 3 * dtype.size());
        tensor(&format!("t{at}"), *dtype, &[3], bytes)
    });
    let tensors = tensors.chain(many(2, 0, 0)).collect();
    write(&path, tensors, &WriteOptions::default()).unwrap();
    let content = std::fs::read(path).unwrap();
    assert_eq!(burns(&content).unwrap(), ours(&content).unwrap());
}
