//! The example as a command, on small files made here.

use std::fs;
use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use run_common::command::{Place, hash, interrupt, refusal, refusal_at_once, success};
use test_assets::FASHION;

const SIDE: usize = 28;

/// Samples of two classes and noise, in the files' format: enough to learn from.
/// Of each ten labels so many are wrong.
fn write_samples(folder: &Path, name: &str, count: usize, wrong: usize) {
    let (mut pixels, mut labels) = (Vec::new(), Vec::new());
    let mut noise = 1_u32;
    for sample in 0..count {
        let label = sample % 2;
        for pixel in 0..SIDE * SIDE {
            noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            // The one is bright above, the other below.
            let is_bright = (pixel < SIDE * SIDE / 2) == (label == 0);
            let base = if is_bright { 150 } else { 0 };
            pixels.push(base + (noise >> 24) as u8 % 100);
        }
        let is_wrong = sample * 7 % 10 < wrong;
        labels.push(label as u8 ^ u8::from(is_wrong));
    }
    let write = |kind: &str, header: &[u32], content: &[u8]| {
        let path = folder.join(format!("{name}-{kind}-ubyte.gz"));
        let mut file = GzEncoder::new(fs::File::create(path).unwrap(), Compression::fast());
        for number in header {
            file.write_all(&number.to_be_bytes()).unwrap();
        }
        file.write_all(content).unwrap();
        file.finish().unwrap();
    };
    let side = SIDE as u32;
    write("images-idx3", &[0x803, count as u32, side, side], &pixels);
    write("labels-idx1", &[0x801, count as u32], &labels);
}

/// Of a small run.
const SMALL: &[&str] = &[
    "--data",
    ".",
    "--batch-size",
    "32",
    "--device",
    "flex",
    "--train-samples",
    "512",
    "--test-samples",
    "128",
];

fn place() -> Place {
    place_with_wrong_labels(0)
}

fn place_with_wrong_labels(wrong: usize) -> Place {
    let place = Place::new(env!("CARGO_BIN_EXE_fashion"), SMALL);
    write_samples(place.folder(), "train", 600, wrong);
    write_samples(place.folder(), "t10k", 200, wrong);
    place
}

/// The metrics without the time that each epoch took.
fn metrics(out: &Path) -> Vec<String> {
    let text = fs::read_to_string(out.join("metrics.csv")).unwrap();
    let without = |line: &str| line.rsplit_once(',').unwrap().0.to_owned();
    text.lines().map(without).collect()
}

#[test]
fn a_wrong_value_gets_one_line_and_exit_code_2() {
    let place = place();
    let cases: &[(&[&str], &str)] = &[
        (&["--seed", "many"], "'many' for '--seed"),
        (&["--epochs", "0"], "1..=10000"),
        (&["--workers", "-1"], "'-1'"),
        (&["--device", "abacus"], "no accelerator is called `abacus`"),
        (&["--precision", "f8"], "no precision is called `f8`"),
        (&["--resume", "a", "b"], "'b'"),
        (&["--colour"], "'--colour'"),
    ];
    place.wrong_values(cases);
}

#[test]
fn help_lists_the_options() {
    let help = place().train("out", &["--help"]);
    for option in [
        "--seed",
        "--epochs",
        "--batch-size",
        "--workers",
        "--config",
        "--device",
        "--precision",
        "--out",
        "--resume",
    ] {
        assert!(help.contains(option), "{option}");
    }
}

#[test]
fn data_that_was_not_fetched_is_exit_code_1_and_the_command_to_fetch_it() {
    let nowhere = Place::new(env!("CARGO_BIN_EXE_fashion"), &[]);
    let mut command = nowhere.bare();
    command.env(test_assets::FOLDER_VARIABLE, nowhere.folder());
    let error = refusal_at_once(&mut command, 1);
    assert!(error.contains("cargo xtask assets fashion"), "{error}");
    // Nothing was made for a run that cannot be.
    assert_eq!(fs::read_dir(nowhere.folder()).unwrap().count(), 0);
}

