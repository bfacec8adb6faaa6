//! The texts, the windows, and the asset's facts.

use std::fs;
use std::path::Path;

use burn::data::dataset::Dataset;
use shakespeare::{TextError, Texts, Windows, length};
use test_assets::SHAKESPEARE;

fn folder(texts: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, content) in texts {
        fs::write(folder.path().join(name), content).unwrap();
    }
    folder
}

fn refusal(folder: &Path) -> String {
    Texts::read(folder).unwrap_err().to_string()
}

#[test]
fn the_asset_is_what_its_page_says() {
    let Some(folder) = SHAKESPEARE.for_test() else {
        return;
    };
    assert_eq!(SHAKESPEARE.files.len(), 42);
    let bytes = SHAKESPEARE.files.iter().map(|file| file.bytes);
    assert_eq!(bytes.sum::<u64>(), 5_057_198);
    let texts = Texts::read(&folder).unwrap();
    assert_eq!(texts.symbols.count(), 84);
    let (train, held_out) = (length(&texts.train), length(&texts.held_out));
    assert_eq!(train + held_out, 5_057_198);
    assert_eq!(texts.train.len(), 38);
    let names: Vec<&str> = texts.held_out.iter().map(|text| &*text.name).collect();
    assert_eq!(names, ["cymbeline", "julius_caesar", "othello", "tempest"]);
    assert_eq!(held_out, 467_477);
    // And back again, to the byte.
    for text in texts.train.iter().chain(&texts.held_out) {
        let file = fs::read_to_string(folder.join(format!("{}.txt", text.name))).unwrap();
        let symbols = text.numbers.iter();
        let decoded: String = symbols
            .map(|number| texts.symbols.symbol(usize::from(*number)).unwrap())
            .collect();
        assert!(decoded == file, "{}", text.name);
    }
}

#[test]
fn no_text_is_both_learnt_from_and_held_out() {
    let names: Vec<String> = (0..17).map(|n| format!("{n:02}.txt")).collect();
    let texts: Vec<(&str, &[u8])> = names.iter().map(|name| (&**name, &b"ab"[..])).collect();
    let of = |count: usize| {
        let folder = folder(&texts[..count]);
        let texts = Texts::read(folder.path()).unwrap();
        let names: Vec<String> = texts
            .held_out
            .iter()
            .map(|text| text.name.clone())
            .collect();
        assert_eq!(texts.train.len() + names.len(), count);
        assert!(texts.train.iter().all(|text| !names.contains(&text.name)));
        names
    };
    assert_eq!(of(17), ["05", "15"]);
    assert_eq!(of(6), ["05"]);
    assert_eq!(of(2), ["01"]);
}

#[test]
fn windows_tile_each_text_and_reach_over_no_end() {
    let folder = folder(&[
        ("a.txt", b"0123456789"),
        ("b.txt", b"abcdefghi"),
        ("c.txt", b"x"),
    ]);
    let texts = Texts::read(folder.path()).unwrap();
    let windows = Windows::of(&texts.train, 4, "to learn from").unwrap();
    let window = |index: usize| -> String {
        let numbers = windows.get(index).unwrap().numbers;
        let symbols = numbers.iter();
        symbols
            .map(|number| texts.symbols.symbol(usize::from(*number)).unwrap())
            .collect()
    };
    let all: Vec<String> = (0..windows.len()).map(window).collect();
    assert_eq!(all, ["01234", "45678", "abcde", "efghi"]);
    let spread = windows.clone().spread(2);
    assert_eq!(spread.get(0).unwrap(), windows.get(0).unwrap());
    assert_eq!(spread.get(1).unwrap(), windows.get(2).unwrap());
    assert_eq!(windows.clone().spread(9).len(), 4);
}

#[test]
fn what_is_no_text_is_refused() {
    let one = folder(&[("a.txt", b"a"), ("b.csv", b"b")]);
    let error = refusal(one.path());
    assert!(error.contains("1 files that end in `.txt`"), "{error}");
    let error = refusal(&one.path().join("nowhere"));
    assert!(error.contains("nowhere"), "{error}");
    let latin = folder(&[("a.txt", b"a"), ("b.txt", b"na\xefve")]);
    let error = refusal(latin.path());
    assert!(
        error.contains("b.txt: byte 2 is 0xef, which is no ASCII"),
        "{error}"
    );
    let short = folder(&[("a.txt", b"abcd"), ("b.txt", b"a")]);
    let texts = Texts::read(short.path()).unwrap();
    let windows = Windows::of(&texts.train, 4, "to learn from");
    assert!(matches!(
        windows,
        Err(TextError::TooShort { context: 4, .. })
    ));
    assert!(matches!(
        texts.symbols.encode("ax"),
        Err(TextError::Prompt { found: 'x' })
    ));
}
