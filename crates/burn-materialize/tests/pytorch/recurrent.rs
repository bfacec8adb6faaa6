//! Recurrent layers, whose gates and levels PyTorch packs.

use burn::nn::{
    BiGruConfig, BiLstm, BiLstmConfig, BiRnnConfig, Gru, GruConfig, Lstm, LstmConfig, Rnn,
    RnnConfig,
};
use burn_materialize::Layout;

use crate::{assert_output, input, there_and_back};

#[test]
fn rnn() {
    let rnn = there_and_back("rnn", Layout::Auto, |device| {
        RnnConfig::new(3, 4, true).init(device)
    });
    assert_output("rnn", rnn.forward(input("rnn.input0"), None).0);
    let both = there_and_back("rnn_bidirectional", Layout::Auto, |device| {
        BiRnnConfig::new(3, 4, true).init(device)
    });
    let output = both.forward(input("rnn_bidirectional.input0"), None);
    assert_output("rnn_bidirectional", output.0);
}

#[test]
fn lstm() {
    let lstm = there_and_back("lstm", Layout::Auto, |device| {
        LstmConfig::new(3, 4, true).init(device)
    });
    assert_output("lstm", lstm.forward(input("lstm.input0"), None).0);
    let both = there_and_back("lstm_bidirectional", Layout::Auto, |device| {
        BiLstmConfig::new(3, 4, true).init(device)
    });
    let output = both.forward(input("lstm_bidirectional.input0"), None);
    assert_output("lstm_bidirectional", output.0);
}

/// With `reset_after`, which is the default. Without it Burn computes what PyTorch has no layer for.
#[test]
fn gru() {
    let gru = there_and_back("gru", Layout::Auto, |device| {
        GruConfig::new(3, 4, true).init(device)
    });
    assert_output("gru", gru.forward(input("gru.input0"), None));
    let gru = there_and_back("gru_without_bias", Layout::Auto, |device| {
        GruConfig::new(3, 4, false).init(device)
    });
    let output = gru.forward(input("gru_without_bias.input0"), None);
    assert_output("gru_without_bias", output);
    let both = there_and_back("gru_bidirectional", Layout::Auto, |device| {
        BiGruConfig::new(3, 4, true).init(device)
    });
    let output = both.forward(input("gru_bidirectional.input0"), None);
    assert_output("gru_bidirectional", output.0);
}

/// A list of layers is PyTorch's one layer with as many levels.
#[test]
fn levels() {
    let widths = [3, 4];
    let rnn: Vec<Rnn> = there_and_back("rnn_levels", Layout::Auto, |device| {
        widths
            .map(|width| RnnConfig::new(width, 4, true).init(device))
            .into()
    });
    let output = rnn.iter().fold(input("rnn_levels.input0"), |x, level| {
        level.forward(x, None).0
    });
    assert_output("rnn_levels", output);
    let lstm: [Lstm; 2] = there_and_back("lstm_levels", Layout::Auto, |device| {
        widths.map(|width| LstmConfig::new(width, 4, true).init(device))
    });
    let output = lstm.iter().fold(input("lstm_levels.input0"), |x, level| {
        level.forward(x, None).0
    });
    assert_output("lstm_levels", output);
    let gru: (Gru, Gru) = there_and_back("gru_levels", Layout::Auto, |device| {
        widths
            .map(|width| GruConfig::new(width, 4, true).init(device))
            .into()
    });
    let output = gru
        .1
        .forward(gru.0.forward(input("gru_levels.input0"), None), None);
    assert_output("gru_levels", output);
    let case = "lstm_bidirectional_levels";
    let both: Vec<BiLstm> = there_and_back(case, Layout::Auto, |device| {
        [3, 4]
            .map(|width| BiLstmConfig::new(width, 2, true).init(device))
            .into()
    });
    let output = both
        .iter()
        .fold(input(&format!("{case}.input0")), |x, level| {
            level.forward(x, None).0
        });
    assert_output(case, output);
}
