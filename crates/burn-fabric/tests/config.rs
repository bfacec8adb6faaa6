//! Settings from code, environment and files.

mod support;

use burn::tensor::{Device, FloatDType};
use burn_fabric::prelude::*;
use burn_fabric::{InitRng, MissingGradients, NonFinite, SettingProblem};

fn all() -> FabricConfig {
    FabricConfig {
        accelerator: Some(Accelerator::Flex),
        seed: Some(u64::MAX),
        seed_everything: None,
        init_rng: Some(InitRng::Device),
        precision: None,
        float_dtype: Some(FloatDType::BF16),
        gradient_checkpointing: Some(true),
        loss_scale: Some(1024.0),
        loss_scale_interval: Some(100),
        accumulate: Some(4),
        clip_norm: Some(1.5),
        clip_value: None,
        non_finite_gradients: Some(NonFinite::Skip),
        missing_gradients: Some(MissingGradients::Refuse),
    }
}

fn problems(result: Result<impl std::fmt::Debug, FabricError>) -> (Vec<SettingProblem>, String) {
    let error = result.unwrap_err();
    let message = error.to_string();
    match error {
        FabricError::Settings { problems } => (problems, message),
        error => panic!("{error}"),
    }
}

#[test]
fn a_configuration_survives_both_formats() {
    for config in [FabricConfig::default(), all()] {
        let json = config.to_json().unwrap();
        assert_eq!(FabricConfig::from_json(&json).unwrap(), config);
        assert_eq!(serde_json::from_str::<FabricConfig>(&json).unwrap(), config);
    }
    // TOML's numbers end with an i64.
    for config in [
        FabricConfig::default(),
        FabricConfig {
            seed: Some(7),
            ..all()
        },
    ] {
        let toml = config.to_toml().unwrap();
        assert_eq!(FabricConfig::from_toml(&toml).unwrap(), config);
    }
    let own = FabricConfig {
        accelerator: Some(Accelerator::Device(Device::flex())),
        ..FabricConfig::default()
    };
    for text in [own.to_json(), own.to_toml()] {
        let (problems, message) = problems(text);
        assert!(matches!(problems[0], SettingProblem::Kind { .. }));
        assert!(message.contains("a device of your own"), "{message}");
    }
}

#[test]
fn the_keys_are_the_fields() {
    let mut config = all();
    config.clip_value = Some(1.0);
    config.seed_everything = Some(1);
    config.precision = Some(Precision::MixedF16);
    let json = serde_json::to_value(&config).unwrap();
    let mut fields: Vec<&str> = json
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    let mut keys = FabricConfig::KEYS.to_vec();
    fields.sort_unstable();
    keys.sort_unstable();
    assert_eq!(fields, keys);
}

#[test]
fn unknown_keys_and_wrong_values_are_told_together_with_the_nearest_key() {
    let text = "sed = 1\nclipnorm = 2.0\naccumulate = -1\naccelerator = \"gpu\"\nseed = \"x\"";
    let (problems, message) = problems(FabricConfig::from_toml(text));
    assert_eq!(problems.len(), 5, "{message}");
    let unknown = |setting: &str, nearest: &str| SettingProblem::Unknown {
        setting: setting.to_owned(),
        nearest: nearest.to_owned(),
    };
    assert!(problems.contains(&unknown("sed", "seed")), "{message}");
    assert!(
        problems.contains(&unknown("clipnorm", "clip_norm")),
        "{message}"
    );
    for part in [
        "5 settings cannot be used",
        "`gpu`: choose one of auto",
        "does not take -1",
    ] {
        assert!(message.contains(part), "{message}");
    }
    // Serde by itself refuses unknown keys as well.
    assert!(serde_json::from_str::<FabricConfig>("{\"sed\": 1}").is_err());
}

#[test]
fn values_out_of_range_are_told_together() {
    let config = FabricConfig {
        accumulate: Some(0),
        clip_norm: Some(-1.0),
        clip_value: Some(f64::NAN),
        ..FabricConfig::default()
    };
    let (problems, message) = problems(support::builder().config(config).build());
    assert_eq!(problems.len(), 4, "{message}");
    let exclusive = |problem: &SettingProblem| matches!(problem, SettingProblem::Exclusive { .. });
    assert!(problems.iter().any(exclusive), "{message}");
    assert!(
        message.contains("`accumulate` is 0, and must be at least 1"),
        "{message}"
    );
}

