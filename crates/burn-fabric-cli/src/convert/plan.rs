//! What is to be written, decided before anything is.

use std::collections::BTreeMap;

use burn_weights::TensorInfo;

use super::layout::{Decider, Decision, with_last};
use crate::arguments::Convert;
use crate::failure::Failure;
use crate::human;
use crate::source::{Source, is_chosen, natural};

/// A tensor to write.
#[derive(Debug)]
pub struct Entry<'s> {
    pub info: &'s TensorInfo,
    pub to: String,
    pub transpose: bool,
}

/// Everything to write.
#[derive(Debug, Default)]
pub struct Plan<'s> {
    pub entries: Vec<Entry<'s>>,
    /// Other names, and the name of the tensor that each is one of.
    pub ties: BTreeMap<String, String>,
    /// What whoever asked may want to know.
    pub notes: Vec<String>,
}

/// Names to show of a list that may be long.
const SHOWN: usize = 4;

pub fn plan<'s>(source: &'s Source, arguments: &Convert) -> Result<Plan<'s>, Failure> {
    let all = source.by_name();
    let chosen = all.iter().map(|(name, info)| (*name, *info));
    let chosen: Chosen<'s> = chosen
        .filter(|(name, _)| is_chosen(name, &arguments.filter))
        .collect();
    if chosen.is_empty() && !all.is_empty() {
        return Err(Failure::Arguments("no tensor matches --filter".to_owned()));
    }
    every_pattern_matches(&chosen, arguments)?;
    let decider = arguments.layout.map(|layout| Decider {
        layout,
        all: &all,
        arguments,
    });
    let decide = |name: &str, info: &TensorInfo| match &decider {
        Some(decider) => decider.decide(name, &info.shape),
        None => Decision::Keep,
    };
    let mut decided: BTreeMap<Decision, Vec<&str>> = BTreeMap::new();
    for (name, info) in &chosen {
        decided.entry(decide(name, info)).or_default().push(name);
    }
    if let Some(names) = decided.get(&Decision::Undecided) {
        return Err(Failure::Arguments(format!(
            "{} may be of a linear layer or an embedding ({}): pass --embedding GLOB for the \
             embeddings, or --no-embedding",
            human::several(names.len() as u64, "2-D weight"),
            shown(names),
        )));
    }
    let mut plan = Plan::default();
    for (decision, what) in [
        (Decision::Drop, "dropped, as Burn has no such thing"),
        (Decision::Doubtful, "unchanged, as nothing tells the layer"),
    ] {
        if let Some(names) = decided.get(&decision) {
            let number = human::several(names.len() as u64, "tensor");
            plan.notes
                .push(format!("{number} {what}: {}", shown(names)));
        }
    }
    fill(&mut plan, chosen, arguments, decide);
    unique_names(&plan, source)?;
    plan.entries.sort_by(|a, b| natural(&a.to, &b.to));
    Ok(plan)
}

/// Names with the tensors that they are of.
type Chosen<'s> = Vec<(&'s str, &'s TensorInfo)>;

/// Every name with what becomes of its tensor.
fn fill<'s>(
    plan: &mut Plan<'s>,
    chosen: Chosen<'s>,
    arguments: &Convert,
    decide: impl Fn(&str, &TensorInfo) -> Decision,
) {
    let mut matched = vec![false; arguments.rename.len()];
    // The tensors by their own names first, as other names are ties of these.
    let is_own = |(name, info): &(&str, &TensorInfo)| *name == info.name;
    let (own, others): (Vec<_>, Vec<_>) = chosen.into_iter().partition(is_own);
    let mut written: BTreeMap<&str, usize> = BTreeMap::new();
    for (name, info) in own.into_iter().chain(others) {
        let decision = decide(name, info);
        let mut to = match decision {
            Decision::Drop => continue,
            Decision::Rename(last) => with_last(name, last),
            _ => name.to_owned(),
        };
        for (rename, matched) in arguments.rename.iter().zip(&mut matched) {
            *matched |= rename.matches(&to);
            to = rename.apply(&to);
        }
        let asked = arguments.transpose.iter().any(|glob| glob.matches(name));
        let transpose = decision == Decision::Transpose || (asked && info.shape.len() == 2);
        let tied = written.get(info.name.as_str());
        let tied = tied.map(|place| &plan.entries[*place]);
        if let Some(entry) = tied.filter(|entry| entry.transpose == transpose) {
            plan.ties.insert(to, entry.to.clone());
            continue;
        }
        // Not the same values any more, or without the tensor that it is tied to.
        if tied.is_some() {
            let note = format!(
                "`{name}` is written on its own: `{}` has another layout",
                info.name
            );
            plan.notes.push(note);
        }
        if name == info.name {
            written.insert(name, plan.entries.len());
        }
        plan.entries.push(Entry {
            info,
            to,
            transpose,
        });
    }
    let unmatched = arguments.rename.iter().zip(&matched);
    for (rename, _) in unmatched.filter(|(_, matched)| !**matched) {
        let note = format!("--rename '{rename}' matches no name");
        plan.notes.push(note);
    }
}

fn shown(names: &[&str]) -> String {
    let mut shown = names[..names.len().min(SHOWN)].join(", ");
    if names.len() > SHOWN {
        shown.push_str(", …");
    }
    shown
}

/// A pattern for nothing is a mistake in it, and its tensor would be written untransposed.
fn every_pattern_matches(
    chosen: &[(&str, &TensorInfo)],
    arguments: &Convert,
) -> Result<(), Failure> {
    for (option, patterns) in [
        ("--transpose", &arguments.transpose),
        ("--embedding", &arguments.embedding),
    ] {
        for pattern in patterns {
            let mut matrices = chosen.iter().filter(|(_, info)| info.shape.len() == 2);
            if !matrices.any(|(name, _)| pattern.matches(name)) {
                return Err(Failure::Arguments(format!(
                    "{option} '{pattern}' matches no 2-D tensor"
                )));
            }
        }
    }
    Ok(())
}

fn unique_names(plan: &Plan<'_>, source: &Source) -> Result<(), Failure> {
    let mut origins: BTreeMap<&str, &str> = BTreeMap::new();
    let entries = plan
        .entries
        .iter()
        .map(|entry| (entry.to.as_str(), entry.info.name.as_str()));
    let ties = plan
        .ties
        .iter()
        .map(|(other, name)| (other.as_str(), name.as_str()));
    for (to, from) in entries.chain(ties) {
        if to.is_empty() || to == "__metadata__" {
            return Err(Failure::Arguments(format!(
                "`{from}` would be named `{to}`, which is no name for a tensor: --rename it"
            )));
        }
        if let Some(other) = origins.insert(to, from) {
            return Err(Failure::Arguments(format!(
                "`{other}` and `{from}` would both be named `{to}`"
            )));
        }
        // A tie's name would take the place of a text under the same key.
        if plan.ties.contains_key(to) && source.metadata.contains_key(to) {
            return Err(Failure::Arguments(format!(
                "`{from}` would be tied as `{to}`, and the metadata has a text of that name"
            )));
        }
    }
    Ok(())
}
