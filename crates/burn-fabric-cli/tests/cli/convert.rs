use std::fs;

use burn_std::DType;
use burn_weights::{Checkpoint, WriteOptions, write};
use tempfile::tempdir;

use crate::files::{
    names, names_in, raw, singles, values, with, write_header, write_model, write_pytorch,
    write_shards,
};
use crate::{run, run_with};

#[test]
fn every_format_becomes_every_other() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    let told = run(folder.path(), "convert a.safetensors b.bpk").succeeded();
    assert_eq!(told, "b.bpk: 1 file, 7 tensors, 83 B\n");
    run(folder.path(), "convert b.bpk c.safetensors").succeeded();
    assert_eq!(
        run(folder.path(), "diff a.safetensors c.safetensors").code,
        Some(0)
    );
    let listed = run(folder.path(), "inspect c.safetensors").succeeded();
    assert!(listed.contains("head.weight = embed.weight"), "{listed}");
    assert!(listed.contains("format: pt"), "{listed}");
    write_pytorch(&folder.path().join("d.pt"));
    for out in ["e.safetensors", "e.bpk"] {
        run(folder.path(), &format!("convert d.pt {out}")).succeeded();
        assert_eq!(
            run(folder.path(), &format!("diff d.pt {out}")).code,
            Some(0)
        );
    }
    run(folder.path(), "convert d.pt weights --format burnpack").succeeded();
    let listed = run(folder.path(), "inspect weights").succeeded();
    assert!(listed.starts_with("weights: burnpack"), "{listed}");
}

#[test]
fn ids_of_parameters_go_along() {
    let folder = tempdir().unwrap();
    let tensor = singles("w", &[1], &[1.5]).with_param_id(Some(1234567));
    write(folder.path().join("a.bpk"), vec![tensor], &with(&[])).unwrap();
    run(folder.path(), "convert a.bpk b.bpk --dtype f16").succeeded();
    let checkpoint = Checkpoint::open(folder.path().join("b.bpk")).unwrap();
    assert_eq!(checkpoint.param_id("w"), Ok(Some(1234567)));
}

#[test]
fn shards_are_made_and_put_together() {
    let folder = tempdir().unwrap();
    write_shards(folder.path());
    let told = run(folder.path(), "convert . whole.bpk").succeeded();
    assert_eq!(told, "whole.bpk: 1 file, 7 tensors, 83 B\n");
    fs::create_dir(folder.path().join("out")).unwrap();
    let command = "convert whole.bpk out/m.safetensors --max-shard-size 60B";
    let told = run(folder.path(), command).succeeded();
    assert!(
        told.starts_with("out/m.safetensors.index.json: 2 files, 7 tensors, 83 B\n"),
        "{told}"
    );
    assert_eq!(
        names_in(&folder.path().join("out")),
        [
            "m-00001-of-00002.safetensors",
            "m-00002-of-00002.safetensors",
            "m.safetensors.index.json"
        ]
    );
    assert_eq!(run(folder.path(), "diff out whole.bpk").code, Some(0));
    assert_eq!(run(folder.path(), "check out").code, Some(0));
}

#[test]
fn floats_change_their_dtype_and_all_else_stays() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    let told = run(
        folder.path(),
        "convert a.safetensors b.safetensors --dtype bf16",
    )
    .succeeded();
    let line =
        "F32 to BF16: 5 tensors, 18 values, 1 rounded, 0 of them to zero and 0 to infinity\n";
    assert!(told.ends_with(line), "{told}");
    let checkpoint = Checkpoint::open(folder.path().join("b.safetensors")).unwrap();
    let dtype = |name| checkpoint.tensor(name).unwrap().dtype.name();
    assert_eq!(dtype("fc.weight"), "BF16");
    assert_eq!(
        (dtype("mask"), dtype("norm.num_batches_tracked")),
        ("BOOL".into(), "I64".into())
    );
    let told = run(
        folder.path(),
        "convert b.safetensors c.safetensors --dtype f64",
    )
    .succeeded();
    assert!(
        told.ends_with("BF16 to F64: 5 tensors, 18 values, all exact\n"),
        "{told}"
    );
}

#[test]
fn values_beyond_a_dtype_are_an_error_unless_allowed() {
    let folder = tempdir().unwrap();
    for input in ["a.safetensors", "a.bpk"] {
        let tensors = vec![singles("w", &[2, 2], &[1.0, f32::INFINITY, 1e5, 1e-30])];
        write(folder.path().join(input), tensors, &with(&[])).unwrap();
        for output in ["b.safetensors", "b.bpk"] {
            let command = format!("convert {input} {output} --dtype f16");
            let line = run(folder.path(), &command).failed(1);
            let message = "`w` has 1 finite value beyond F16, the first at [1, 0]: pass";
            assert!(line.contains(message), "{line}");
            assert!(!folder.path().join(output).exists());
        }
    }
    let command = "convert a.bpk b.bpk --dtype f16 --allow-overflow";
    let told = run(folder.path(), command).succeeded();
    assert!(
        told.contains("2 rounded, 1 of them to zero and 1 to infinity"),
        "{told}"
    );
}

