use std::fs;

use tempfile::tempdir;

use crate::files::{write_header, write_model};
use crate::{run, run_with};

#[test]
fn help_and_version_are_there() {
    let folder = tempdir().unwrap();
    for arguments in [
        "--help",
        "inspect --help",
        "diff --help",
        "convert --help",
        "check --help",
    ] {
        let help = run(folder.path(), arguments).succeeded();
        assert!(
            help.contains("Exit codes:") || help.contains("Examples:"),
            "{help}"
        );
        let widest = help.lines().map(|line| line.chars().count()).max();
        assert!(widest < Some(120), "{help}");
    }
    let version = run(folder.path(), "--version").succeeded();
    assert_eq!(
        version,
        format!("burn-fabric {}\n", env!("CARGO_PKG_VERSION"))
    );
}

#[test]
fn wrong_arguments_are_told_in_one_line() {
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("a.safetensors"));
    for (arguments, message) in [
        (&[][..], "no command"),
        (&["inspct"], "inspct"),
        (&["inspect"], "<FILE>"),
        (&["inspect", "a.safetensors", "--sort", "size"], "size"),
        (&["inspect", "a.safetensors", "--filter", "a***"], "a***"),
        (&["inspect", "a.safetensors", "\u{1b}[2J\n"], "\\u{1b}[2J"),
        (&["diff", "a.safetensors"], "<B>"),
        (&["diff", "a", "b", "--tolerance", "-1"], "--tolerance"),
        (
            &["diff", "a", "b", "--tolerance=nan"],
            "a tolerance is a number",
        ),
        (
            &["diff", "a", "b", "--tolerance=1", "--headers"],
            "--headers",
        ),
        (
            &["convert", "a.safetensors", "b.onnx"],
            "its ending tells no format",
        ),
        (
            &["convert", "a.safetensors", "b.bpk", "--dtype", "i8"],
            "i8",
        ),
        (
            &["convert", "a.safetensors", "b.bpk", "--rename", "abc"],
            "no `=`",
        ),
        (
            &["convert", "a.safetensors", "b.bpk", "--rename", "(=b"],
            "unclosed group",
        ),
        (
            &[
                "convert",
                "a.safetensors",
                "b.bpk",
                "--max-shard-size",
                "big",
            ],
            "no number of bytes",
        ),
        (
            &["convert", "a.safetensors", "b.bpk", "--embedding", "*"],
            "--layout",
        ),
        (
            &["convert", "a.safetensors", "b.bpk", "--filter", "x"],
            "no tensor matches",
        ),
        (
            &["convert", "a.safetensors", "b.bpk", "--transpose", "*.bias"],
            "no 2-D tensor",
        ),
        (&["check"], "<FILE>"),
    ] {
        let line = run_with(folder.path(), arguments).failed(2);
        assert!(line.contains(message), "{line}");
    }
    assert_eq!(crate::files::names_in(folder.path()), ["a.safetensors"]);
}

#[test]
fn bad_files_are_told_in_one_line() {
    let folder = tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(
        folder.path().join("text.safetensors"),
        "version https://example",
    )
    .unwrap();
    fs::write(folder.path().join("zero.safetensors"), "").unwrap();
    fs::write(folder.path().join("bad.pt"), b"\x80\x02garbage").unwrap();
    fs::write(
        folder.path().join("bad.bpk"),
        [0x4e, 0x52, 0x55, 0x42, 1, 0, 255, 255],
    )
    .unwrap();
    let header = r#"{"a\n\u001b":{"dtype":"F32","shape":[9],"data_offsets":[0,8]}}"#;
    write_header(&folder.path().join("size.safetensors"), header, 8);
    for (file, message) in [
        ("missing.safetensors", "there is no such file"),
        ("empty", "the folder holds no checkpoint"),
        ("text.safetensors", "neither safetensors"),
        ("zero.safetensors", "the file is empty"),
        ("bad.pt", "bad.pt"),
        ("bad.bpk", "bad.bpk"),
        ("size.safetensors", "`a\\n\\u{1b}`"),
    ] {
        for command in ["inspect", "convert", "diff"] {
            let other = match command {
                "convert" => "out.safetensors",
                "diff" => file,
                _ => "--json",
            };
            let line = run_with(folder.path(), &[command, file, other]).failed(1);
            assert!(line.contains(message), "{line}");
        }
    }
    let line = run(folder.path(), "check missing.safetensors").failed(1);
    assert!(line.contains("there is no such file"), "{line}");
    assert!(!folder.path().join("out.safetensors").exists());
}
