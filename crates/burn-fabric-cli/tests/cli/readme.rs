use std::fs;

use tempfile::tempdir;

use crate::files::{write_model, write_shards};
use crate::run_with;

/// What the README shows is what the program prints: its blocks of a command after `$` and the
/// output, in order, in one folder.
#[test]
#[cfg_attr(windows, ignore = "paths are written in another way")]
fn the_readme_shows_what_is_printed() {
    let readme = include_str!("../../README.md");
    let folder = tempdir().unwrap();
    write_model(&folder.path().join("model.safetensors"));
    fs::create_dir(folder.path().join("shards")).unwrap();
    write_shards(&folder.path().join("shards"));
    let blocks = readme.split("```text\n").skip(1);
    let mut commands = 0;
    for block in blocks {
        let block = block.split("```").next().unwrap();
        let mut expected = block;
        while let Some(command) = expected.strip_prefix("$ burn-fabric ") {
            let (command, rest) = command.split_once('\n').unwrap();
            let words: Vec<String> = command
                .split(' ')
                .map(|word| word.replace('\'', ""))
                .collect();
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let run = run_with(folder.path(), &words);
            let printed = run.stdout + &run.stderr;
            expected = rest.strip_prefix(printed.as_str()).unwrap_or_else(|| {
                panic!("`{command}` prints\n{printed}\nand the README has\n{rest}")
            });
            commands += 1;
        }
        assert_eq!(expected, "");
    }
    assert!(commands >= 5, "{commands}");
}
