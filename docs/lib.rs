//! The code blocks of the README and of the pages beside this file are doc tests, so that they
//! keep compiling. A package of its own, since a published crate cannot include files outside it.

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    pub struct Readme;

    #[doc = include_str!("architecture.md")]
    pub struct Architecture;

    #[doc = include_str!("beside-burn.md")]
    pub struct BesideBurn;

    #[doc = include_str!("devices.md")]
    pub struct Devices;

    #[doc = include_str!("errors.md")]
    pub struct Errors;

    #[doc = include_str!("guide.md")]
    pub struct Guide;

    #[doc = include_str!("lightning.md")]
    pub struct Lightning;

    #[doc = include_str!("logging.md")]
    pub struct Logging;

    #[doc = include_str!("planning.md")]
    pub struct Planning;

    #[doc = include_str!("precision.md")]
    pub struct Precision;

    #[doc = include_str!("states.md")]
    pub struct States;

    #[doc = include_str!("training-state.md")]
    pub struct TrainingState;

    #[doc = include_str!("weights.md")]
    pub struct Weights;
}

#[cfg(test)]
mod tests {
    use burn::nn::{Linear, LinearConfig};
    use burn::optim::AdamWConfig;
    use burn::tensor::{Device, Tensor};
    use burn_fabric::burn_materialize::{HalfPrecision, Meta};
    use burn_fabric::{FabricConfig, Plan};

    /// `cargo xtask pictures` draws them.
    #[test]
    fn pictures_that_pages_show_are_there() {
        let pages = [
            ("../", include_str!("../README.md")),
            ("", include_str!("logging.md")),
            ("", include_str!("planning.md")),
            (
                "../examples/llama-plan/",
                include_str!("../examples/llama-plan/README.md"),
            ),
        ];
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut count = 0;
        for (above, page) in pages {
            for link in page.split("](").skip(1) {
                let link = link.split(')').next().unwrap_or_default();
                if link.contains("pictures/") {
                    for ending in ["svg", "png"] {
                        let path = folder.join(above).join(link).with_extension(ending);
                        assert!(path.is_file(), "{} is not there", path.display());
                    }
                    count += 1;
                }
            }
        }
        assert_eq!(count, 6);
    }

    #[test]
    fn the_guide_lists_every_setting_with_its_variable() {
        let guide = include_str!("guide.md");
        for key in FabricConfig::KEYS {
            let row = format!("| `{key}` | `BURN_FABRIC_{}` |", key.to_uppercase());
            assert!(guide.contains(&row), "no row starts with {row}");
        }
    }

    /// What the page about plans shows is what is printed.
    #[test]
    fn the_plan_that_the_page_shows_is_the_one_that_is_made() {
        let page = include_str!("planning.md");
        let shown = page
            .split("```text\n")
            .nth(1)
            .and_then(|rest| rest.split("```").next());
        let config = [(4096, 16_384), (16_384, 4096)];
        let meta =
            Meta::build(|device| config.map(|(from, to)| LinearConfig::new(from, to).init(device)));
        let meta = meta.unwrap();
        let loss = |layers: &[Linear; 2], device: &Device, batch: usize| {
            let x = Tensor::<2>::zeros([batch, 4096], device);
            let x = layers[1].forward(layers[0].forward(x).tanh());
            x.powi_scalar(2).mean()
        };
        let request = Plan::of(&meta).budget(2 << 30).batch(64);
        let request = request.half_precision(HalfPrecision::ByF32);
        let plan = request.training(AdamWConfig::new(), loss).unwrap();
        let made = plan.to_string().replace("at `0`", "at `hidden`");
        assert_eq!(Some(made.as_str()), shown.map(str::trim_end));
    }

    /// The public methods and properties of `lightning.fabric.Fabric` 2.6.
    const LIGHTNING: &[&str] = &[
        "accelerator",
        "all_gather",
        "all_reduce",
        "autocast",
        "backward",
        "barrier",
        "broadcast",
        "call",
        "clip_gradients",
        "device",
        "global_rank",
        "init_module",
        "init_tensor",
        "is_global_zero",
        "launch",
        "load",
        "load_raw",
        "local_rank",
        "log",
        "log_dict",
        "logger",
        "loggers",
        "no_backward_sync",
        "node_rank",
        "print",
        "rank_zero_first",
        "run",
        "save",
        "seed_everything",
        "setup",
        "setup_dataloaders",
        "setup_module",
        "setup_optimizers",
        "sharded_model",
        "strategy",
        "to_device",
        "world_size",
    ];

    #[test]
    fn every_method_of_lightning_fabric_has_a_row() {
        let page = include_str!("lightning.md");
        for method in LIGHTNING {
            let rows = page
                .lines()
                .filter(|line| line.starts_with(&format!("| `{method}` |")));
            let rows: Vec<&str> = rows.collect();
            assert_eq!(rows.len(), 1, "{method}");
            // Ours, or why there is none.
            assert_eq!(rows[0].split('|').count(), 5, "{method}");
            let cell = |i: usize| rows[0].split('|').nth(i).unwrap_or_default().trim();
            assert!(!cell(2).is_empty() || !cell(3).is_empty(), "{method}");
        }
    }

    /// The second column names what exists: each `Type::method` is a function of that type.
    #[test]
    fn what_the_lightning_page_names_is_there() {
        let source = [
            include_str!("../crates/burn-fabric/src/builder.rs"),
            include_str!("../crates/burn-fabric/src/checkpoint/load.rs"),
            include_str!("../crates/burn-fabric/src/checkpoint/save.rs"),
            include_str!("../crates/burn-fabric/src/fabric.rs"),
            include_str!("../crates/burn-fabric/src/logging/settings.rs"),
            include_str!("../crates/burn-fabric/src/module.rs"),
        ]
        .concat();
        let page = include_str!("lightning.md");
        let names = page.split('`').filter_map(|name| {
            let (owner, method) = name.split_once("::")?;
            let ours = ["Fabric", "FabricBuilder", "FabricModule"].contains(&owner);
            ours.then(|| method.split('(').next().unwrap_or_default())
        });
        let mut count = 0;
        for name in names {
            assert!(
                source.contains(&format!("pub fn {name}")),
                "there is no {name}"
            );
            count += 1;
        }
        assert!(count > 20, "{count} names were found");
    }
}