#[test]
fn two_runs_with_one_seed_end_alike() {
    let place = place();
    let first = place.train("first", &["--epochs", "2", "--seed", "5"]);
    for part in [
        "0 bytes allocated",
        "second: ",
        "running_var",
        "dropout 0.2",
        "\nepoch ",
    ] {
        assert!(first.contains(part), "{part}: {first}");
    }
    // The order of the samples and what dropout leaves out are those of the seed, whoever makes the
    // batches.
    let second = place.train(
        "second",
        &["--epochs", "2", "--seed", "5", "--workers", "0"],
    );
    assert_eq!(hash(&first), hash(&second));
    assert_eq!(metrics(&place.out("first")), metrics(&place.out("second")));
    let other = place.train("other", &["--epochs", "2", "--seed", "6"]);
    assert_ne!(hash(&first), hash(&other));

    let accuracy = first.lines().last().unwrap();
    let accuracy = accuracy.strip_prefix("test accuracy: ").unwrap();
    assert!(accuracy.parse::<f32>().unwrap() > 0.9, "{accuracy}");
    let metrics = metrics(&place.out("first"));
    assert_eq!(metrics[0], "epoch,loss,test_loss,test_accuracy");
    assert_eq!(metrics.len(), 3);
    let picture = fs::read_to_string(place.out("first").join("curves.svg")).unwrap();
    for part in ["<svg", "loss", "accuracy", "epoch", "training", "test"] {
        assert!(picture.contains(part), "{part}");
    }
    let weights = place.out("first").join("weights.bpk");
    assert!(weights.metadata().unwrap().len() > 0);
}

#[cfg(unix)]
#[test]
fn an_interrupted_run_goes_on_and_ends_with_the_same_bits() {
    let place = place();
    let whole = place.train("whole", &["--epochs", "4"]);

    let rest = interrupt(place.command("halves", &["--epochs", "4"]), "    1  ");
    for part in ["interrupted after step ", "--resume halves"] {
        assert!(rest.contains(part), "{part}: {rest}");
    }
    let folder = place.out("halves");
    assert!(!folder.join("weights.bpk").exists());

    // Nobody loses it by forgetting the option.
    let error = place.refusal("halves", &["--epochs", "4"]);
    assert!(error.contains("--resume"), "{error}");

    let resumed = place.train("halves", &["--epochs", "4", "--resume"]);
    assert!(resumed.contains("\nAfter step "), "{resumed}");
    assert_eq!(hash(&resumed), hash(&whole));
    assert_eq!(metrics(&folder), metrics(&place.out("whole")));

    // Each epoch's line is there again, the one before the interrupt too.
    let epochs = |text: &str| text.lines().filter(|line| line.ends_with(" s")).count();
    assert_eq!((epochs(&resumed), epochs(&whole)), (4, 4));

    // A run that is over has nothing left to do.
    let over = place.train("halves", &["--epochs", "4", "--resume", "halves"]);
    assert_eq!(hash(&over), hash(&whole));
    // And one that begins anew leaves no checkpoint of it.
    place.train("halves", &["--epochs", "1"]);
    let kept = fs::read_dir(folder.join("checkpoints")).unwrap();
    let kept: Vec<_> = kept.map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(kept, ["step-000000016"]);
}

#[test]
fn a_resume_with_other_settings_is_refused() {
    let place = place();
    place.train("run", &["--epochs", "1"]);
    let config = place.out("other.toml");
    fs::write(&config, "[training]\nepochs = 1\ndropout = 0.5\n").unwrap();
    let config = config.to_str().unwrap();
    let cases: &[(&[&str], &str)] = &[
        (&["--epochs", "2"], "another schedule"),
        (&["--epochs", "1", "--seed", "9"], "has seed 0, "),
        (
            &["--epochs", "1", "--train-samples", "511"],
            "items: 512 there, 511 here",
        ),
        (
            &["--config", config],
            "dropout 0.2; this one was told seed 0, ",
        ),
    ];
    for (arguments, part) in cases {
        // An option that is given twice would be refused for that.
        let others = SMALL
            .chunks(2)
            .filter(|option| !arguments.contains(&option[0]));
        let mut command = place.bare();
        command.args(others.flatten()).args(*arguments);
        let error = refusal(command.args(["--out", "run", "--resume"]), 1);
        assert!(error.contains(part), "{arguments:?}: {error}");
    }
    assert!(place.out("run").join("weights.bpk").exists());
    let error = place.refusal("nothing", &["--resume"]);
    assert!(error.contains("holds no checkpoint"), "{error}");
}

