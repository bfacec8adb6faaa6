use std::io::Read;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use tempfile::tempdir;

use crate::files::{singles, with, write_header, write_model, write_pytorch, write_shards};
use crate::run;

#[test]
fn a_file_is_listed_with_its_ties_and_metadata() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("model.safetensors"));
    let expected = "\
model.safetensors: safetensors, 1 file, 7 tensors, 22 elements, 83 B

name                      dtype  shape   bytes
embed.weight              F32    [3, 2]   24 B
fc.bias                   F32    [2]       8 B
fc.weight                 F32    [2, 3]   24 B
mask                      BOOL   [3]       3 B
norm.bias                 F32    [2]       8 B
norm.num_batches_tracked  I64    []        8 B
norm.weight               F32    [2]       8 B

ties
  head.weight = embed.weight

metadata
  format: pt
";
    assert_eq!(
        run(folder.path(), "inspect model.safetensors").succeeded(),
        expected
    );
}

#[test]
fn shards_are_listed_with_their_files() {
    let folder = tempdir().unwrap();
    write_shards(folder.path());
    for path in [".", "model.safetensors.index.json"] {
        let listed = run(folder.path(), &format!("inspect {path}")).succeeded();
        let title = listed.lines().next().unwrap();
        assert!(
            title.contains("safetensors, 3 files, 7 tensors, 22 elements, 83 B"),
            "{listed}"
        );
        assert!(
            listed.contains("  model-00002-of-00003.safetensors\n"),
            "{listed}"
        );
        assert!(listed.contains("head.weight = embed.weight"), "{listed}");
    }
}

#[test]
fn tensors_are_sorted_and_filtered() {
    let folder = tempdir().unwrap();
    let tensors = vec![
        singles("layer.10", &[1], &[1.0]),
        singles("layer.9", &[2], &[1.0, 2.0]),
        singles("b", &[3], &[1.0, 2.0, 3.0]),
    ];
    burn_weights::write(folder.path().join("a.safetensors"), tensors, &with(&[])).unwrap();
    let names = |arguments: &str| -> Vec<String> {
        let listed = run(folder.path(), &format!("inspect a.safetensors {arguments}")).succeeded();
        let rows = listed.lines().skip(3).take_while(|line| !line.is_empty());
        rows.map(|row| row.split(' ').next().unwrap().to_owned())
            .collect()
    };
    assert_eq!(names(""), ["b", "layer.9", "layer.10"]);
    assert_eq!(names("--sort bytes"), ["b", "layer.9", "layer.10"]);
    assert_eq!(names("--sort file-order"), ["layer.10", "layer.9", "b"]);
    assert_eq!(names("--filter b --filter *.9"), ["b", "layer.9"]);
    let listed = run(folder.path(), "inspect a.safetensors --filter layer*").succeeded();
    assert!(
        listed.contains(" 2 tensors of 3, 3 elements, 12 B\n"),
        "{listed}"
    );
    let listed = run(folder.path(), "inspect a.safetensors --filter x").succeeded();
    assert!(
        listed.contains(" 0 tensors of 3, 0 elements, 0 B\n"),
        "{listed}"
    );
}

#[test]
fn statistics_are_of_finite_values() {
    let folder = tempdir().unwrap();
    let tensors = vec![
        singles("w", &[5], &[1.0, 3.0, f32::NAN, f32::NEG_INFINITY, 2.0]),
        singles("empty", &[0, 4], &[]),
    ];
    burn_weights::write(folder.path().join("a.bpk"), tensors, &with(&[])).unwrap();
    let expected = "\
a.bpk: burnpack, 1 file, 2 tensors, 5 elements, 20 B

name   dtype  shape   bytes  min  max  mean       std  non-finite
empty  F32    [0, 4]    0 B    -    -     -         -           0
w      F32    [5]      20 B    1    3     2  0.816497           2
";
    assert_eq!(
        run(folder.path(), "inspect a.bpk --stats").succeeded(),
        expected
    );
    let json = run(folder.path(), "inspect a.bpk --stats --json").succeeded();
    let json: Value = serde_json::from_str(&json).unwrap();
    let stats = &json["tensors"][0]["stats"];
    assert_eq!(
        stats,
        &json!({"min": null, "max": null, "mean": null, "std": null, "non_finite": 0})
    );
    assert_eq!(json["tensors"][1]["stats"]["mean"], 2.0);
}

