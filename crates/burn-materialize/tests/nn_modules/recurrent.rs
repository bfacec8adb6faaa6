use burn::nn::activation::ActivationConfig;
use burn::nn::{
    BiGruConfig, BiLstmConfig, BiRnnConfig, GateController, GruConfig, Initializer, LstmConfig,
    PReluConfig, RnnConfig, SwiGluConfig,
};

use burn_materialize::reset_to_defaults;
use device_under_test::device;

use crate::support::{
    COMPOSED, FANS, check, check_initializers, check_without_defaults, flat, input,
};

const D_INPUT: usize = 90;
const D_HIDDEN: usize = 120;
const INPUT: [usize; 3] = [2, 3, D_INPUT];

/// An activation with layers that keep a default of their own.
fn gated() -> ActivationConfig {
    SwiGluConfig::new(D_HIDDEN, D_HIDDEN).with_bias(true).into()
}

fn parametric() -> ActivationConfig {
    PReluConfig::new().into()
}

#[test]
fn module_gate_controller() {
    let build =
        |device: &_, initializer| GateController::new(D_INPUT, D_HIDDEN, true, initializer, device);
    check_without_defaults(
        |device| build(device, Initializer::XavierNormal { gain: 1.0 }),
        |gate, device| {
            let [input, hidden] = [input([2, D_INPUT], device), input([2, D_HIDDEN], device)];
            flat(gate.gate_product(input, hidden))
        },
    );
    check_initializers(FANS, build);

    // Its constructor has no default that a reset could give it.
    let mut gate = build(&device(), Initializer::Zeros);
    assert!(reset_to_defaults(&mut gate, 0).is_err());
}

#[test]
fn module_rnn() {
    let config = RnnConfig::new(D_INPUT, D_HIDDEN, true);
    for config in [
        config.clone(),
        config.with_reverse(true).with_hidden_activation(gated()),
    ] {
        check(
            |device| config.init(device),
            |rnn, device| flat(rnn.forward(input(INPUT, device), None).0),
        );
    }
    check_initializers(FANS, |device, initializer| {
        RnnConfig::new(D_INPUT, D_HIDDEN, false)
            .with_initializer(initializer)
            .init(device)
    });
}

#[test]
fn module_bi_rnn() {
    let config = BiRnnConfig::new(D_INPUT, D_HIDDEN, true);
    check(
        |device| config.init(device),
        |rnn, device| flat(rnn.forward(input(INPUT, device), None).0),
    );
    check_initializers(COMPOSED, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}

#[test]
fn module_gru() {
    let config = GruConfig::new(D_INPUT, D_HIDDEN, true);
    for config in [
        config.clone(),
        config
            .with_reset_after(false)
            .with_hidden_activation(gated()),
    ] {
        check(
            |device| config.init(device),
            |gru, device| flat(gru.forward(input(INPUT, device), None)),
        );
    }
    check_initializers(FANS, |device, initializer| {
        GruConfig::new(D_INPUT, D_HIDDEN, false)
            .with_initializer(initializer)
            .init(device)
    });
}

#[test]
fn module_bi_gru() {
    let config = BiGruConfig::new(D_INPUT, D_HIDDEN, true);
    check(
        |device| config.init(device),
        |gru, device| flat(gru.forward(input(INPUT, device), None).0),
    );
    check_initializers(COMPOSED, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}

#[test]
fn module_lstm() {
    let config = LstmConfig::new(D_INPUT, D_HIDDEN, true);
    let coupled = config
        .clone()
        .with_input_forget(true)
        .with_cell_activation(parametric());
    for config in [config, coupled.with_hidden_activation(gated())] {
        check(
            |device| config.init(device),
            |lstm, device| flat(lstm.forward(input(INPUT, device), None).0),
        );
    }
    check_initializers(FANS, |device, initializer| {
        LstmConfig::new(D_INPUT, D_HIDDEN, false)
            .with_initializer(initializer)
            .init(device)
    });
}

#[test]
fn module_bi_lstm() {
    let config = BiLstmConfig::new(D_INPUT, D_HIDDEN, true);
    check(
        |device| config.init(device),
        |lstm, device| flat(lstm.forward(input(INPUT, device), None).0),
    );
    check_initializers(COMPOSED, |device, initializer| {
        config.clone().with_initializer(initializer).init(device)
    });
}
