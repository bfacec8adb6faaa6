//! The traits for every module of burn-nn, one file a family.
//!
//! A composed layer hands its hook on to its children, so that what a user put in place of a child
//! is honoured. Where its configuration has an initialiser, the children get that one in place of
//! their own. A layer that makes its parameters itself is rebuilt by its own configuration on the
//! meta device, so that its defaults are Burn's and not a copy of them.

mod activation;
mod attention;
mod conv;
mod encoding;
mod linear;
mod loss;
mod noise;
mod norm;
mod recurrent;
mod shape;
mod transformer;

/// `Materialize` for a struct whose fields with tensors or flags are public.
macro_rules! fields {
    ($($module:ident { $($field:ident),+ $(,)? })+) => {$(
        impl $crate::Materialize for $module {
            fn traverse(mut self, traversal: &mut $crate::Traversal<'_>) -> Self {
                const CONTAINER: &str = concat!("Struct:", stringify!($module));
                $(self.$field = traversal.field_of_burn(stringify!($field), CONTAINER, self.$field);)+
                self
            }
        }
    )+};
}

/// The hook of a layer made of others: theirs.
macro_rules! children {
    ($($module:ident { $($child:ident),+ $(,)? })+) => {$(
        impl $crate::ResetParameters for $module {
            fn reset_parameters(&self, plan: &mut $crate::InitPlan<'_>) {
                $(plan.child(stringify!($child), &self.$child);)+
            }
        }
    )+};
}

/// Both traits for an enum whose variants each hold one module.
macro_rules! variants {
    ($module:ident { $($variant:ident),+ $(,)? }) => {
        impl $crate::Materialize for $module {
            fn traverse(self, traversal: &mut $crate::Traversal<'_>) -> Self {
                const CONTAINER: &str = concat!("Enum:", stringify!($module));
                match self {
                    $(Self::$variant(module) => {
                        Self::$variant(traversal.field(stringify!($variant), CONTAINER, module))
                    })+
                    // The enum may grow; Burn's mapper knows each of its variants.
                    unknown => traversal.foreign(unknown),
                }
            }
        }

        impl $crate::ResetParameters for $module {
            fn reset_parameters(&self, plan: &mut $crate::InitPlan<'_>) {
                match self {
                    $(Self::$variant(module) => plan.child(stringify!($variant), module),)+
                    // What it recorded stands.
                    _ => {}
                }
            }
        }
    };
}

use {children, fields, variants};