#[test]
fn json_has_what_its_help_says() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("model.safetensors"));
    let json = run(
        folder.path(),
        "inspect model.safetensors --json --filter mask",
    )
    .succeeded();
    let json: Value = serde_json::from_str(&json).unwrap();
    let bytes = folder
        .path()
        .join("model.safetensors")
        .metadata()
        .unwrap()
        .len();
    let expected = json!({
        "path": "model.safetensors",
        "format": "safetensors",
        "sharded": false,
        "files": [{
            "path": "model.safetensors",
            "format": "safetensors",
            "bytes": bytes,
            "tensors": 7,
        }],
        "tensors": [{
            "name": "mask",
            "dtype": "BOOL",
            "shape": [3],
            "bytes": 3,
            "file": "model.safetensors",
            "offset": bytes - 3,
        }],
        "ties": {"head.weight": "embed.weight"},
        "metadata": {"format": "pt"},
    });
    assert_eq!(json, expected);
}

#[test]
fn a_pytorch_file_is_listed() {
    let folder = tempdir().unwrap();
    write_pytorch(&folder.path().join("model.pt"));
    let listed = run(folder.path(), "inspect model.pt --stats").succeeded();
    assert!(
        listed.starts_with("model.pt: PyTorch, 1 file, 1 tensor, 6 elements, 24 B\n"),
        "{listed}"
    );
    assert!(
        listed.contains("fc.weight  F32    [2, 3]   24 B    1    6   3.5  1.70783"),
        "{listed}"
    );
    let json = run(folder.path(), "inspect model.pt --json").succeeded();
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tensors"][0]["offset"], Value::Null);
}

/// Neither memory nor disk here has so much: whatever read it would not end in time.
#[test]
#[cfg_attr(windows, ignore = "a file has to take its place on the disk")]
fn a_hundred_gigabytes_are_listed_by_their_header() {
    let folder = tempdir().unwrap();
    let half = 50_000_000_000_u64;
    let header = format!(
        r#"{{"a":{{"dtype":"F32","shape":[125000,100000],"data_offsets":[0,{half}]}},
            "b":{{"dtype":"F8_E4M3","shape":[{half}],"data_offsets":[{half},{}]}}}}"#,
        2 * half
    );
    write_header(&folder.path().join("large.safetensors"), &header, 2 * half);
    let listed = run(folder.path(), "inspect large.safetensors").succeeded();
    let title = "2 tensors, 62,500,000,000 elements, 100.0 GB";
    assert!(listed.lines().next().unwrap().ends_with(title), "{listed}");
    assert!(listed.contains("b     F8_E4M3  [50000000000]"), "{listed}");
    let json = run(folder.path(), "inspect large.safetensors --json").succeeded();
    assert!(json.contains("\"F8_E4M3\""));
    let sound = run(folder.path(), "check large.safetensors --headers").succeeded();
    assert!(
        sound.contains(": sound (looked at 1 file, 2 tensors, no values)"),
        "{sound}"
    );
}

#[test]
fn nothing_in_a_name_steers_the_terminal() {
    let folder = tempdir().unwrap();
    let header = r#"{"__metadata__":{"k\u001b[31m":"a\nb"},
        "w\n\u001b[2J\u009b\u202e":{"dtype":"U8\r","shape":[1],"data_offsets":[0,1]}}"#;
    write_header(&folder.path().join("a.safetensors"), header, 1);
    let listed = run(folder.path(), "inspect a.safetensors").succeeded();
    assert!(
        listed.contains(r"w\n\u{1b}[2J\u{9b}\u{202e}  U8\r"),
        "{listed}"
    );
    assert!(listed.contains(r"k\u{1b}[31m: a\nb"), "{listed}");
    let json = run(folder.path(), "inspect a.safetensors --json").succeeded();
    for text in [listed, json.clone()] {
        let steering = |letter: char| letter.is_control() && letter != '\n' || letter == '\u{202e}';
        assert!(!text.contains(steering), "{text:?}");
    }
    let json: Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["tensors"][0]["name"], "w\n\u{1b}[2J\u{9b}\u{202e}");
}

#[test]
fn a_reader_that_goes_is_no_error() {
    let folder = tempdir().unwrap();
    // More than a pipe holds.
    let tensors = (0..5000)
        .map(|i| singles(&format!("layer.{i:060}"), &[1], &[0.0]))
        .collect();
    burn_weights::write(folder.path().join("a.safetensors"), tensors, &with(&[])).unwrap();
    for arguments in [
        &["inspect", "a.safetensors"][..],
        &["inspect", "a.safetensors", "--json"],
    ] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_burn-fabric"))
            .current_dir(folder.path())
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut some = [0; 10];
        child.stdout.take().unwrap().read_exact(&mut some).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(
            (output.status.code(), output.stderr.as_slice()),
            (Some(0), &b""[..])
        );
    }
}
