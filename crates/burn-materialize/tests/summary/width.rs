//! A table fits, and no number is cut.

use burn::module::Module;
use burn::nn::Linear;
use burn::tensor::{Device, Int, Tensor};
use burn_materialize::{Materialize, Meta, ResetParameters};

use crate::models::{Decoder, linear};

fn widest(table: &str) -> usize {
    let widths = table.lines().map(console::measure_text_width);
    widths.max().unwrap()
}

fn decoder() -> Meta<Decoder> {
    Meta::build(|device| Decoder::new(80, 256, device)).unwrap()
}

#[test]
fn a_table_fits_and_shows_all_numbers() {
    let meta = decoder();
    let trace = meta.trace_training(|model, device| {
        model
            .forward(Tensor::<2, Int>::zeros([2, 16], device))
            .mean()
    });
    let trace = trace.unwrap();
    for width in [80, 100, 200] {
        let plain = meta.summary().width(width).to_string();
        assert!(widest(&plain) <= width, "{width}:\n{plain}");
        assert!(
            plain.contains("83,978,496") && plain.contains("320.4 MiB"),
            "{plain}"
        );
        assert!(plain.contains(" parameters, "), "{plain}");
        let traced = meta.summary().traced(&trace).width(width).to_string();
        assert!(widest(&traced) <= width, "{width}:\n{traced}");
        assert!(traced.contains("83,978,496"), "{traced}");
    }
    let wide = meta.summary().width(200).to_string();
    assert!(
        !wide.replace("layers.0 … layers.79", "").contains('…'),
        "{wide}"
    );
}

#[test]
fn where_there_is_no_room_a_table_is_wider_and_whole() {
    let table = decoder().summary().width(1).to_string();
    assert!(table.contains("83,978,496"), "{table}");
    assert!(table.lines().count() > 30);
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct LongNames {
    a_name_that_nobody_would_give_to_a_field_but_that_somebody_somewhere_has_given_to_one: Linear,
}

#[test]
fn a_long_name_loses_its_type_and_then_its_middle() {
    let build = |device: &Device| LongNames {
        a_name_that_nobody_would_give_to_a_field_but_that_somebody_somewhere_has_given_to_one:
            linear(8, 8, device),
    };
    let meta = Meta::build(build).unwrap();
    let table = meta.summary().width(80).to_string();
    assert!(widest(&table) <= 80, "{table}");
    assert!(
        table.contains("  a_name_") && table.contains('…') && table.contains("to_one"),
        "{table}"
    );
    assert!(
        meta.summary()
            .width(160)
            .to_string()
            .contains("_given_to_one: Linear")
    );
}
