//! Files that take as much memory for their size as their format allows.

use std::cell::Cell;

use burn_weights::Checkpoint;

use crate::counting::peak_of;
use crate::support::pickle::{Pickle, Tensor};
use crate::support::{Folder, burnpack, safetensors, torch};
use crate::{BURNPACK, INDEX, SAFETENSORS, read_all};

/// Names as short as many can be.
fn short(number: usize) -> String {
    const LETTERS: &[u8] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    let mut name = String::new();
    let mut rest = number;
    loop {
        name.push(LETTERS[rest % LETTERS.len()].into());
        rest /= LETTERS.len();
        if rest == 0 {
            return name;
        }
    }
}

/// The peak per byte of the file.
fn ratio(content: &[u8], name: &str) -> f64 {
    let folder = Folder::new();
    let path = folder.put(name, content);
    let peak = peak_of(|| read_all(Checkpoint::open(path)));
    let ratio = peak as f64 / content.len() as f64;
    println!(
        "{name}: {peak} bytes for a file of {}: {ratio:.1}",
        content.len()
    );
    ratio
}

#[test]
fn a_header_of_nothing_but_entries() {
    for count in [20_000, 33_000] {
        let entries = (0..count).map(|number| safetensors::entry(&short(number), "", &[], 0..0));
        let content = safetensors::of(&entries.collect::<Vec<_>>(), 0);
        assert!(ratio(&content, "entries.safetensors") < SAFETENSORS as f64);
        let entries = (0..count).map(|number| safetensors::entry(&short(number), "U8", &[0], 0..0));
        let content = safetensors::of(&entries.collect::<Vec<_>>(), 0);
        assert!(ratio(&content, "empties.safetensors") < SAFETENSORS as f64);
    }
}

#[test]
fn a_header_of_nothing_but_metadata() {
    let texts = (0..66_000).map(|number| format!("\"{}\":\"\"", short(number)));
    let texts = texts.collect::<Vec<_>>().join(",");
    let header = format!("{{\"__metadata__\":{{{texts}}}}}");
    let content = safetensors::file(&header, b"");
    assert!(ratio(&content, "texts.safetensors") < SAFETENSORS as f64);
}

#[test]
fn cbor_of_nothing_but_entries() {
    for count in [20_000, 33_000] {
        let names: Vec<String> = (0..count).map(short).collect();
        let tensors = names.iter().map(|name| {
            let tensor = burnpack::tensor("U8", &[0], 0, 0);
            (name.as_str(), tensor)
        });
        let content = burnpack::of(tensors.collect(), 0);
        assert!(ratio(&content, "entries.bpk") < BURNPACK as f64);
    }
}

#[test]
fn an_index_of_nothing_but_entries() {
    let folder = Folder::new();
    folder.put("x", safetensors::of(&[], 0));
    for count in [20_000, 66_000] {
        let entries = (0..count).map(|number| format!("\"{}\":\"x\"", short(number)));
        let entries = entries.collect::<Vec<_>>().join(",");
        let content = format!("{{\"weight_map\":{{{entries}}}}}");
        let path = folder.put("x.index.json", &content);
        let peak = peak_of(|| read_all(Checkpoint::open(&path)));
        println!("index: {peak} bytes for a file of {}", content.len());
        assert!(peak < INDEX * content.len() as u64);
    }
    // What is no text in its metadata is passed over.
    let zeros = vec!["0"; 500_000].join(",");
    let content = format!("{{\"metadata\":{{\"a\":[{zeros}]}},\"weight_map\":{{}}}}");
    let path = folder.put("x.index.json", &content);
    let peak = peak_of(|| read_all(Checkpoint::open(&path)));
    assert!(peak < 2 * content.len() as u64, "{peak}");
}

