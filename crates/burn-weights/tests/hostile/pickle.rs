//! Pickles that want to run something, or to take all memory.

use std::time::{Duration, Instant};

use burn_weights::{Checkpoint, CheckpointError, Reading};

use crate::support::pickle::{Pickle, Tensor};
use crate::support::torch::{archive, stream};
use crate::support::{Folder, bytes, named, refused};

const ONE: Tensor<'static> = Tensor {
    class: "FloatStorage",
    key: "0",
    values: 1,
    offset: 0,
    shape: &[1],
    stride: &[1],
};

/// The pickle in an archive and in a stream is refused, and soon.
fn is_too_large(pickle: &[u8]) {
    let folder = Folder::new();
    let storage = [0; 4];
    let start = Instant::now();
    for content in [
        archive(pickle, &[("0", &storage)]),
        stream(pickle, &[("0", &storage, 4)]),
    ] {
        let path = folder.put("bomb.pt", content);
        let error = refused(&path, &["would unpack"]);
        assert!(matches!(error, CheckpointError::Inflates { .. }), "{error}");
    }
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn nothing_is_executed() {
    let folder = Folder::new();
    let marker = folder.join("executed");
    let command = format!("touch {}", marker.display());
    let python = format!("open({:?}, 'w')", marker.display().to_string());
    let calls = [
        ("os", "system", &command),
        ("posix", "system", &command),
        ("subprocess", "getoutput", &command),
        ("builtins", "eval", &python),
        ("__builtin__", "exec", &python),
    ];
    for (module, name, argument) in calls {
        // On the way, as the root, as a key, as what builds a tensor.
        let call = |pickle: Pickle| pickle.class(module, name).text(argument).op(b"\x85R");
        let weight = |pickle: Pickle| pickle.entry("w", |pickle| pickle.tensor(ONE));
        let aside = weight(call(Pickle::new()).op(b"0}")).stop();
        let value = weight(Pickle::new().op(b"}").entry("x", call)).stop();
        let root = call(Pickle::new()).stop();
        let key = call(Pickle::new().op(b"}")).op(b"Ns").stop();
        let built = Pickle::new().op(b"}").text("w");
        let built = built
            .class("torch._tensor", "_rebuild_from_type_v2")
            .op(b"(");
        let built = built
            .class(module, name)
            .op(b"N")
            .text(argument)
            .op(b"\x85}tRs")
            .stop();
        let newobj = Pickle::new().op(b"}").text("x").class(module, name);
        let newobj = newobj.text(argument).op(b"\x85\x81s").stop();
        for pickle in [aside, value, root, key, built, newobj] {
            for content in [
                archive(&pickle, &[("0", &[0; 4])]),
                stream(&pickle, &[("0", &[0; 4], 4)]),
            ] {
                let path = folder.put("run.pt", content);
                match Checkpoint::open(&path) {
                    Ok(checkpoint) => {
                        for name in checkpoint.names() {
                            checkpoint.read(name, None, Reading::Map).unwrap();
                        }
                    }
                    Err(error) => {
                        assert!(matches!(error, CheckpointError::PyTorch { .. }), "{error}")
                    }
                }
            }
        }
    }
    assert!(!marker.exists(), "it was executed");
    // The tensors beside a call that was not made are there.
    let call = |pickle: Pickle| pickle.class("os", "system").text("true").op(b"\x85R");
    let pickle = Pickle::new().op(b"}").entry("x", call);
    let pickle = pickle.entry("w", |pickle| pickle.tensor(ONE)).stop();
    let path = folder.put("run.pt", archive(&pickle, &[("0", &[1, 2, 3, 4])]));
    assert_eq!(bytes(&Checkpoint::open(path).unwrap(), "w"), [1, 2, 3, 4]);
}

#[test]
fn doubled_again_and_again() {
    let double = |pickle: Pickle, _| pickle.op(b"h\x00h\x00\x86q\x00");
    let laughs = Pickle::new().op(b"}q\x00").times(40, double).stop();
    is_too_large(&laughs);
    let copy = |pickle: Pickle, _| pickle.op(b"2\x86");
    is_too_large(&Pickle::new().op(b"K\x01").times(64, copy).stop());
}

/// Something large in the memo, fetched a hundred thousand times.
fn fetched(large: impl Fn(Pickle) -> Pickle) -> Vec<u8> {
    let pickle = large(Pickle::new()).op(b"q\x000](");
    pickle
        .times(100_000, |pickle, _| pickle.op(b"h\x00"))
        .op(b"e.")
        .0
}

#[test]
fn one_large_thing_many_times() {
    let large = "x".repeat(50_000);
    // None of these counts in the reader's own limits but the first.
    is_too_large(&fetched(|pickle| pickle.text(&large)));
    is_too_large(&fetched(|pickle| pickle.class("m", &large)));
    is_too_large(&fetched(|pickle| pickle.storage("FloatStorage", &large, 0)));
    let ones = vec![1; 10_000];
    let wide = Tensor {
        shape: &ones,
        stride: &ones,
        ..ONE
    };
    is_too_large(&fetched(|pickle| pickle.tensor(wide)));
}

#[test]
fn a_long_path_above_many_tensors() {
    let key = "k".repeat(100_000);
    let many = |pickle: Pickle| {
        let fetch = |pickle: Pickle, turn| pickle.int(turn as i64).op(b"h\x00s");
        pickle.op(b"}").times(20_000, fetch)
    };
    let start = Pickle::new().tensor(ONE).op(b"q\x000");
    let pickle = start.clone().op(b"}").entry(&key, many).stop();
    is_too_large(&pickle);
    // The same by a list of pairs.
    let pairs = start
        .class("collections", "OrderedDict")
        .op(b"](")
        .text(&key);
    is_too_large(&many(pairs).op(b"\x86e\x85R.").0);
}

#[test]
fn a_byte_that_becomes_an_object() {
    for opcode in [b"N", b"]", b"}", b")", b"("] {
        is_too_large(
            &Pickle::new()
                .times(1_000_000, |pickle, _| pickle.op(opcode))
                .stop(),
        );
    }
}

#[test]
fn nested_deeply() {
    let folder = Folder::new();
    for levels in [1_001, 200_000] {
        let nest = |open: &[u8], close: &[u8]| {
            let pickle = Pickle::new().times(levels, |pickle, _| pickle.op(open));
            pickle
                .op(b"N")
                .times(levels, |pickle, _| pickle.op(close))
                .stop()
        };
        for pickle in [
            nest(b"(", b"l"),
            nest(b"(", b"t"),
            nest(b"]", b"a"),
            nest(b"", b"\x85"),
        ] {
            for content in [archive(&pickle, &[]), stream(&pickle, &[])] {
                let path = folder.put("deep.pt", content);
                let error = refused(&path, &[]);
                let is_typed = matches!(
                    error,
                    CheckpointError::PyTorch { .. } | CheckpointError::Inflates { .. }
                );
                assert!(is_typed, "{error}");
            }
        }
    }
}

#[test]
fn marks_and_lengths_without_an_end() {
    let folder = Folder::new();
    let long = |opcode: &[u8]| Pickle::new().op(opcode).op(u64::MAX.to_le_bytes()).stop();
    for pickle in [
        long(b"X"),
        long(b"B"),
        long(b"T"),
        long(&[0x8b]),
        long(&[0x8d]),
        long(&[0x8e]),
        long(&[0x96]),
        Pickle::new().op(b"(((((t").stop(),
        Pickle::new().op(b"tttt").stop(),
        Pickle::new().op(b"h\x07").stop(),
        Pickle::new().op(b"g99999999999999999999\n").stop(),
        Pickle::new().op(b"I9999999999999999999999\n").stop(),
        Pickle::new().op(b"cos\n").stop(),
        Pickle::new().op(b"").0,
    ] {
        for content in [archive(&pickle, &[]), stream(&pickle, &[]), pickle] {
            let path = folder.put("bad.pt", content);
            let error = refused(&path, &[]);
            assert!(matches!(error, CheckpointError::PyTorch { .. }), "{error}");
        }
    }
}

#[test]
fn a_shape_of_a_million_dimensions() {
    let folder = Folder::new();
    let ones = vec![1; 1000];
    let tensor = Tensor {
        shape: &ones,
        stride: &ones,
        ..ONE
    };
    let pickle = Pickle::state_dict("many", tensor);
    let path = folder.put("many.pt", archive(&pickle, &[("0", &[0; 4])]));
    let error = refused(&path, &["`many`", "1000 dimensions"]);
    assert!(matches!(error, CheckpointError::PyTorch { .. }));
}

#[test]
fn two_tensors_of_one_path() {
    let folder = Folder::new();
    let inner = |pickle: Pickle| {
        let dict = pickle.op(b"}");
        dict.entry("b", |pickle| pickle.tensor(ONE))
    };
    let pickle = Pickle::new().op(b"}").entry("a", inner);
    let pickle = pickle.entry("a.b", |pickle| pickle.tensor(ONE)).stop();
    let path = folder.put("twice.pt", archive(&pickle, &[("0", &[0; 4])]));
    let error = refused(&path, &["`a.b`"]);
    assert!(matches!(error, CheckpointError::DuplicateName { .. }));
}

#[test]
fn a_message_stays_short() {
    let folder = Folder::new();
    // The reader prints what it found instead of a dict.
    let machine = Pickle::new().text(&"\u{1}".repeat(100_000)).stop();
    let mut content = stream(&[], &[]);
    let at = content.iter().position(|byte| *byte == b'}').unwrap() - 2;
    content.truncate(at);
    content.extend(machine);
    let path = folder.put("long.pt", content);
    let error = refused(&path, &["sys_info"]);
    assert!(error.to_string().len() < 1000);
    named(&error, &path, &["…"]);
}