#[test]
fn a_file_says_how_to_train() {
    let place = place();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("fashion.toml");
    let example = example.to_str().unwrap();
    // The values of the example are the defaults.
    let by_file = place.train("by-file", &["--config", example, "--epochs", "1"]);
    let by_default = place.train("by-default", &["--epochs", "1"]);
    assert_eq!(hash(&by_file), hash(&by_default));

    let path = place.out("config.toml");
    let cases = [
        ("[training]\nrat = 1e-3\n", "unknown field `rat`"),
        ("[fabric]\nsed = 1\n", "unknown field `sed`"),
        ("[trainng]\n", "unknown field `trainng`"),
        (
            "[training]\nrate = 2.0\n",
            "`rate` is 2: give a number from ",
        ),
        ("[training]\ndropout = nan\n", "`dropout` is NaN"),
        ("[fabric]\naccumulate = 4\n", "`accumulate` is 4"),
        ("rate", "config.toml"),
    ];
    for (content, part) in cases {
        fs::write(&path, content).unwrap();
        let error = place.refusal("refused", &["--config", "config.toml"]);
        assert!(error.contains(part), "{content}: {error}");
    }
    let error = place.refusal("refused", &["--config", "nowhere.toml"]);
    assert!(error.contains("`nowhere.toml` cannot be read"), "{error}");
}

#[test]
fn real_samples_are_learnt_from() {
    let Some(folder) = FASHION.for_test() else {
        return;
    };
    let place = Place::new(env!("CARGO_BIN_EXE_fashion"), &[]);
    let mut command = place.bare();
    command.args(["--data", folder.to_str().unwrap(), "--epochs", "2"]);
    command.args(["--train-samples", "512", "--test-samples", "256"]);
    let printed = success(command.args(["--batch-size", "32", "--device", "flex"]));
    let accuracy = printed.lines().last().unwrap();
    let accuracy = accuracy.strip_prefix("test accuracy: ").unwrap();
    // Chance would be 0.1.
    assert!(accuracy.parse::<f32>().unwrap() > 0.55, "{printed}");
    assert!(place.out("runs/fashion/weights.bpk").exists());
}

/// Loss and test loss of each epoch.
fn losses(out: &Path) -> Vec<[f64; 2]> {
    let lines = metrics(out);
    let numbers = lines.iter().skip(1).map(|line| {
        let numbers: Vec<f64> = line.split(',').map(|part| part.parse().unwrap()).collect();
        [numbers[1], numbers[2]]
    });
    numbers.collect()
}

/// Each run is a process of its own: Burn fixes the default dtype once. The test loss is that of the
/// running statistics.
#[test]
fn each_precision_follows_the_losses_of_f32() {
    // What nobody can learn, so that the losses stay far from zero.
    let place = place_with_wrong_labels(2);
    let run = |precision: &str| {
        // At its first scale, f16 leaves the first steps out, and would begin its curve later.
        let config = place.out("config.toml");
        let scale = match precision {
            "mixed-f16" => "[fabric]\nloss_scale = 1024.0\n",
            _ => "",
        };
        fs::write(&config, scale).unwrap();
        let arguments = ["--epochs", "3", "--config", "config.toml", "--precision"];
        let printed = place.train(precision, &[&arguments[..], &[precision]].concat());
        (printed, losses(&place.out(precision)))
    };
    let (_, expected) = run("f32");
    // The mean distance of an epoch, as a share of the first loss: the README promises these.
    for (precision, dtype, most) in [
        ("mixed-bf16", "bf16", [0.005, 0.03]),
        ("mixed-f16", "f16", [0.002, 0.005]),
        ("bf16", "bf16", [0.01, 0.03]),
    ] {
        let (printed, found) = run(precision);
        // It is what it is called, weights and running statistics.
        for name in ["weight ", "running_var "] {
            let mut lines = printed.lines().map(str::trim_start);
            let line = lines.find(|line| line.starts_with(name));
            let words: Vec<&str> = line.unwrap().split_whitespace().collect();
            assert!(words.contains(&dtype), "{precision}: {words:?}");
        }
        for (kind, most) in most.into_iter().enumerate() {
            let apart = found.iter().zip(&expected);
            let apart = apart.map(|(a, b)| (a[kind] - b[kind]).abs());
            let apart = apart.sum::<f64>() / expected.len() as f64 / expected[0][kind];
            let kind = ["loss", "test loss"][kind];
            println!("{precision}: {kind} {apart:.5} of {most}");
            assert!(
                apart < most,
                "{precision}: {kind} {apart}: {found:?}, not {expected:?}"
            );
        }
        // And not f32 by another name.
        assert_ne!(found, expected, "{precision}");
    }
}
