//! The derives of burn-materialize and burn-fabric, which re-export them beside their traits, with an
//! example of each. (Here an example would need Burn a second time in every build of the tests: what the
//! tests of a procedural macro depend on is compiled for the compiler's sake, apart from the rest.)
//!
//! Each goes through named stages, a file each: the syntax tree, the attributes, validity, the
//! expansion. All mistakes in an item are reported at once, each at its place.

mod ast;
mod attr;
mod bounds;
mod constant;
mod errors;
mod expand;
mod krate;
mod state;
mod valid;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

use crate::errors::Namespace;

/// Derives `Materialize`: one traversal of every tensor of the module.
///
/// Takes what Burn's `derive(Module)` takes: structs with named fields, and enums with exactly one
/// unnamed field in each variant; type parameters may be modules.
///
/// | field | what happens |
/// |---|---|
/// | a constant to Burn (numbers, `String`, standard containers of these) | left alone |
/// | `#[module(skip)]` | gone through if its type is `Materialize` (so `cache` above is), else left alone; a type parameter is left alone |
/// | `#[materialize(foreign)]` | handed to Burn's own mapper, for a module of another crate that derives nothing: its plain tensors and skipped fields cannot be reached |
/// | any other | its type must be `Materialize` |
///
/// Burn-materialize is found among the crate's dependencies, on its own or in burn-fabric, under
/// whatever name; `#[materialize(crate = some::path)]` on the struct or enum says another place.
#[proc_macro_derive(Materialize, attributes(materialize, module))]
pub fn derive_materialize(input: TokenStream) -> TokenStream {
    expand::derive(
        &parse_macro_input!(input as DeriveInput),
        Namespace::Materialize,
    )
    .into()
}

/// Derives `ResetParameters`: the hook that asks every field for its initial values.
///
/// | field | what is declared |
/// |---|---|
/// | plain | what the hook of its type declares |
/// | `#[reset(initializer = …)]` | the same, with this `Initializer` for all weights and biases below that take one |
/// | `#[reset(with = …)]` | what the function (or closure) of the shape and the device gives, for a parameter, a running state or a plain tensor |
/// | `#[module(skip)]` | as a plain field, if its type has a hook |
/// | `#[materialize(foreign)]`, constants | nothing |
///
/// A field without a hook is reported by `derive(Materialize)`, which every module needs beside
/// this. `#[reset(crate = some::path)]` says where burn-materialize is; the same in
/// `#[materialize(…)]` serves both derives.
#[proc_macro_derive(ResetParameters, attributes(reset, materialize, module))]
pub fn derive_reset_parameters(input: TokenStream) -> TokenStream {
    expand::derive(&parse_macro_input!(input as DeriveInput), Namespace::Reset).into()
}

/// Derives `TrainingState` of burn-fabric: every field is a part of a checkpoint, under its own name.
///
/// | field | what is kept |
/// |---|---|
/// | plain | what its type says; the type must be a `TrainingState` |
/// | `#[state(serde)]` | its value, by serde |
/// | `#[state(skip)]` | nothing: it stays as it is |
///
/// Takes structs with named fields. `#[state(crate = some::path)]` on the struct says where
/// burn-fabric is, where it is not a dependency.
#[proc_macro_derive(TrainingState, attributes(state))]
pub fn derive_training_state(input: TokenStream) -> TokenStream {
    state::derive(&parse_macro_input!(input as DeriveInput)).into()
}
