//! PyTorch files around a pickle.

use std::io::{Cursor, Write};

use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipWriter};

use super::pickle::{Pickle, Tensor};

/// What `torch.save` writes since 1.6: nothing in it is packed.
pub fn archive(pickle: &[u8], storages: &[(&str, &[u8])]) -> Vec<u8> {
    let names: Vec<String> = storages
        .iter()
        .map(|(key, _)| format!("archive/data/{key}"))
        .collect();
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("archive/data.pkl", pickle),
        ("archive/byteorder", b"little"),
        ("archive/version", b"3\n"),
    ];
    let storages = storages.iter().map(|(_, bytes)| *bytes);
    entries.extend(names.iter().map(String::as_str).zip(storages));
    zip(CompressionMethod::Stored, &entries)
}

pub fn zip(method: CompressionMethod, entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    let options = SimpleFileOptions::default().compression_method(method);
    for (name, bytes) in entries {
        zip.start_file(*name, options).unwrap();
        zip.write_all(bytes).unwrap();
    }
    zip.finish().unwrap().into_inner()
}

/// What `torch.save` wrote before: five pickles, then the storages.
pub fn stream(pickle: &[u8], storages: &[(&str, &[u8], usize)]) -> Vec<u8> {
    let magic = b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.";
    let version = Pickle::new().op(b"M\xe9\x03").stop();
    let machine = Pickle::new().op(b"}").text("little_endian").op(b"\x88s");
    let keys = storages.iter();
    let keys = keys.fold(Pickle::new().op(b"]("), |keys, (key, ..)| keys.text(key));
    let mut file = [
        &magic[..],
        &version,
        &machine.stop(),
        pickle,
        &keys.op(b"e").stop(),
    ]
    .concat();
    for (_, bytes, size) in storages {
        file.extend((bytes.len() as u64 / *size as u64).to_le_bytes());
        file.extend(*bytes);
    }
    file
}

/// Six values, `weight` of shape `[2, 3]`.
pub fn sample() -> Vec<u8> {
    archive(&sample_pickle(), &[("0", &sample_values())])
}

pub fn sample_stream() -> Vec<u8> {
    stream(&sample_pickle(), &[("0", &sample_values(), 4)])
}

pub fn sample_pickle() -> Vec<u8> {
    let pickle = Pickle::new().op(b"}q\x00");
    let pickle = pickle.entry("weight", |pickle| {
        pickle.tensor(Tensor::whole("0", &[2, 3], &[3, 1]))
    });
    // The transpose of the same values.
    let pickle = pickle.entry("turned", |pickle| {
        pickle.tensor(Tensor::whole("0", &[3, 2], &[1, 3]))
    });
    pickle.entry("epoch", |pickle| pickle.int(3)).stop()
}

pub fn sample_values() -> Vec<u8> {
    (0..6)
        .flat_map(|value| (value as f32).to_le_bytes())
        .collect()
}
