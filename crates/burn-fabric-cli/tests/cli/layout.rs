use burn_weights::{Checkpoint, write};
use tempfile::tempdir;

use crate::files::{names, singles, values, with, write_model};
use crate::run;

#[test]
fn layouts_are_converted_there_and_back() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    let there = "convert a.safetensors b.bpk --layout pytorch-to-burn";
    let line = run(folder.path(), there).failed(2);
    assert!(
        line.contains("2 2-D weights may be of a linear layer or an embedding"),
        "{line}"
    );
    assert!(line.contains("(embed.weight, head.weight)"), "{line}");
    let told = run(folder.path(), &format!("{there} --embedding embed.*")).succeeded();
    assert!(
        told.contains("`head.weight` is written on its own: `embed.weight` has"),
        "{told}"
    );
    let dropped = "1 tensor dropped, as Burn has no such thing: norm.num_batches_tracked";
    assert!(told.contains(dropped), "{told}");
    let path = folder.path().join("b.bpk");
    let expected = [
        "embed.weight",
        "fc.bias",
        "fc.weight",
        "head.weight",
        "mask",
        "norm.beta",
        "norm.gamma",
    ];
    assert_eq!(names(&path), expected);
    assert_eq!(values(&path, "fc.weight"), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    assert_eq!(
        values(&path, "embed.weight"),
        [0.0, 0.5, 1.0, 1.5, 2.0, 2.5]
    );
    assert_eq!(values(&path, "head.weight"), [0.0, 1.0, 2.0, 0.5, 1.5, 2.5]);
    assert_eq!(values(&path, "norm.beta"), [0.0, 0.1]);

    let back = "convert b.bpk c.safetensors --layout burn-to-pytorch --embedding embed.*";
    run(folder.path(), back).succeeded();
    let found = run(folder.path(), "diff a.safetensors c.safetensors").found();
    // The counter is gone, and nothing else is another.
    let expected = "only in A: norm.num_batches_tracked I64 []\n1 tensor differs, 7 the same\n";
    assert_eq!(found, expected);
}

#[test]
fn a_tie_of_one_layout_stays_one() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    let command = "convert a.safetensors b.bpk --layout pytorch-to-burn --no-embedding";
    run(folder.path(), command).succeeded();
    let checkpoint = Checkpoint::open(folder.path().join("b.bpk")).unwrap();
    assert_eq!(
        checkpoint.ties().collect::<Vec<_>>(),
        [("head.weight", "embed.weight")]
    );
    assert_eq!(checkpoint.tensor("embed.weight").unwrap().shape, [2, 3]);
}

#[test]
fn what_nothing_tells_is_kept_and_noted() {
    let folder = tempdir().unwrap();
    let tensors = vec![
        singles("attention.in_proj_weight", &[2, 1], &[1.0, 2.0]),
        singles("rms.weight", &[2], &[1.0, 2.0]),
    ];
    write(folder.path().join("a.safetensors"), tensors, &with(&[])).unwrap();
    let command = "convert a.safetensors b.safetensors --layout pytorch-to-burn";
    let told = run(folder.path(), command).succeeded();
    let note = "note: 2 tensors unchanged, as nothing tells the layer: attention.in_proj_weight, \
                rms.weight\n";
    assert!(told.ends_with(note), "{told}");
    let command = "convert a.safetensors c.safetensors --transpose *in_proj_weight";
    run(folder.path(), command).succeeded();
    let checkpoint = Checkpoint::open(folder.path().join("c.safetensors")).unwrap();
    assert_eq!(
        checkpoint.tensor("attention.in_proj_weight").unwrap().shape,
        [1, 2]
    );
}
