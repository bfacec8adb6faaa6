//! Blocks that repeat are shown once, and nothing else is.

use burn::module::{Module, Param};
use burn::nn::{Dropout, DropoutConfig, Embedding, EmbeddingConfig, Linear};
use burn::tensor::{Device, Tensor};
use burn_materialize::{Materialize, Meta, ResetParameters, Summary};

use crate::models::{Decoder, Stack, linear};

/// What the lines are called, with how far they stand in.
fn names(summary: &Summary) -> Vec<String> {
    let lines = summary.lines().into_iter().skip(1);
    lines
        .map(|line| format!("{}{}", "  ".repeat(line.level - 1), line.name))
        .collect()
}

fn stack(widths: &[usize]) -> Meta<Stack> {
    Meta::build(|device| Stack::new(widths, device)).unwrap()
}

#[test]
fn equal_blocks_are_shown_once() {
    let summary = stack(&[8; 80]).summary();
    assert_eq!(names(&summary), ["layers.0 … layers.79 (80 x)", "  weight"]);
    assert_eq!(summary.tensors(), 80);
    assert_eq!(summary.parameters(), 80 * 64);
    assert_eq!(summary.lines()[1].parameters, 64);
    assert_eq!(summary.lines()[1].last.as_deref(), Some("layers.79"));
    assert_eq!(names(&summary.unfolded()).len(), 160);
}

