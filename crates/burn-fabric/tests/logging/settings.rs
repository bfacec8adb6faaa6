//! Settings: names of hyper-parameters, their texts, and where a Fabric's own come from.

use std::collections::BTreeMap;
use std::fs;

use burn_fabric::LoggerError;
use burn_fabric::prelude::*;
use serde_json::{Value, json};

use super::{csv, json_lines};

#[test]
fn settings_are_logged_with_their_origin() {
    let folder = tempfile::tempdir().expect("a folder");
    let (table, lines) = (folder.path().join("m.csv"), folder.path().join("m.jsonl"));
    let mut loggers = csv(&table).with(JsonLinesLogger::at(&lines));
    let fabric = Fabric::builder().seed(7).build().expect("a Fabric");
    let hyper = json!({"rate": 0.001, "model": {"name": "mlp", "widths": [3, 4]}});
    fabric.log_settings(&mut loggers, &hyper);
    let settings = &json_lines(&lines)[0]["settings"];
    for (name, value) in [
        ("rate", "0.001"),
        ("model.name", "mlp"),
        ("model.widths.1", "4"),
        ("fabric.seed", "7"),
        ("fabric.seed.origin", "said in code"),
        ("fabric.accumulate.origin", "the default"),
    ] {
        assert_eq!(settings[name], value, "{name}");
    }
    let rows = fs::read_to_string(folder.path().join("m.csv.settings.csv")).expect("settings");
    assert!(rows.starts_with("name,value\nmodel.name,mlp\n"), "{rows}");
}

#[test]
fn hyper_parameters_of_one_name_are_all_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("m.jsonl");
    let mut loggers = Loggers::new().with(JsonLinesLogger::at(&lines));
    let fabric = Fabric::builder().seed(7).build().expect("a Fabric");
    let hyper = json!({"fabric": {"seed": 42}, "a.b": 1, "a": {"b": 2}, "settings": {"a.b": 3}});
    fabric.log_settings(&mut loggers, &hyper);
    let settings = &json_lines(&lines)[0]["settings"];
    assert_eq!(settings["fabric.seed"], "7");
    assert_eq!(settings["settings.fabric.seed"], "42");
    let of_ab: BTreeMap<&str, &Value> = settings
        .as_object()
        .expect("an object")
        .iter()
        .filter(|(name, _)| name.ends_with("a.b"))
        .map(|(name, value)| (name.as_str(), value))
        .collect();
    let names: Vec<&str> = of_ab.keys().copied().collect();
    assert_eq!(names, ["a.b", "settings.a.b", "settings.settings.a.b"]);
    let mut values: Vec<&str> = of_ab.values().filter_map(|value| value.as_str()).collect();
    values.sort_unstable();
    assert_eq!(values, ["1", "2", "3"]);
}

#[derive(serde::Serialize)]
enum Schedule {
    Constant,
    Step { every: u32 },
    Warm(u8, Option<f32>),
    Given(String),
}

#[derive(serde::Serialize)]
struct Hyper {
    clip: f64,
    floor: f64,
    gap: f32,
    rate: f32,
    tiny: f64,
    big: u128,
    schedules: Vec<Schedule>,
    none: Option<u8>,
    empty: (Vec<u8>, BTreeMap<u8, u8>),
    by_layer: BTreeMap<u8, char>,
}

#[test]
fn hyper_parameters_read_as_rust_shows_them() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = folder.path().join("m.jsonl");
    let mut loggers = Loggers::new().with(JsonLinesLogger::at(&lines));
    let hyper = Hyper {
        clip: f64::INFINITY,
        floor: f64::NEG_INFINITY,
        gap: f32::NAN,
        rate: 0.1,
        tiny: 1e-300,
        big: u128::MAX,
        schedules: vec![
            Schedule::Constant,
            Schedule::Step { every: 3 },
            Schedule::Warm(1, Some(0.3)),
            Schedule::Given("as is".to_owned()),
        ],
        none: None,
        empty: (Vec::new(), BTreeMap::new()),
        by_layer: BTreeMap::from([(7, 'x')]),
    };
    let fabric = Fabric::builder().build().expect("a Fabric");
    fabric.log_settings(&mut loggers, &hyper);
    assert!(loggers.problems().is_empty(), "{:?}", loggers.problems());
    let mut settings = json_lines(&lines)[0]["settings"].clone();
    let settings = settings.as_object_mut().expect("an object");
    settings.retain(|name, _| !name.starts_with("fabric."));
    let expected = json!({
        "clip": "inf",
        "floor": "-inf",
        "gap": "NaN",
        "rate": "0.1",
        "tiny": "1e-300",
        "big": u128::MAX.to_string(),
        "schedules.0": "Constant",
        "schedules.1.Step.every": "3",
        "schedules.2.Warm.0": "1",
        "schedules.2.Warm.1": "0.3",
        "schedules.3.Given": "as is",
        "none": "null",
        "empty.0": "[]",
        "empty.1": "{}",
        "by_layer.7": "x",
    });
    assert_eq!(Value::Object(settings.clone()), expected);
}

#[test]
fn hyper_parameters_that_serde_refuses_are_a_problem_and_no_panic() {
    let fabric = Fabric::builder().build().expect("a Fabric");
    let mut loggers = Loggers::new();
    // JSON's names are texts.
    fabric.log_settings(&mut loggers, &BTreeMap::from([((1, 2), 3)]));
    assert!(matches!(
        loggers.problems()[0].error,
        LoggerError::Settings { .. }
    ));
}
