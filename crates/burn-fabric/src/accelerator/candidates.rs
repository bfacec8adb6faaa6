//! What devices there are, and which one is the best.

use std::fmt;

use burn::tensor::{Device, DeviceKind, FloatDType};
use burn_materialize::DeviceMemory;

use super::{Accelerator, LibTorchKind};
use crate::error::FabricError;

/// An accelerator that was looked at.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Which.
    pub accelerator: Accelerator,
    /// Whether it can be used.
    pub is_usable: bool,
    /// What it is, or what stands against it.
    pub remark: String,
}

/// Accelerators that were looked at. Its `Display` is a table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Candidates(pub Vec<Candidate>);

impl Candidates {
    /// Everything there is, each opened to learn what it is; and of each kind of which there is
    /// nothing, why.
    pub(crate) fn all() -> Self {
        let kinds = [
            Accelerator::Cuda(0),
            Accelerator::Wgpu(DeviceKind::DefaultDevice),
            Accelerator::LibTorch(LibTorchKind::Cpu),
            Accelerator::Flex,
        ];
        let there = kinds.into_iter().flat_map(|kind| of_kind(kind, |_| true));
        Self(there.map(|there| look_at(there, None).0).collect())
    }

    /// The first of what `Accelerator::Auto` tries that works, and all that was tried.
    pub(crate) fn best(
        float_dtype: Option<FloatDType>,
    ) -> Result<(Accelerator, Device, Self), FabricError> {
        first_usable(order(), |accelerator| look_at(accelerator, float_dtype))
    }
}

/// The order in which `Auto` tries. The last one takes whatever wgpu has, in software as well.
fn order() -> Vec<Accelerator> {
    let mut order = of_kind(Accelerator::Cuda(0), is_gpu);
    order.extend(of_kind(
        Accelerator::Wgpu(DeviceKind::DiscreteGpu(0)),
        is_gpu,
    ));
    order.extend(of_kind(
        Accelerator::LibTorch(LibTorchKind::Cuda(0)),
        is_gpu,
    ));
    order.push(Accelerator::LibTorch(LibTorchKind::Cpu));
    order.push(Accelerator::Flex);
    order.push(Accelerator::Wgpu(DeviceKind::DefaultDevice));
    order
}

/// What there is of a kind; where there is nothing the kind itself, to be told as what it is: not
/// compiled in, or not there.
fn of_kind(kind: Accelerator, is_wanted: fn(&Accelerator) -> bool) -> Vec<Accelerator> {
    let there = kind.siblings().into_iter().map(|(there, _)| there);
    let wanted: Vec<Accelerator> = there.filter(is_wanted).collect();
    match wanted.is_empty() {
        true => vec![kind],
        false => wanted,
    }
}

fn is_gpu(accelerator: &Accelerator) -> bool {
    match accelerator {
        Accelerator::Cuda(_) => true,
        Accelerator::Wgpu(kind) => !matches!(kind, DeviceKind::Cpu | DeviceKind::DefaultDevice),
        Accelerator::LibTorch(kind) => *kind != LibTorchKind::Cpu,
        Accelerator::Auto | Accelerator::Flex | Accelerator::Device(_) => false,
    }
}

fn first_usable(
    order: impl IntoIterator<Item = Accelerator>,
    mut look_at: impl FnMut(Accelerator) -> (Candidate, Option<Device>),
) -> Result<(Accelerator, Device, Candidates), FabricError> {
    let mut tried = Candidates::default();
    for accelerator in order {
        let (candidate, device) = look_at(accelerator.clone());
        tried.0.push(candidate);
        if let Some(device) = device {
            return Ok((accelerator, device, tried));
        }
    }
    Err(FabricError::NoAccelerator { tried })
}

