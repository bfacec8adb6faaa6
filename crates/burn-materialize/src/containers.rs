//! The traits for the containers that Burn lets modules stand in.

use burn::module::Module;

use crate::traversal::Traversal;
use crate::{InitPlan, Materialize, ResetParameters};

impl<M: Materialize> Materialize for Option<M> {
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        self.map(|module| module.traverse(traversal))
    }
}

impl<M: ResetParameters> ResetParameters for Option<M> {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        match self {
            Some(module) => module.reset_parameters(plan),
            None => plan.absent(),
        }
    }
}

impl<M: Materialize> Materialize for Vec<M> {
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        let elements = self.into_iter().enumerate();
        elements
            .map(|(i, module)| traversal.field(&i.to_string(), "Vec", module))
            .collect()
    }
}

impl<M: ResetParameters> ResetParameters for Vec<M> {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        self.as_slice().reset_parameters(plan);
    }
}

impl<M: ResetParameters> ResetParameters for [M] {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        for (i, module) in self.iter().enumerate() {
            plan.child(&i.to_string(), module);
        }
    }
}

impl<const N: usize, M: Materialize> Materialize for [M; N] {
    fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
        let mut i = 0..N;
        // The array's own `map`, not the module's.
        <[M; N]>::map(self, |module| {
            let i = i.next().expect("one index an element");
            traversal.field(&i.to_string(), "Array", module)
        })
    }
}

impl<const N: usize, M: ResetParameters> ResetParameters for [M; N] {
    fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
        self.as_slice().reset_parameters(plan);
    }
}

macro_rules! tuples {
    ($([$($module:ident $index:tt),+])+) => {$(
        impl<$($module: Materialize),+> Materialize for ($($module,)+)
        where
            Self: Module,
        {
            fn traverse(self, traversal: &mut Traversal<'_>) -> Self {
                ($(traversal.field(stringify!($index), "Tuple", self.$index),)+)
            }
        }

        impl<$($module: ResetParameters),+> ResetParameters for ($($module,)+) {
            fn reset_parameters(&self, plan: &mut InitPlan<'_>) {
                $(plan.child(stringify!($index), &self.$index);)+
            }
        }
    )+};
}

tuples! {
    [A 0, B 1]
    [A 0, B 1, C 2]
    [A 0, B 1, C 2, D 3]
    [A 0, B 1, C 2, D 3, E 4]
    [A 0, B 1, C 2, D 3, E 4, F 5]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8]
    [A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9]
}