/// What pickles may take: 256 MiB and eight times the file, as counted beforehand.
#[test]
fn pickles_that_are_just_accepted() {
    let one = Tensor::whole("0", &[1], &[1]);
    let repeated = |opcodes: &[u8], count: usize| {
        let pickle = Pickle::new().op(b"}X\x01\0\0\0a](");
        pickle
            .times(count, |pickle, _| pickle.op(opcodes))
            .op(b"es.")
            .0
    };
    let dict = |count: usize| {
        let insert = |pickle: Pickle, at| pickle.int(at as i64).op(b"N");
        Pickle::new().op(b"}(").times(count, insert).op(b"u.").0
    };
    let tensors = |count: usize| {
        let start = Pickle::new().tensor(one).op(b"q\x000}(");
        let insert = |pickle: Pickle, at| pickle.int(at as i64).op(b"h\x00");
        start.times(count, insert).op(b"u.").0
    };
    let text = Pickle::new()
        .op(b"}(")
        .text("a")
        .text(&"x".repeat(30_000_000));
    for (name, pickle) in [
        ("nothings", repeated(b"N", 520_000)),
        ("lists", repeated(b"]", 520_000)),
        ("classes", repeated(b"c\n\n", 520_000)),
        ("dicts", dict(260_000)),
        ("tensors", tensors(15_000)),
        ("text", text.op(b"u.").0),
    ] {
        let folder = Folder::new();
        let content = torch::archive(&pickle, &[("0", &[0; 4])]);
        let path = folder.put("model.pt", &content);
        let peak = peak_of(|| {
            let checkpoint = Checkpoint::open(&path);
            assert!(checkpoint.is_ok(), "{name}: {checkpoint:?}");
        });
        println!("{name}: {peak} bytes for a file of {}", content.len());
        assert!(
            peak < (256 << 20) + 8 * content.len() as u64,
            "{name}: {peak}"
        );
    }
}

/// Thousands of tensors of one value each, as `torch.save` writes them: memory that no hostile file
/// may take is more than any state dict needs.
#[test]
fn a_state_dict_of_many_small_tensors_is_accepted() {
    let put = |pickle: Pickle, at: &Cell<u32>| {
        let slot = at.replace(at.get() + 1);
        pickle.op(b"r").op(slot.to_le_bytes())
    };
    let start = Pickle::new()
        .class("torch._utils", "_rebuild_tensor_v2")
        .op(b"q\x00");
    let start = start.class("torch", "FloatStorage").op(b"q\x01");
    let start = start.class("collections", "OrderedDict").op(b"q\x02");
    let start = start.text("storage").op(b"q\x03").text("cpu").op(b"q\x04");
    let slot = Cell::new(5);
    let tensor = |pickle: Pickle, number: usize| {
        let name = format!("encoder.layers.{number}.attention.self.query.weight");
        let pickle = put(pickle.text(&name), &slot).op(b"h\x00((h\x03h\x01");
        let pickle = put(pickle.text("0"), &slot).op(b"h\x04K\x01t");
        let pickle = put(pickle, &slot).op(b"QK\x00K\x01\x85");
        let pickle = put(pickle, &slot).op(b"K\x01\x85");
        let pickle = put(pickle, &slot).op(b"\x89h\x02)R");
        let pickle = put(put(pickle, &slot).op(b"t"), &slot).op(b"R");
        put(pickle, &slot)
    };
    let dict = put(start.op(b"00000}"), &slot).op(b"(");
    let pickle = dict.times(8_000, tensor).op(b"u.").0;
    let content = torch::archive(&pickle, &[("0", &[0; 4])]);
    let folder = Folder::new();
    let path = folder.put("model.pt", &content);
    let peak = peak_of(|| {
        let checkpoint = Checkpoint::open(&path).unwrap();
        assert_eq!(checkpoint.names().len(), 8_000);
    });
    println!("state dict: {peak} bytes for a file of {}", content.len());
}

/// An archive that is all directory.
#[test]
fn an_archive_of_nothing_but_entries() {
    let names: Vec<String> = (0..20_000).map(short).collect();
    let entries: Vec<(&str, &[u8])> = names.iter().map(|name| (&name[..], &b""[..])).collect();
    let content = torch::zip(zip::CompressionMethod::Stored, &entries);
    assert!(ratio(&content, "entries.pt") < 24.0);
}
