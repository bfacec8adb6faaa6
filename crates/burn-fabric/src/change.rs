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
        "`{path}`, which an optimizer updates, is gone or is another parameter (another id or \
         shape): drop the optimizer first, and set one up over the changed module"
    )]
    Gone {
        /// Its path.
        path: String,
    },
}

/// What training would not survive, between the tensors before and after; `held` are the parameters
/// that optimizers update.
pub(crate) fn changes<'p>(
    before: &[Entry],
    after: &[Entry],
    held: impl Iterator<Item = &'p Parameter>,
) -> Vec<ModuleChange> {
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
        let Some(before) = before.iter().find(|before| before.path == now.path) else {
            continue;
        };
        let device = |entry: &Entry| entry.device.clone().without_autodiff();
        if device(before) != device(now) {
            changes.push(ModuleChange::Device {
                path: path(),
                was: format!("{:?}", device(before)),
                is: format!("{:?}", device(now)),
            });
        }
        if let (Some(was), Some(is)) = (before.dtype, now.dtype)
            && was != is
        {
            let (was, is) = (was.name(), is.name());
            let path = path();
            changes.push(ModuleChange::DType { path, was, is });
        }
    }
    let gone = held.filter(|one| {
        let stays = |entry: &Entry| entry.id == Some(one.id) && entry.shape == one.shape;
        !after.iter().any(stays)
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
        let told = changes(&before, &after, std::iter::empty());
        let moved = |change: &ModuleChange| matches!(change, ModuleChange::Device { path, was, .. } if path == "weight" && was.contains("Flex"));
        assert!(matches!(&told[..], [change] if moved(change)), "{told:?}");
        assert!(told[0].to_string().starts_with("`weight` went from "));
    }
}
