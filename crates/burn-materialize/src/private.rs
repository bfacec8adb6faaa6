//! What the derived code calls, and nothing else: no part of the public API.
//!
//! A `#[module(skip)]` field may hold anything, and a macro cannot ask whether its type implements
//! a trait. Method resolution can: `(&Probe::of(&field)).method(…)` takes the method of `Probe<T>`
//! where its bound on `T` holds, since that needs no further reference, and the method of
//! `&Probe<T>`, which does nothing, where it does not.

use std::marker::PhantomData;

use burn::module::Initializer;
pub use burn::module::{Module, ModuleDisplay};

use crate::{InitPlan, Materialize, ResetParameters, Traversal};

/// Stands for the type of a field.
pub struct Probe<T>(PhantomData<fn() -> T>);

impl<T> Probe<T> {
    pub fn of(_field: &T) -> Self {
        Self(PhantomData)
    }
}

/// A field whose type can be gone through.
pub trait TraverseField<T> {
    fn traverse_field(
        &self,
        traversal: &mut Traversal<'_>,
        name: &str,
        container: &str,
        field: T,
    ) -> T;
}

impl<M: Materialize> TraverseField<M> for Probe<M> {
    fn traverse_field(
        &self,
        traversal: &mut Traversal<'_>,
        name: &str,
        container: &str,
        field: M,
    ) -> M {
        traversal.field(name, container, field)
    }
}

/// A field whose type cannot: it is left alone.
pub trait LeaveField<T> {
    fn traverse_field(&self, _: &mut Traversal<'_>, _: &str, _: &str, field: T) -> T;
}

impl<T> LeaveField<T> for &Probe<T> {
    fn traverse_field(&self, _: &mut Traversal<'_>, _: &str, _: &str, field: T) -> T {
        field
    }
}

/// A field whose type has a hook.
pub trait DeclareField<T> {
    fn declare_field(&self, plan: &mut InitPlan<'_>, name: &str, field: &T);

    fn declare_field_with(
        &self,
        plan: &mut InitPlan<'_>,
        name: &str,
        field: &T,
        initializer: Initializer,
    );
}

impl<M: ResetParameters> DeclareField<M> for Probe<M> {
    fn declare_field(&self, plan: &mut InitPlan<'_>, name: &str, field: &M) {
        plan.child(name, field);
    }

    fn declare_field_with(
        &self,
        plan: &mut InitPlan<'_>,
        name: &str,
        field: &M,
        initializer: Initializer,
    ) {
        plan.child_with(name, field, initializer);
    }
}

/// A field whose type has none: what was recorded stands. Where the field is not skipped,
/// `derive(Materialize)` reports it, since `Materialize` includes the hook.
pub trait RecordedField<T> {
    fn declare_field(&self, _: &mut InitPlan<'_>, _: &str, _: &T) {}

    fn declare_field_with(&self, _: &mut InitPlan<'_>, _: &str, _: &T, _: Initializer) {}
}

impl<T> RecordedField<T> for &Probe<T> {}

/// A field that Burn's own mapper goes through.
pub fn foreign_field<M: Module>(
    traversal: &mut Traversal<'_>,
    name: &str,
    container: &str,
    field: M,
) -> M {
    traversal.within(name, container, |traversal| traversal.foreign(field))
}
