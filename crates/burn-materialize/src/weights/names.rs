//! What a tensor of a module may be called in a file, and how it is held there.

use super::Layout;
use crate::site::{Site, Step};

/// One name under which a file may hold a tensor, and what has to be done to what is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Candidate {
    pub(crate) name: String,
    /// The place of this tensor, and of how many, along the first dimension of the file's.
    pub(crate) part: Option<(usize, usize)>,
    /// Whether the file holds the transposed matrix.
    pub(crate) transposed: bool,
    /// Whether the file holds what the parameter's own mapper for records makes of it.
    pub(crate) as_record: bool,
    /// Where the name takes a list of layers for one layer of several levels.
    pub(crate) level: Option<Level>,
}

/// The place of a gate in a list of recurrent layers, which `torch.nn` has as one layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Level {
    /// The path of the list.
    pub(crate) list: String,
    pub(crate) level: String,
    /// `weight_ih`, or one of the other three.
    pub(crate) tensor: String,
    pub(crate) is_reverse: bool,
}

/// A name of a tensor that `torch.nn` packs, and the place in it.
type Packed = (String, Option<(usize, usize)>, Option<Level>);

/// Where a tensor is, with what is needed to tell its names.
#[derive(Clone, Debug)]
pub(crate) struct Lineage {
    steps: Vec<Owned>,
}

#[derive(Clone, Debug)]
struct Owned {
    name: String,
    declaring: Option<String>,
    is_variant: bool,
    torch: Option<&'static str>,
}