#[test]
fn what_is_there_is_replaced_only_when_told_to() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    fs::write(folder.path().join("b.bpk"), "precious").unwrap();
    let line = run(folder.path(), "convert a.safetensors b.bpk").failed(1);
    assert!(line.ends_with("b.bpk: there is a file already: pass --overwrite to replace it"));
    assert_eq!(fs::read(folder.path().join("b.bpk")).unwrap(), b"precious");
    run(folder.path(), "convert a.safetensors b.bpk --overwrite").succeeded();
    assert_eq!(run(folder.path(), "diff a.safetensors b.bpk").code, Some(0));
    // Into its own place, and nothing is left beside it.
    run(
        folder.path(),
        "convert a.safetensors a.safetensors --overwrite",
    )
    .succeeded();
    assert_eq!(run(folder.path(), "diff a.safetensors b.bpk").code, Some(0));
    assert_eq!(names_in(folder.path()), ["a.safetensors", "b.bpk"]);
}

#[test]
fn names_are_replaced_in_order() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    let arguments = ["convert", "a.safetensors", "b.bpk", "--filter", "*.weight"];
    let renames = [
        "--rename",
        "^fc=linear",
        "--rename",
        r"^(\w+)\.=model.$1.",
        "--rename",
        "x=y",
    ];
    let told = run_with(folder.path(), &[&arguments[..], &renames].concat()).succeeded();
    assert!(
        told.ends_with("note: --rename 'x=y' matches no name\n"),
        "{told}"
    );
    let path = folder.path().join("b.bpk");
    let expected = [
        "model.embed.weight",
        "model.linear.weight",
        "model.norm.weight",
    ];
    assert_eq!(names(&path), expected);
    let checkpoint = Checkpoint::open(&path).unwrap();
    let ties: Vec<_> = checkpoint.ties().collect();
    assert_eq!(ties, [("model.head.weight", "model.embed.weight")]);
}

#[test]
fn two_tensors_of_one_name_are_refused_before_anything_is_written() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    for (rename, message) in [
        ("^(fc|norm)=x", "would both be named `x."),
        ("^head=embed", "would both be named `embed.weight`"),
        (
            "^head.weight$=format",
            "the metadata has a text of that name",
        ),
        ("^mask$=", "no name for a tensor"),
        ("^mask$=__metadata__", "no name for a tensor"),
    ] {
        let line = run_with(
            folder.path(),
            &["convert", "a.safetensors", "b.bpk", "--rename", rename],
        );
        let line = line.failed(2);
        assert!(line.contains(message), "{line}");
    }
    assert_eq!(names_in(folder.path()), ["a.safetensors"]);
}

#[test]
fn ties_without_their_tensor_go_or_become_one() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    let ties = |path: &str| {
        let checkpoint = Checkpoint::open(folder.path().join(path)).unwrap();
        (
            checkpoint.names().map(str::to_owned).collect::<Vec<_>>(),
            checkpoint.metadata().len(),
        )
    };
    run(folder.path(), "convert a.safetensors b.bpk --filter fc.*").succeeded();
    assert_eq!(
        ties("b.bpk"),
        (vec!["fc.bias".to_owned(), "fc.weight".to_owned()], 1)
    );
    run(folder.path(), "convert a.safetensors c.bpk --filter head.*").succeeded();
    assert_eq!(ties("c.bpk"), (vec!["head.weight".to_owned()], 1));
}

#[test]
fn what_cannot_be_converted_is_told_before_anything_is_written() {
    let folder = tempdir().unwrap();
    let header = r#"{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},
        "w":{"dtype":"F8_E4M3","shape":[4],"data_offsets":[1,5]}}"#;
    write_header(&folder.path().join("a.safetensors"), header, 5);
    let line = run(folder.path(), "convert a.safetensors b.safetensors").failed(1);
    assert!(
        line.contains("`w` has dtype F8_E4M3, which Burn lacks"),
        "{line}"
    );
    run(
        folder.path(),
        "convert a.safetensors b.safetensors --filter a",
    )
    .succeeded();
    let line = run(
        folder.path(),
        "convert a.safetensors missing/b.safetensors --filter a",
    );
    assert!(line.failed(1).contains("missing"));
}

#[test]
fn a_scalar_and_an_empty_tensor_go_along() {
    let folder = tempdir().unwrap();
    let tensors = vec![
        singles("empty", &[0, 3], &[]),
        raw("scalar", DType::F64, &[], 0.5_f64.to_le_bytes().to_vec()),
    ];
    write(
        folder.path().join("a.bpk"),
        tensors,
        &WriteOptions::default(),
    )
    .unwrap();
    let command = "convert a.bpk b.safetensors --dtype f32 --transpose empty";
    run(folder.path(), command).succeeded();
    let path = folder.path().join("b.safetensors");
    assert_eq!(values(&path, "scalar"), [0.5]);
    assert_eq!(
        Checkpoint::open(&path)
            .unwrap()
            .tensor("empty")
            .unwrap()
            .shape,
        [3, 0]
    );
}
