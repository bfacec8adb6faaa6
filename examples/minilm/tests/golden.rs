//! The real weights give the numbers that they are known to give.

use burn::tensor::Tensor;
use burn_fabric::prelude::*;
use device_under_test::device;
use minilm::{MiniLm, Tokens, embed, load};
use serde::Deserialize;
use test_assets::MINILM;

#[derive(Deserialize)]
struct Golden {
    sha256: String,
    text: String,
    ids: Vec<i64>,
    cls_first8: Vec<f64>,
    emb_first8: Vec<f64>,
    emb_sum: f64,
}

fn golden() -> Golden {
    serde_json::from_str(include_str!("minilm-golden.json")).unwrap()
}

struct Setting {
    fabric: Fabric,
    model: FabricModule<MiniLm>,
    tokens: Tokens,
}

/// None where the weights were not fetched.
fn setting() -> Option<Setting> {
    let folder = MINILM.for_test()?;
    let accelerator = Accelerator::Device(device());
    let fabric = Fabric::builder().accelerator(accelerator).build().unwrap();
    let loaded = load(&fabric, &folder, |_| ()).unwrap();
    Some(Setting {
        fabric,
        model: loaded.model,
        tokens: Tokens::open(&folder).unwrap(),
    })
}

impl Setting {
    fn embed(&self, sentences: &[&str]) -> Vec<Vec<f64>> {
        let sentences: Vec<String> = sentences.iter().map(|text| (*text).to_owned()).collect();
        let embedded = embed(&self.fabric, &self.model, &self.tokens, &sentences).unwrap();
        let width = embedded.dims()[1];
        values(embedded)
            .chunks(width)
            .map(<[f64]>::to_vec)
            .collect()
    }
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter().collect()
}

fn assert_close(found: &[f64], expected: &[f64], tolerance: f64) {
    assert!(found.len() >= expected.len());
    for (found, expected) in found.iter().zip(expected) {
        let difference = (found - expected).abs();
        assert!(
            difference <= tolerance,
            "{found} is off {expected} by {difference:e}"
        );
    }
}

#[test]
fn the_golden_file_is_of_the_pinned_weights() {
    let weights = &MINILM.files[0];
    assert_eq!(weights.name, "model.safetensors");
    assert_eq!(golden().sha256, weights.sha256);
}

#[test]
fn ids_hidden_vectors_and_embeddings_are_the_known_ones() {
    let Some(setting) = setting() else { return };
    let golden = golden();
    let batch = setting.tokens.encode(&[&golden.text]).unwrap();
    assert_eq!(batch.sentence(0), golden.ids);

    let forward = |model: &MiniLm, device: &_| values(model.forward(&batch, device));
    let hidden = setting.fabric.evaluate(&setting.model, forward).unwrap();
    assert_close(&hidden, &golden.cls_first8, 2e-5);

    let [embedding] = setting.embed(&[&golden.text]).try_into().unwrap();
    assert_close(&embedding, &golden.emb_first8, 2e-5);
    assert_close(&[embedding.iter().sum()], &[golden.emb_sum], 2e-4);
    let length: f64 = embedding.iter().map(|value| value * value).sum();
    assert_close(&[length], &[1.0], 1e-5);
}

#[test]
fn every_tensor_comes_from_the_file_and_what_is_left_over_is_known() {
    let Some(setting) = setting() else { return };
    let report = setting.model.load_report().unwrap();
    // 16 for each of six layers and 5 before them.
    assert_eq!(report.loaded.len(), 101);
    assert!(report.initialised.is_empty() && report.missing.is_empty());
    assert!(report.casts.is_empty());
    let left: Vec<&str> = report
        .unexpected
        .iter()
        .map(|absent| absent.name.as_str())
        .collect();
    assert_eq!(
        left,
        [
            "embeddings.position_ids",
            "pooler.dense.bias",
            "pooler.dense.weight"
        ]
    );
}

#[test]
fn padding_changes_nothing() {
    let Some(setting) = setting() else { return };
    let sentences = [
        "Short.",
        "A sentence of quite a few more tokens than that, padded by none",
    ];
    let batch = setting.tokens.encode(&sentences).unwrap();
    assert!(batch.sentence(0).len() < batch.sentence(1).len());
    let together = setting.embed(&sentences);
    for (sentence, together) in sentences.iter().zip(&together) {
        let [alone] = setting.embed(&[sentence]).try_into().unwrap();
        assert_close(together, &alone, 1e-5);
    }
}

#[test]
fn more_sentences_than_a_batch_keep_their_order() {
    let Some(setting) = setting() else { return };
    let numbers: Vec<String> = (0..34).map(|number| format!("{number}")).collect();
    let sentences: Vec<&str> = numbers.iter().map(String::as_str).collect();
    let together = setting.embed(&sentences);
    assert_eq!(together.len(), 34);
    let [alone] = setting.embed(&sentences[33..]).try_into().unwrap();
    assert_close(&together[33], &alone, 1e-5);
}
