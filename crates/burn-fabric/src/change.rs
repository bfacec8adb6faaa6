//! What a function of a module may not do to its tensors.

use burn_materialize::{Entry, State};

use crate::parameters::Parameter;

/// What a function of a module does to a tensor that training does not survive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModuleChange {
    /// The tensor does not exist, or does not exist any more.
    #[error(
        "`{path}` is {state}: an optimizer would have nothing to step; build it on the module's \
         device and use it once (`param.val()`), or change the module before `setup`"
    )]
    Unreal {
        /// Its path.
        path: String,
        /// Lazy or meta.
        state: State,
    },
    /// The tensor went to another device.
    #[error(
        "`{path}` went from {was} to {is}: state and batches stay behind; take the module out with \
         `into_inner` and set it up on the other device"
    )]
    Device {
        /// Its path.
        path: String,
        /// Where it was.
        was: String,
        /// Where it is.
        is: String,
    },
    /// The tensor got another dtype.
    #[error(
        "`{path}` went from {was} to {is}: an optimizer's state would not fit; take the module out \
         with `into_inner` and set it up again"
    )]
    DType {
        /// Its path.
        path: String,
        /// What it was.
        was: &'static str,
        /// What it is.
        is: &'static str,
    },
    /// A parameter that an optimizer holds is gone.
    #[error(
        "`{path}`, which an optimizer updates, is gone, has another shape, or is tied to a parameter \
         before it: drop the optimizer first, and set one up over the changed module"
    )]
    Gone {
        /// Its path.
        path: String,
    },
}

/// What training would not survive, between the tensors before and after; `held` are the parameters
/// that optimizers update.
pub(crate) fn changes(before: &[Entry], after: &[Entry], held: &[Parameter]) -> Vec<ModuleChange> {
    let device = |entry: &Entry| entry.device.clone().without_autodiff();
    let mut changes = Vec::new();
    for now in after {
        let path = || now.path.clone();
        if now.state != State::Real {
            let state = now.state;
            changes.push(ModuleChange::Unreal {
                path: path(),
                state,
            });
            continue;
        }
        let same_path = before.iter().find(|before| before.path == now.path);
        // What is new has to be where something else is.
        let at_home = before.iter().any(|before| device(before) == device(now));
        let was = match same_path {
            Some(before) => Some(before).filter(|before| device(before) != device(now)),
            None => before.first().filter(|_| !at_home),
        };
        if let Some(was) = was {
            changes.push(ModuleChange::Device {
                path: path(),
                was: format!("{:?}", device(was)),
                is: format!("{:?}", device(now)),
            });
        }
        if let Some((was, is)) = same_path.and_then(|before| before.dtype.zip(now.dtype))
            && was != is
        {
            let (was, is) = (was.name(), is.name());
            let path = path();
            changes.push(ModuleChange::DType { path, was, is });
        }
    }
    // An optimizer follows its parameters by path, and its state has to fit.
    let gone = held.iter().filter(|one| {
        let now = after.iter().find(|entry| entry.path == one.path());
        let is_later_path = |now: &Entry| {
            let first = after
                .iter()
                .find(|entry| entry.id.is_some() && entry.id == now.id);
            first.is_none_or(|first| first.path != now.path)
        };
        now.is_none_or(|now| now.shape != one.shape || is_later_path(now))
    });
    changes.extend(gone.map(|parameter| ModuleChange::Gone {
        path: parameter.path().to_owned(),
    }));
    changes
}

#[cfg(test)]
mod tests {
    use burn::nn::LinearConfig;
    use burn::tensor::Device;
    use burn_materialize::{State, inventory};

    use super::{ModuleChange, changes};

    /// There is one kind of device here that computes, so the inventory stands for one.
    #[test]
    fn a_tensor_on_another_device_is_told() {
        let linear = LinearConfig::new(2, 2).init(&Device::flex());
        linear.weight.val();
        let before = inventory(&linear);
        let mut after = before.clone();
        after[0].device = Device::capture();
        after[1].state = State::Real;
        let told = changes(&before, &after, &[]);
        let moved = |change: &ModuleChange| matches!(change, ModuleChange::Device { path, was, .. } if path == "weight" && was.contains("Flex"));
        assert!(matches!(&told[..], [change] if moved(change)), "{told:?}");
        assert!(told[0].to_string().starts_with("`weight` went from "));
    }
}