impl Lineage {
    pub(crate) fn of(site: &Site<'_>) -> Self {
        let own = |step: Step<'_>| Owned {
            name: step.name.to_owned(),
            declaring: step.declaring.map(str::to_owned),
            is_variant: step.is_variant,
            torch: step.torch,
        };
        Self {
            steps: site.steps().map(own).collect(),
        }
    }

    /// The names in order of preference.
    pub(crate) fn candidates(&self, layout: Layout, rank: usize) -> Vec<Candidate> {
        let transposed = layout == Layout::PyTorch && rank == 2 && self.is_linear_weight();
        let as_record = layout != Layout::PyTorch;
        let whole = |name: String| Candidate {
            name,
            part: None,
            transposed,
            as_record,
            level: None,
        };
        let mut candidates = Vec::new();
        if layout == Layout::PyTorch {
            let packed = self.packed().into_iter();
            candidates.extend(packed.map(|(name, part, level)| Candidate {
                part,
                level,
                ..whole(name)
            }));
            candidates.push(whole(self.torch_path(self.steps.len())));
        }
        let paths = [self.path(|_| true), self.path(|step| !step.is_variant)];
        candidates.extend(paths.clone().map(whole));
        // A norm has either pair of names, whatever else the file does.
        if let (Some(other), Some(last)) = (self.norm_name(), self.steps.last()) {
            let renamed = paths.map(|path| {
                let base = &path[..path.len() - last.name.len()];
                format!("{base}{other}")
            });
            candidates.extend(renamed.map(whole));
        }
        let mut seen = std::collections::HashSet::new();
        candidates.retain(|candidate| seen.insert(candidate.name.clone()));
        candidates
    }

    /// The module's own path of it.
    fn path(&self, keep: impl Fn(&Owned) -> bool) -> String {
        let steps = self.steps.iter().filter(|step| keep(step));
        join(steps.map(|step| step.name.as_str()))
    }

    /// The first `count` names as `torch.nn` has them.
    fn torch_path(&self, count: usize) -> String {
        let steps = self.steps[..count].iter().filter(|step| !step.is_variant);
        join(steps.map(|step| {
            step.torch
                .unwrap_or_else(|| torch_name(step.declaring.as_deref(), &step.name))
        }))
    }

    fn declaring(&self, from_end: usize) -> Option<(&str, &str)> {
        let step = self.steps.iter().rev().nth(from_end)?;
        Some((step.declaring.as_deref()?, &step.name))
    }

    pub(crate) fn is_linear_weight(&self) -> bool {
        self.declaring(0) == Some(("Linear", "weight"))
    }

    /// What `torch.nn` calls the tensor of a norm.
    pub(crate) fn norm_name(&self) -> Option<&'static str> {
        let (declaring, name) = self.declaring(0)?;
        match name {
            "gamma" if is_norm(declaring) => Some("weight"),
            "beta" if is_norm(declaring) => Some("bias"),
            _ => None,
        }
    }

    pub(crate) fn is_instance_norm(&self) -> bool {
        matches!(self.declaring(0), Some(("InstanceNorm", _)))
    }

    /// Names of the tensors in which `torch.nn` packs those of several layers of Burn's, with the
    /// place in them; none for all other layers.
    fn packed(&self) -> Vec<Packed> {
        let Some(("Linear", tensor)) = self.declaring(0) else {
            return Vec::new();
        };
        let depth = self.steps.len();
        match (self.declaring(1), self.declaring(2)) {
            (Some(("MultiHeadAttention" | "CrossAttention", name)), _) => {
                let Some(place) = ["query", "key", "value"].iter().position(|of| *of == name)
                else {
                    return Vec::new();
                };
                let base = self.torch_path(depth - 2);
                let packed = join([&*base, &format!("in_proj_{tensor}")]);
                let mut names = vec![(packed, Some((place, 3)), None)];
                if tensor == "weight" {
                    // What it is called where the three have different widths.
                    let letter = ["q", "k", "v"][place];
                    names.push((join([&*base, &format!("{letter}_proj_weight")]), None, None));
                }
                names
            }
            (Some(("GateController", transform)), Some((layer, gate))) => {
                let side = match transform {
                    "input_transform" => "ih",
                    "hidden_transform" => "hh",
                    _ => return Vec::new(),
                };
                let Some(part) = gate_place(layer, gate) else {
                    return Vec::new();
                };
                self.recurrent(depth - 3, tensor, side, part)
            }
            _ => Vec::new(),
        }
    }

    /// The names of a gate of the recurrent layer that the first `depth` steps lead to.
    fn recurrent(
        &self,
        mut depth: usize,
        tensor: &str,
        side: &str,
        part: (usize, usize),
    ) -> Vec<Packed> {
        let mut reverse = "";
        if let Some(Owned {
            name,
            declaring: Some(declaring),
            ..
        }) = depth.checked_sub(1).map(|last| &self.steps[last])
            && matches!(declaring.as_str(), "BiLstm" | "BiGru" | "BiRnn")
        {
            depth -= 1;
            reverse = if name == "reverse" { "_reverse" } else { "" };
        }
        let name = |depth: usize, layer: &str| {
            let base = self.torch_path(depth);
            join([&*base, &format!("{tensor}_{side}_l{layer}{reverse}")])
        };
        let mut names = vec![(name(depth, "0"), Some(part), None)];
        // A list of layers here may be one layer there, with as many levels.
        if let Some(last) = depth.checked_sub(1)
            && self.steps[last].declaring.is_none()
        {
            let steps = self.steps[..last].iter();
            let level = Level {
                list: join(steps.map(|step| step.name.as_str())),
                level: self.steps[last].name.clone(),
                tensor: format!("{tensor}_{side}"),
                is_reverse: !reverse.is_empty(),
            };
            names.push((name(last, &level.level), Some(part), Some(level)));
        }
        names
    }

    /// Whether it is the running mean of a batch norm, of which each has one.
    pub(crate) fn is_batch_norm(&self) -> bool {
        self.declaring(0) == Some(("BatchNorm", "running_mean"))
    }

    /// Whether the file's tensor of `name` would belong to this one's module without being a tensor
    /// that Burn has: the count of batches that `torch.nn` keeps for its norms.
    pub(crate) fn counts_batches(&self, name: &str) -> bool {
        let base = |path: String| path.strip_suffix("running_mean").map(str::to_owned);
        let bases = [self.path(|_| true), self.torch_path(self.steps.len())];
        let mut bases = bases.into_iter().filter_map(base);
        bases.any(|base| name.strip_prefix(&base) == Some("num_batches_tracked"))
    }
}

fn join<'n>(names: impl IntoIterator<Item = &'n str>) -> String {
    let names: Vec<&str> = names.into_iter().filter(|name| !name.is_empty()).collect();
    names.join(".")
}

fn is_norm(declaring: &str) -> bool {
    matches!(
        declaring,
        "BatchNorm" | "GroupNorm" | "InstanceNorm" | "LayerNorm" | "RmsNorm"
    )
}

