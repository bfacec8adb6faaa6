use burn_std::DType;
use burn_weights::{Outgoing, write};
use tempfile::tempdir;

use crate::files::{raw, singles, with, write_header, write_model, write_pytorch, write_shards};
use crate::{Run, run};

/// Compare two lists of tensors.
fn diff(a: Vec<Outgoing>, b: Vec<Outgoing>, arguments: &str) -> Run {
    let folder = tempdir().unwrap();
    write(folder.path().join("a.safetensors"), a, &with(&[])).unwrap();
    write(folder.path().join("b.bpk"), b, &with(&[])).unwrap();
    run(
        folder.path(),
        &format!("diff a.safetensors b.bpk {arguments}"),
    )
}

#[test]
fn the_same_are_the_same_whatever_holds_them() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("model.bpk"));
    std::fs::create_dir(folder.path().join("shards")).unwrap();
    write_shards(&folder.path().join("shards"));
    let same = run(folder.path(), "diff model.bpk shards").succeeded();
    assert_eq!(same, "the same: 8 tensors\n");
    let same = run(folder.path(), "diff model.bpk shards --headers").succeeded();
    assert_eq!(same, "the same by their headers: 8 tensors\n");
    write_pytorch(&folder.path().join("fc.pt"));
    let found = run(folder.path(), "diff fc.pt model.bpk").found();
    assert!(found.ends_with("7 tensors differ, 1 the same\n"), "{found}");
}

#[test]
fn every_difference_is_a_line() {
    let a = || {
        vec![
            singles("gone", &[1], &[0.0]),
            singles("shape", &[2, 1], &[1.0, 2.0]),
            singles("dtype", &[2], &[1.0, 2.5]),
            singles("value", &[2, 2], &[1.0, 2.0, 3.0, f32::NAN]),
            singles("same", &[1], &[f32::NAN]),
        ]
    };
    let b = || {
        let doubles: Vec<u8> = [1.0_f64, 2.75]
            .iter()
            .flat_map(|v| v.to_le_bytes())
            .collect();
        vec![
            singles("shape", &[2], &[1.0, 2.0]),
            raw("dtype", DType::F64, &[2], doubles),
            singles("value", &[2, 2], &[1.0, 2.5, 3.0, 0.0]),
            singles("same", &[1], &[f32::NAN]),
            singles("new", &[1], &[0.0]),
        ]
    };
    let expected = "\
dtype: dtype F32 in A, F64 in B
dtype: 1 of 2 values, the first at [1], largest difference 0.25
only in A: gone F32 [1]
only in B: new F32 [1]
shape: shape [2, 1] in A, [2] in B
value: 2 of 4 values, the first at [0, 1], largest difference 0.5, 1 with a NaN
5 tensors differ, 1 the same
";
    assert_eq!(diff(a(), b(), "").found(), expected);
    let expected = "\
dtype: dtype F32 in A, F64 in B
only in A: gone F32 [1]
only in B: new F32 [1]
shape: shape [2, 1] in A, [2] in B
4 tensors differ by their headers, 2 the same
";
    assert_eq!(diff(a(), b(), "--headers").found(), expected);
}

#[test]
fn bits_decide_without_a_tolerance_and_distances_with_one() {
    let of = |value: f32| vec![singles("w", &[1], &[value])];
    let quiet = f32::from_bits(0x7fc0_0001);
    for (a, b, without, zero, half) in [
        (1.0, 1.0, true, true, true),
        (1.0, 1.25, false, false, true),
        (1.0, 2.0, false, false, false),
        (0.0, -0.0, false, true, true),
        (f32::NAN, quiet, false, true, true),
        (f32::NAN, 1.0, false, false, false),
        (f32::INFINITY, f32::INFINITY, true, true, true),
        (f32::INFINITY, f32::MAX, false, false, false),
    ] {
        for (arguments, same) in [
            ("", without),
            ("--tolerance 0", zero),
            ("--tolerance 0.5", half),
        ] {
            let run = diff(of(a), of(b), arguments);
            assert_eq!(
                run.code,
                Some(i32::from(!same)),
                "{a} {b} {arguments}: {}",
                run.stdout
            );
        }
    }
    let of = |value: i64| vec![raw("w", DType::I64, &[1], value.to_le_bytes().to_vec())];
    let found = diff(of(i64::MAX), of(i64::MAX - 1), "--tolerance 0").found();
    assert!(found.contains("largest difference 1\n"), "{found}");
}

#[test]
fn what_burn_has_no_dtype_for_is_compared_by_bytes() {
    let folder = tempdir().unwrap();
    let header = r#"{"w":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[0,4]}}"#;
    for (name, last) in [("a", 0), ("b", 0), ("c", 1)] {
        let path = folder.path().join(name);
        write_header(&path, header, 4);
        let mut bytes = std::fs::read(&path).unwrap();
        *bytes.last_mut().unwrap() = last;
        std::fs::write(&path, bytes).unwrap();
    }
    run(folder.path(), "diff a b").succeeded();
    let found = run(folder.path(), "diff a c").found();
    assert!(
        found.starts_with("w: 1 of 4 bytes, as Burn lacks the dtype\n"),
        "{found}"
    );
}
