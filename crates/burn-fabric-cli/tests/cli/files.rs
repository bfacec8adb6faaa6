//! Small files to run the program on.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use burn_std::{BoolStore, Bytes, DType};
use burn_weights::{Checkpoint, FileDType, Outgoing, Reading, WriteOptions, write};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A tensor of singles.
pub fn singles(name: &str, shape: &[usize], values: &[f32]) -> Outgoing {
    let bytes: Vec<u8> = values
        .iter()
        .flat_map(|value| value.to_le_bytes())
        .collect();
    raw(name, DType::F32, shape, bytes)
}

/// A tensor of any dtype.
pub fn raw(name: &str, dtype: DType, shape: &[usize], bytes: Vec<u8>) -> Outgoing {
    Outgoing::new(name, dtype, shape, move || {
        Ok(Bytes::from_bytes_vec(bytes.clone()))
    })
}

/// Options with this metadata, given as pairs.
pub fn with(metadata: &[(&str, &str)]) -> WriteOptions {
    let pairs = metadata.iter();
    let pairs = pairs.map(|(key, text)| ((*key).to_owned(), (*text).to_owned()));
    WriteOptions {
        metadata: pairs.collect::<BTreeMap<_, _>>(),
        ..WriteOptions::default()
    }
}

/// A model of a few layers as PyTorch has them: an embedding that the head is tied to, a linear
/// layer, a norm with its counter, and a mask.
pub fn model() -> Vec<Outgoing> {
    vec![
        singles("embed.weight", &[3, 2], &[0.0, 0.5, 1.0, 1.5, 2.0, 2.5]),
        singles("fc.weight", &[2, 3], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
        singles("fc.bias", &[2], &[0.25, -0.25]),
        singles("norm.weight", &[2], &[1.0, 1.0]),
        singles("norm.bias", &[2], &[0.0, 0.1]),
        raw(
            "norm.num_batches_tracked",
            DType::I64,
            &[],
            7_i64.to_le_bytes().to_vec(),
        ),
        raw("mask", DType::Bool(BoolStore::Native), &[3], vec![1, 0, 1]),
    ]
}

/// The model in a file, with metadata and the tie.
pub fn write_model(path: &Path) {
    let options = with(&[("format", "pt"), ("head.weight", "embed.weight")]);
    write(path, model(), &options).unwrap();
}

/// The same in shards, and the path of their index.
pub fn write_shards(folder: &Path) {
    let options = WriteOptions {
        max_shard_bytes: Some(40),
        ..with(&[("format", "pt"), ("head.weight", "embed.weight")])
    };
    write(folder.join("model.safetensors"), model(), &options).unwrap();
}

/// A safetensors file of exactly this header, and as many bytes of zeros as given, which take no
/// place on the disk.
pub fn write_header(path: &Path, header: &str, data: u64) {
    let mut file = File::create(path).unwrap();
    file.write_all(&(header.len() as u64).to_le_bytes())
        .unwrap();
    file.write_all(header.as_bytes()).unwrap();
    file.set_len(8 + header.len() as u64 + data).unwrap();
}

/// What `torch.save({"fc.weight": …})` writes for the matrix of the model.
pub fn write_pytorch(path: &Path) {
    let text = |text: &str| {
        let mut bytes = vec![b'X'];
        bytes.extend((text.len() as u32).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    };
    let mut pickle = b"\x80\x02}(".to_vec();
    pickle.extend(text("fc.weight"));
    pickle.extend(b"ctorch._utils\n_rebuild_tensor_v2\n((");
    pickle.extend(text("storage"));
    pickle.extend(b"ctorch\nFloatStorage\n");
    pickle.extend(text("0"));
    pickle.extend(text("cpu"));
    // Six elements from the first one on, of a shape and of strides.
    pickle.extend(b"K\x06tQK\x00K\x02K\x03\x86K\x03K\x01\x86\x89ccollections\nOrderedDict\n)RtRu.");
    let data: Vec<u8> = (1..=6_u8)
        .flat_map(|value| f32::from(value).to_le_bytes())
        .collect();
    let mut archive = ZipWriter::new(File::create(path).unwrap());
    let stored = SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    for (name, bytes) in [
        ("archive/data.pkl", pickle),
        ("archive/data/0", data),
        ("archive/version", b"3\n".to_vec()),
    ] {
        archive.start_file(name, stored).unwrap();
        archive.write_all(&bytes).unwrap();
    }
    archive.finish().unwrap();
}

/// The files of a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The values of a tensor of singles.
pub fn values(path: &Path, name: &str) -> Vec<f32> {
    let checkpoint = Checkpoint::open(path).unwrap();
    assert_eq!(
        checkpoint.tensor(name).unwrap().dtype,
        FileDType::Burn(DType::F32)
    );
    let bytes = checkpoint.read(name, None, Reading::Copy).unwrap().bytes;
    let (singles, _) = bytes.as_chunks::<4>();
    singles
        .iter()
        .map(|value| f32::from_le_bytes(*value))
        .collect()
}

/// The names of the tensors of a file.
pub fn names(path: &Path) -> Vec<String> {
    Checkpoint::open(path)
        .unwrap()
        .names()
        .map(str::to_owned)
        .collect()
}
