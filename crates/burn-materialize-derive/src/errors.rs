//! The mistakes of one item, collected and reported together.

use proc_macro2::TokenStream;
use syn::Error;

/// Whose attributes a mistake is in. Each derive reports those of its own namespace, so that a
/// mistake is not reported twice where both derives are used.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Namespace {
    Materialize,
    Reset,
}

impl Namespace {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Materialize => "materialize",
            Self::Reset => "reset",
        }
    }
}

pub(crate) struct Errors {
    reporting: Namespace,
    shape: Option<Error>,
    attributes: Option<Error>,
}

impl Errors {
    pub(crate) fn new(reporting: Namespace) -> Self {
        Self {
            reporting,
            shape: None,
            attributes: None,
        }
    }

    /// The item cannot be expanded: it is no module that Burn knows, or burn-materialize is not
    /// found. Both derives say it in the same words at the same
    /// place, and the compiler shows it once.
    pub(crate) fn shape(&mut self, error: Error) {
        add(&mut self.shape, error);
    }

    /// An attribute is wrong.
    pub(crate) fn attribute(&mut self, namespace: Namespace, error: Error) {
        if namespace == self.reporting {
            add(&mut self.attributes, error);
        }
    }

    /// Whether the item can be a module at all; otherwise Burn's derive fails as well.
    pub(crate) fn is_module(&self) -> bool {
        self.shape.is_none()
    }

    pub(crate) fn any(&self) -> bool {
        self.shape.is_some() || self.attributes.is_some()
    }

    /// All of them as tokens that make the compiler report each at its place.
    pub(crate) fn report(&self) -> TokenStream {
        self.shape
            .iter()
            .chain(&self.attributes)
            .map(Error::to_compile_error)
            .collect()
    }
}

fn add(errors: &mut Option<Error>, error: Error) {
    match errors {
        Some(errors) => errors.combine(error),
        None => *errors = Some(error),
    }
}
