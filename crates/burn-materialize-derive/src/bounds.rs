//! The bounds of the generated implementations.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use syn::visit::Visit;
use syn::{Generics, Ident, Type, TypePath, parse_quote};

use crate::valid::{Checked, Class};

/// The type parameters of an item, by the fields they stand in.
pub(crate) struct Parameters<'a> {
    generics: &'a Generics,
    skipped: HashSet<Ident>,
    modules: HashSet<Ident>,
    /// Whether Burn's derive sees any module among the fields; otherwise it adds no bounds.
    has_modules: bool,
}

impl<'a> Parameters<'a> {
    pub(crate) fn new(generics: &'a Generics, fields: &[Checked<'_>]) -> Self {
        let (mut skipped, mut modules) = (HashSet::new(), HashSet::new());
        for Checked { field, class, .. } in fields {
            match class {
                Class::Skipped => skipped.extend(mentioned(generics, field.ty)),
                Class::Module => modules.extend(mentioned(generics, field.ty)),
                Class::Constant | Class::Foreign => {}
            }
        }
        let is_module = |class| matches!(class, Class::Module | Class::Foreign);
        let has_modules = fields.iter().any(|field| is_module(field.class));
        Self {
            generics,
            skipped,
            modules,
            has_modules,
        }
    }

    /// Those of Burn's derive, so that the item is a `Module`, and `Materialize` for what is gone
    /// through. None on the types of fields: a missing implementation is reported at the field.
    pub(crate) fn materialize(&self, krate: &TokenStream) -> Generics {
        let mut generics = self.generics.clone();
        let bounds = &mut generics.make_where_clause().predicates;
        for parameter in self
            .generics
            .type_params()
            .map(|parameter| &parameter.ident)
        {
            if self.skipped.contains(parameter) {
                bounds.push(parse_quote! {
                    #parameter: ::core::clone::Clone + ::core::fmt::Debug + ::core::marker::Send
                });
            } else if self.has_modules {
                bounds.push(parse_quote! {
                    #parameter: #krate::__private::Module + #krate::__private::ModuleDisplay
                });
            }
            if self.is_module(parameter) {
                bounds.push(parse_quote! { #parameter: #krate::Materialize });
            }
        }
        generics
    }

    pub(crate) fn reset(&self, krate: &TokenStream) -> Generics {
        let mut generics = self.generics.clone();
        let bounds = &mut generics.make_where_clause().predicates;
        for parameter in self
            .generics
            .type_params()
            .map(|parameter| &parameter.ident)
        {
            if self.is_module(parameter) {
                bounds.push(parse_quote! { #parameter: #krate::ResetParameters });
            }
        }
        generics
    }

    fn is_module(&self, parameter: &Ident) -> bool {
        self.modules.contains(parameter) && !self.skipped.contains(parameter)
    }
}

/// The type parameters that `ty` mentions by themselves (`T`, not `T::Output`), as Burn counts them.
fn mentioned(generics: &Generics, ty: &Type) -> HashSet<Ident> {
    struct Mentioned<'a> {
        generics: &'a Generics,
        found: HashSet<Ident>,
    }

    impl<'ast> Visit<'ast> for Mentioned<'_> {
        fn visit_type_path(&mut self, path: &'ast TypePath) {
            if path.qself.is_none()
                && let Some(ident) = path.path.get_ident()
                && self
                    .generics
                    .type_params()
                    .any(|parameter| parameter.ident == *ident)
            {
                self.found.insert(ident.clone());
            }
            syn::visit::visit_type_path(self, path);
        }
    }

    let mut mentioned = Mentioned {
        generics,
        found: HashSet::new(),
    };
    mentioned.visit_type(ty);
    mentioned.found
}
