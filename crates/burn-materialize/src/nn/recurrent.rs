//! Recurrent layers.
//!
//! Their gates are pairs of linear layers that get the recurrent layer's initialiser; their
//! activations keep their own.

use burn::nn::{
    BiGru, BiLstm, BiRnn, GateController, Gru, GruConfig, Lstm, LstmConfig, Rnn, RnnConfig,
};

use super::{children, fields};
use crate::{InitPlan, ResetParameters};

fields! {
    GateController { input_transform, hidden_transform }
    Rnn { gate, hidden_activation }
    Gru { update_gate, reset_gate, new_gate, gate_activation, hidden_activation }
    Lstm {
        input_gate, forget_gate, output_gate, cell_gate, gate_activation, cell_activation,
        hidden_activation,
    }
    BiRnn { forward, reverse }
    BiGru { forward, reverse }
    BiLstm { forward, reverse }
}

children! {
    BiRnn { forward, reverse }
    BiGru { forward, reverse }
    BiLstm { forward, reverse }
}

/// Its constructor takes an initialiser and documents no default: outside a recurrent layer, and
/// without an attribute that names one, it gets only what was recorded.
impl ResetParameters for GateController {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        if plan.names_initializer() {
            plan.child("input_transform", &self.input_transform);
            plan.child("hidden_transform", &self.hidden_transform);
        }
    }
}

impl ResetParameters for Rnn {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let config = RnnConfig::new(self.d_hidden, self.d_hidden, true);
        plan.inheriting(config.initializer, |plan| plan.child("gate", &self.gate));
        plan.child("hidden_activation", &self.hidden_activation);
    }
}

impl ResetParameters for Gru {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let config = GruConfig::new(self.d_hidden, self.d_hidden, true);
        plan.inheriting(config.initializer, |plan| {
            plan.child("update_gate", &self.update_gate);
            plan.child("reset_gate", &self.reset_gate);
            plan.child("new_gate", &self.new_gate);
        });
        plan.child("gate_activation", &self.gate_activation);
        plan.child("hidden_activation", &self.hidden_activation);
    }
}

impl ResetParameters for Lstm {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        let config = LstmConfig::new(self.d_hidden, self.d_hidden, true);
        plan.inheriting(config.initializer, |plan| {
            plan.child("input_gate", &self.input_gate);
            plan.child("forget_gate", &self.forget_gate);
            plan.child("output_gate", &self.output_gate);
            plan.child("cell_gate", &self.cell_gate);
        });
        plan.child("gate_activation", &self.gate_activation);
        plan.child("cell_activation", &self.cell_activation);
        plan.child("hidden_activation", &self.hidden_activation);
    }
}