/// Open an accelerator and say what it is.
fn look_at(
    accelerator: Accelerator,
    float_dtype: Option<FloatDType>,
) -> (Candidate, Option<Device>) {
    let (remark, device) = match accelerator.open(float_dtype) {
        Ok(device) => (describe(&device), Some(device)),
        Err(error) => (remark(error), None),
    };
    let candidate = Candidate {
        accelerator,
        is_usable: device.is_some(),
        remark,
    };
    (candidate, device)
}

fn describe(device: &Device) -> String {
    let memory = DeviceMemory::of(device).unwrap_or_default();
    format!("{}; {memory}", name_of(device))
}

#[cfg(any(feature = "wgpu", feature = "cuda"))]
fn name_of(device: &Device) -> String {
    let identity = device.identity().map(|identity| identity.name);
    identity.unwrap_or_else(|| "the CPU".to_owned())
}

#[cfg(not(any(feature = "wgpu", feature = "cuda")))]
fn name_of(_device: &Device) -> String {
    "the CPU".to_owned()
}

/// What an error says beyond the accelerator's name.
fn remark(error: FabricError) -> String {
    match error {
        FabricError::NotCompiled { feature, .. } => {
            format!("built without the feature `{feature}`")
        }
        FabricError::NoSuchDevice { there, help, .. } if there.is_empty() => {
            format!("none is there: {help}")
        }
        FabricError::NoSuchDevice { there, .. } => format!("there is only {}", there.join(", ")),
        FabricError::DeviceFails { message, .. } => format!("fails: {message}"),
        error => error.to_string(),
    }
}

impl fmt::Display for Candidates {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self
            .0
            .iter()
            .map(|candidate| candidate.accelerator.to_string());
        let names: Vec<String> = names.collect();
        let width = names.iter().map(|name| name.chars().count()).max();
        let width = width.unwrap_or(0);
        for (i, (name, candidate)) in names.iter().zip(&self.0).enumerate() {
            let usable = if candidate.is_usable { "yes" } else { "no" };
            let end = if i + 1 == self.0.len() { "" } else { "\n" };
            let remark = candidate.remark.lines().collect::<Vec<_>>().join(" ");
            write!(f, "{name:<width$}  {usable:<3}  {remark}{end}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(usable: Accelerator) -> impl FnMut(Accelerator) -> (Candidate, Option<Device>) {
        move |accelerator| {
            let is_usable = accelerator == usable;
            let candidate = Candidate {
                accelerator,
                is_usable,
                remark: "as it is".to_owned(),
            };
            (candidate, is_usable.then(Device::flex))
        }
    }

    #[test]
    fn a_gpu_comes_before_a_cpu_and_software_last() {
        let names: Vec<String> = order().iter().map(ToString::to_string).collect();
        let place = |start: &str| names.iter().position(|name| name.starts_with(start));
        assert!(place("cuda") < place("wgpu:"), "{names:?}");
        assert!(place("wgpu:") < place("libtorch"), "{names:?}");
        assert!(place("libtorch") < place("flex"), "{names:?}");
        assert_eq!(names.last().map(String::as_str), Some("wgpu"));
    }

    #[test]
    fn the_first_that_works_is_taken_and_the_reasons_against_the_others_are_kept() {
        let order = [
            Accelerator::Cuda(0),
            Accelerator::Flex,
            Accelerator::Cuda(1),
        ];
        let (chosen, _, tried) = first_usable(order, look(Accelerator::Flex)).unwrap();
        assert_eq!(chosen, Accelerator::Flex);
        assert_eq!(
            tried.to_string(),
            "cuda:0  no   as it is\nflex    yes  as it is"
        );
    }

    #[test]
    fn where_nothing_works_everything_tried_is_told() {
        let order = [Accelerator::Cuda(0), Accelerator::Cuda(1)];
        let error = first_usable(order, look(Accelerator::Flex)).unwrap_err();
        assert!(matches!(&error, FabricError::NoAccelerator { tried } if tried.0.len() == 2));
        assert!(error.to_string().contains("cuda:1"), "{error}");
    }
}