/// What `torch.nn` calls a field of a layer of Burn's; empty where it has no such level.
fn torch_name<'n>(declaring: Option<&str>, name: &'n str) -> &'n str {
    match (declaring.unwrap_or_default(), name) {
        (norm, "gamma") if is_norm(norm) => "weight",
        (norm, "beta") if is_norm(norm) => "bias",
        ("PRelu", "alpha") => "weight",
        ("MultiHeadAttention" | "CrossAttention", "output") => "out_proj",
        ("TransformerEncoderLayer", "mha") => "self_attn",
        ("TransformerDecoderLayer", "cross_attn") => "multihead_attn",
        ("TransformerEncoderLayer" | "TransformerDecoderLayer", "pwff") => "",
        ("PositionWiseFeedForward", "linear_inner") => "linear1",
        ("PositionWiseFeedForward", "linear_outer") => "linear2",
        (_, name) => name,
    }
}

/// The place of a gate in what `torch.nn` packs, and of how many gates.
fn gate_place(layer: &str, gate: &str) -> Option<(usize, usize)> {
    let gates: &[&str] = match layer {
        "Lstm" => &["input_gate", "forget_gate", "cell_gate", "output_gate"],
        "Gru" => &["reset_gate", "update_gate", "new_gate"],
        "Rnn" => &["gate"],
        _ => return None,
    };
    let place = gates.iter().position(|name| *name == gate)?;
    Some((place, gates.len()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::Stack;

    fn names(
        layout: Layout,
        rank: usize,
        steps: &[(&str, &str)],
    ) -> Vec<(String, Option<(usize, usize)>)> {
        let mut stack = Stack::default();
        for (name, container) in steps {
            stack.enter(name, container);
        }
        let candidates = Lineage::of(&stack.site()).candidates(layout, rank);
        let names = candidates.into_iter();
        names
            .map(|candidate| (candidate.name, candidate.part))
            .collect()
    }

    fn first(steps: &[(&str, &str)]) -> (String, Option<(usize, usize)>) {
        names(Layout::PyTorch, 2, steps).swap_remove(0)
    }

    #[test]
    fn norms_have_the_names_of_either_framework() {
        let steps = [
            ("norm", "Struct:Model"),
            ("Batch", "Enum:Normalization"),
            ("gamma", "Struct:BatchNorm"),
        ];
        let found = names(Layout::PyTorch, 1, &steps);
        let found: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            found,
            [
                "norm.weight",
                "norm.Batch.gamma",
                "norm.gamma",
                "norm.Batch.weight"
            ]
        );
        let found = names(Layout::Burn, 1, &steps);
        let found: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(
            found,
            [
                "norm.Batch.gamma",
                "norm.gamma",
                "norm.Batch.weight",
                "norm.weight"
            ]
        );
    }

    #[test]
    fn attention_is_packed() {
        let steps = [
            ("layers", "Struct:TransformerEncoder"),
            ("3", "Vec"),
            ("mha", "Struct:TransformerEncoderLayer"),
            ("key", "Struct:MultiHeadAttention"),
            ("weight", "Struct:Linear"),
        ];
        let packed = ("layers.3.self_attn.in_proj_weight".to_owned(), Some((1, 3)));
        assert_eq!(first(&steps), packed);
    }

    #[test]
    fn recurrent_layers_are_packed_by_level_and_direction() {
        let steps = [
            ("rnn", "Struct:Model"),
            ("1", "Vec"),
            ("reverse", "Struct:BiLstm"),
            ("cell_gate", "Struct:Lstm"),
            ("hidden_transform", "Struct:GateController"),
            ("bias", "Struct:Linear"),
        ];
        let found = names(Layout::PyTorch, 1, &steps);
        assert_eq!(
            found[0],
            ("rnn.1.bias_hh_l0_reverse".to_owned(), Some((2, 4)))
        );
        assert_eq!(
            found[1],
            ("rnn.bias_hh_l1_reverse".to_owned(), Some((2, 4)))
        );
    }

    #[test]
    fn a_layer_alone_has_names_without_a_path() {
        let steps = [
            ("gate", "Struct:Rnn"),
            ("input_transform", "Struct:GateController"),
            ("weight", "Struct:Linear"),
        ];
        assert_eq!(first(&steps), ("weight_ih_l0".to_owned(), Some((0, 1))));
    }
}