#[test]
fn a_block_that_differs_leaves_two_runs() {
    let mut widths = [8; 10];
    widths[4] = 7;
    assert_eq!(
        names(&stack(&widths).summary()),
        [
            "layers.0 … layers.3 (4 x)",
            "  weight",
            "layers.4",
            "  weight",
            "layers.5 … layers.9 (5 x)",
            "  weight",
        ]
    );
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Nested {
    groups: Vec<Group>,
    grid: Vec<Vec<Linear>>,
    conv1: Linear,
    conv2: Linear,
    other: Linear,
    tables: Vec<Param<Tensor<1>>>,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Group {
    blocks: Vec<Linear>,
    last: Linear,
}

#[test]
fn blocks_in_blocks_lists_of_lists_fields_and_tensors_are_folded() {
    let meta = Meta::build(|device| Nested {
        groups: (0..3)
            .map(|_| Group {
                blocks: Stack::new(&[8, 8, 8, 8], device).layers,
                last: linear(8, 8, device),
            })
            .collect(),
        grid: (0..2).map(|_| Stack::new(&[4, 4], device).layers).collect(),
        conv1: linear(8, 8, device),
        conv2: linear(8, 8, device),
        other: linear(8, 8, device),
        tables: (0..5)
            .map(|_| Param::from_tensor(Tensor::ones([3], device)))
            .collect(),
    })
    .unwrap();
    assert_eq!(
        names(&meta.summary()),
        [
            "groups.0 … groups.2 (3 x)",
            "  blocks.0 … blocks.3 (4 x)",
            "    weight",
            "  last",
            "    weight",
            "grid.0 … grid.1 (2 x)",
            "  0 … 1 (2 x)",
            "    weight",
            "conv1 … conv2 (2 x)",
            "  weight",
            "other",
            "  weight",
            "tables.0 … tables.4 (5 x)",
        ]
    );
}

#[test]
fn blocks_tied_to_the_first_are_one_run() {
    let meta = Meta::build(|device| {
        let shared = linear(8, 8, device);
        Stack {
            layers: (0..10).map(|_| shared.clone()).collect(),
        }
    })
    .unwrap();
    let summary = meta.summary();
    assert_eq!(
        names(&summary),
        [
            "layers.0",
            "  weight",
            "layers.1 … layers.9 (9 x)",
            "  weight",
        ]
    );
    assert_eq!(summary.parameters(), 64);
    assert_eq!(summary.lines()[3].parameters, 0);
    let tied = summary.lines()[4].tensor.clone().unwrap();
    assert_eq!(tied.tied_to.as_deref(), Some("layers.0.weight"));
    assert!(summary.to_string().contains("1 tensors (9 more by ties)"));
}

/// Two layers of one weight; or of that of the block before.
#[derive(Module, Materialize, ResetParameters, Debug)]
struct Pair {
    first: Linear,
    second: Linear,
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Pairs {
    pairs: Vec<Pair>,
}

#[test]
fn ties_within_each_block_and_to_the_one_before_are_alike() {
    let within = Meta::build(|device| Pairs {
        pairs: (0..5)
            .map(|_| {
                let first = linear(8, 8, device);
                Pair {
                    second: first.clone(),
                    first,
                }
            })
            .collect(),
    })
    .unwrap();
    let lines = within.summary().lines();
    assert_eq!(lines[1].name, "pairs.0 … pairs.4 (5 x)");
    let tied = lines[5].tensor.clone().unwrap();
    assert_eq!(tied.tied_to.as_deref(), Some("pairs.0.first.weight"));
    assert_eq!(within.summary().parameters(), 5 * 64);

    let chain = Meta::build(|device| {
        let mut before = linear(8, 8, device);
        let mut next = || {
            let second = linear(8, 8, device);
            let first = std::mem::replace(&mut before, second.clone());
            Pair { first, second }
        };
        Pairs {
            pairs: (0..5).map(|_| next()).collect(),
        }
    })
    .unwrap();
    let names = names(&chain.summary());
    assert_eq!(names[0], "pairs.0");
    assert_eq!(names[5], "pairs.1 … pairs.4 (4 x)");
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Tied {
    embedding: Embedding,
    layers: Vec<Linear>,
    head: Param<Tensor<2>>,
}

#[test]
fn a_head_tied_to_the_embedding_counts_once() {
    let meta = Meta::build(|device| {
        let embedding = EmbeddingConfig::new(50, 8).init(device);
        Tied {
            head: embedding.weight.clone(),
            layers: Stack::new(&[8, 8], device).layers,
            embedding,
        }
    })
    .unwrap();
    let summary = meta.summary();
    assert_eq!(summary.parameters(), 50 * 8 + 2 * 64);
    assert_eq!(summary.tensors(), 3);
    let table = summary.to_string();
    let head = table.lines().find(|line| line.contains("head")).unwrap();
    let cells: Vec<&str> = head.split_whitespace().collect();
    let expected = [
        "head",
        "[50,",
        "8]",
        "f32",
        "-",
        "-",
        "=",
        "embedding.weight",
    ];
    assert_eq!(cells, expected, "{table}");
}

#[test]
fn a_changed_meta_has_the_summary_of_what_it_became() {
    let meta = stack(&[8; 10]);
    let mut of_module = String::new();
    let changed = meta.map(|mut stack, device| {
        stack.layers.truncate(4);
        stack.layers.push(linear(8, 2, device));
        stack
    });
    let changed = changed.unwrap();
    let kept = changed.map(|stack, _| {
        of_module = Summary::of(&stack).to_string();
        stack
    });
    let kept = kept.unwrap();
    assert_eq!(meta.summary().tensors(), 10);
    assert_eq!(changed.summary().tensors(), 5);
    for summary in [changed.summary(), changed.clone().summary(), kept.summary()] {
        assert_eq!(summary.to_string(), of_module);
    }
}

#[test]
fn blocks_in_another_state_stand_apart() {
    let partial = stack(&[8; 10])
        .materialize_where(&Device::flex(), |path| path.starts_with("layers.3."))
        .unwrap();
    let summary = partial.summary();
    let expected = [
        "layers.0 … layers.2 (3 x)",
        "  weight",
        "layers.3",
        "  weight",
        "layers.4 … layers.9 (6 x)",
        "  weight",
    ];
    assert_eq!(names(&summary), expected);
    assert_eq!(summary.allocated_bytes(), 8 * 8 * 4);
    let table = summary.to_string();
    let root = table
        .lines()
        .find(|line| line.starts_with("Stack"))
        .unwrap();
    assert!(root.ends_with("meta, real"), "{table}");
}

#[derive(Module, Materialize, ResetParameters, Debug)]
struct Unicode {
    größe: Vec<Linear>,
    注意力: Linear,
}

#[test]
fn names_of_any_script_align() {
    let meta = Meta::build(|device| Unicode {
        größe: Stack::new(&[8, 8], device).layers,
        注意力: linear(8, 8, device),
    })
    .unwrap();
    let summary = meta.summary().width(100);
    let expected = ["größe.0 … größe.1 (2 x)", "  weight", "注意力", "  weight"];
    assert_eq!(names(&summary), expected);
    let table = summary.to_string();
    // The dtype of the last weight ends where the header of its column does.
    let column = |line: &str, cell: &str| {
        let before = &line[..line.find(cell).unwrap()];
        console::measure_text_width(before)
    };
    let lines: Vec<&str> = table.lines().collect();
    let header = column(lines[0], "dtype");
    assert!(
        lines[3..]
            .iter()
            .filter(|line| line.contains("f32"))
            .all(|line| column(line, "f32") == header)
    );
    assert!(table.contains("\n  注意力: Linear"), "{table}");
}

#[test]
fn nothing_and_one_tensor() {
    let empty = Meta::build(|_| DropoutConfig::new(0.5).init()).unwrap();
    let _: &Meta<Dropout> = &empty;
    let summary = empty.summary();
    assert!(summary.lines().is_empty());
    assert!(
        summary
            .to_string()
            .contains("total: 0 tensors, 0 parameters")
    );

    let none = stack(&[]).summary();
    assert_eq!((none.tensors(), none.lines().len()), (0, 0));

    let one = Meta::build(|device| linear(3, 2, device))
        .unwrap()
        .summary();
    assert_eq!(names(&one), ["weight"]);
    assert!(one.to_string().contains("1 tensors, 6 parameters"));
    assert_eq!(one.lines()[0].module.as_deref(), Some("Linear"));

    let list: Meta<Vec<Linear>> = Meta::build(|device| Stack::new(&[8, 8], device).layers).unwrap();
    assert_eq!(names(&list.summary()), ["0 … 1 (2 x)", "  weight"]);
    assert!(list.summary().to_string().contains("\n(root) "));
}

#[test]
fn lazy_and_real_modules_are_folded_alike() {
    let lazy = Stack::new(&[8; 6], &Device::flex());
    assert_eq!(names(&Summary::of(&lazy)).len(), 2);
    let real = stack(&[8; 6]).materialize(&Device::flex()).unwrap();
    assert_eq!(names(&Summary::of(&real)).len(), 2);
    assert_eq!(Summary::of(&real).allocated_bytes(), 6 * 64 * 4);
}

#[test]
fn eighty_blocks_are_fewer_than_forty_lines() {
    let meta = Meta::build(|device| Decoder::new(80, 16, device)).unwrap();
    let table = meta.summary().to_string();
    assert!(table.lines().count() < 40, "{table}");
    assert!(
        table.contains("layers.0 … layers.79 (80 x): Layer"),
        "{table}"
    );
}

#[test]
fn a_depth_leaves_sums() {
    let meta = Meta::build(|device| Decoder::new(3, 16, device)).unwrap();
    let summary = meta.summary();
    assert_eq!(names(&summary.clone().depth(0)), [""; 0]);
    let one = summary.clone().depth(1);
    let top = [
        "embedding",
        "layers.0 … layers.2 (3 x)",
        "norm",
        "head",
        "rotary",
    ];
    assert_eq!(names(&one), top);
    let layer = 4 * 16 * 16 + 3 * 4 * 16 * 16 + 2 * 16;
    assert_eq!(one.lines()[2].parameters, layer);
    assert_eq!(one.parameters(), summary.parameters());
    let two = names(&summary.depth(2));
    assert!(two.contains(&"  attention".to_owned()) && !two.contains(&"    query".to_owned()));
}

#[test]
fn tools_get_every_line() {
    let summary = stack(&[8; 80]).summary();
    let json = serde_json::to_value(summary.depth(0)).unwrap();
    assert_eq!(json["tensors"], 80);
    assert_eq!(json["parameters"], 80 * 64);
    let lines = json["lines"].as_array().unwrap();
    assert_eq!(lines.len(), 161);
    assert_eq!(lines[160]["path"], "layers.79.weight");
    assert_eq!(lines[160]["tensor"]["shape"], serde_json::json!([8, 8]));
    assert_eq!(lines[160]["tensor"]["dtype"], "F32");
    assert_eq!(lines[160]["tensor"]["state"], "meta");
    assert_eq!(lines[159]["module"], "Linear");
}