#[test]
fn code_wins_over_the_environment_and_that_over_a_file() {
    let folder = std::env::temp_dir().join(format!("burn-fabric-config-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("fabric.toml");
    std::fs::write(
        &file,
        "seed = 1\naccumulate = 2\nclip_norm = 3.0\nmissing_gradients = \"refuse\"\n",
    )
    .unwrap();
    let fabric = Fabric::builder()
        .config_file(&file)
        .environment([
            ("BURN_FABRIC_ACCELERATOR", "flex"),
            ("BURN_FABRIC_SEED", "10"),
            ("BURN_FABRIC_INIT_RNG", "device"),
            ("BURN_FABRIC_ACCUMULATE", "20"),
            ("BURN_FABRIC_CLIP_VALUE", "0.5"),
            ("BURN_FABRIC_NON_FINITE_GRADIENTS", ""),
            ("UNRELATED", "x"),
        ])
        .seed(100)
        .build()
        .unwrap();
    let settings = fabric.settings();
    assert_eq!((settings.seed, settings.accumulate), (100, 20));
    // What is stronger also wins over what it excludes.
    assert_eq!(settings.clip, Some(Clip::Value(0.5)));
    assert_eq!(settings.missing_gradients, MissingGradients::Refuse);
    assert_eq!(settings.non_finite_gradients, NonFinite::Refuse);
    let printed = fabric.to_string();
    let path = file.display();
    let expected = [
        "accelerator             flex              from BURN_FABRIC_ACCELERATOR".to_owned(),
        "seed                    100               said in code".to_owned(),
        "seed_everything         off               the default".to_owned(),
        "init_rng                device            from BURN_FABRIC_INIT_RNG".to_owned(),
        "precision               the device's own  the default".to_owned(),
        "float_dtype             the device's own  the default".to_owned(),
        "gradient_checkpointing  off               the default".to_owned(),
        "loss_scale              32768             the default".to_owned(),
        "loss_scale_interval     2000              the default".to_owned(),
        "accumulate              20                from BURN_FABRIC_ACCUMULATE".to_owned(),
        "clip_value              0.5               from BURN_FABRIC_CLIP_VALUE".to_owned(),
        "non_finite_gradients    refuse            the default".to_owned(),
        format!("missing_gradients       refuse            from {path}"),
    ];
    assert_eq!(printed, expected.join("\n"));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_variables_are_told_with_what_is_wrong_in_code() {
    let result = Fabric::builder()
        .environment([("BURN_FABRIC_SED", "1"), ("BURN_FABRIC_ACCELERATOR", "gpu")])
        .accumulate(0)
        .build();
    let (problems, message) = problems(result);
    assert_eq!(problems.len(), 3, "{message}");
    for part in [
        "`BURN_FABRIC_SED`",
        "nearest is `BURN_FABRIC_SEED`",
        "`BURN_FABRIC_ACCELERATOR`",
    ] {
        assert!(message.contains(part), "{message}");
    }
}

#[test]
fn a_file_that_cannot_be_used_says_why() {
    let missing = support::builder()
        .config_file("/nonexistent/fabric.toml")
        .build();
    let error = missing.unwrap_err();
    assert!(matches!(error, FabricError::ConfigFile { .. }), "{error}");
    for (text, result) in [
        ("seed = = 1", FabricConfig::from_toml("seed = = 1")),
        ("{seed: 1}", FabricConfig::from_json("{seed: 1}")),
        ("[1]", FabricConfig::from_json("[1]")),
        ("", FabricConfig::from_json("")),
    ] {
        let error = result.unwrap_err();
        assert!(
            matches!(error, FabricError::ConfigSyntax { .. }),
            "{text}: {error}"
        );
        assert!(error.to_string().contains('1'), "{error}");
    }
    assert_eq!(
        FabricConfig::from_toml("").unwrap(),
        FabricConfig::default()
    );
}

#[test]
fn numbers_that_are_none_are_refused() {
    for text in ["clip_norm = nan", "clip_norm = inf", "clip_value = -inf"] {
        let (problems, message) = problems(FabricConfig::from_toml(text));
        assert!(
            matches!(problems[0], SettingProblem::Kind { .. }),
            "{message}"
        );
    }
    let config = FabricConfig {
        clip_norm: Some(f64::NAN),
        ..FabricConfig::default()
    };
    for text in [config.to_json(), config.to_toml()] {
        let (problems, message) = problems(text);
        assert!(
            matches!(problems[0], SettingProblem::OutOfRange { .. }),
            "{message}"
        );
    }
}

#[test]
fn seed_everything_is_a_seed_and_seeds_the_device() {
    let draw = |fabric: &Fabric| {
        let distribution = burn::tensor::Distribution::Default;
        burn::tensor::Tensor::<1>::random([4], distribution, fabric.device()).into_data()
    };
    let said = |from: &dyn Fn() -> burn_fabric::FabricBuilder| {
        let fabric = from().build().unwrap();
        assert_eq!(fabric.settings().seed, 9);
        assert!(fabric.settings().seed_everything);
        draw(&fabric)
    };
    let nothing: [(&str, &str); 0] = [];
    let builder = || Fabric::builder().accelerator(Accelerator::Flex);
    let code = said(&|| builder().environment(nothing).seed_everything(9));
    let environment = [("BURN_FABRIC_SEED_EVERYTHING", "9")];
    assert_eq!(said(&|| builder().environment(environment)), code);
    let config = || FabricConfig::from_toml("seed_everything = 9").unwrap();
    assert_eq!(
        said(&|| builder().environment(nothing).config(config())),
        code
    );
    // The stronger place says which seed it is.
    let both = || builder().environment(environment).seed(3).build().unwrap();
    assert_eq!(
        (both().settings().seed, both().settings().seed_everything),
        (3, true)
    );
    assert!(
        both().to_string().contains("seed_everything         on "),
        "{}",
        both()
    );
    let (problems, message) = problems(
        builder()
            .environment(nothing)
            .seed(3)
            .seed_everything(9)
            .build(),
    );
    assert!(
        matches!(problems[0], SettingProblem::Exclusive { .. }),
        "{message}"
    );
    let quiet = builder().environment(nothing).seed(9).build().unwrap();
    assert!(!quiet.settings().seed_everything);
}
