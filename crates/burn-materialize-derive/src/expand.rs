//! Expansion: the implementations.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote, quote_spanned};
use syn::{DeriveInput, Type};

use crate::ast::{Field, Item, Kind};
use crate::attr::said_crate;
use crate::bounds::Parameters;
use crate::errors::{Errors, Namespace};
use crate::krate;
use crate::valid::{Checked, Class, Hook, check};

/// The implementation of the trait that `derive` stands for, or what is wrong and a stub, so that
/// no other message follows from the mistake.
pub(crate) fn derive(input: &DeriveInput, derive: Namespace) -> TokenStream {
    let mut errors = Errors::new(derive);
    let item = Item::read(input, &mut errors);
    let said = said_crate(&input.attrs, derive, &mut errors);
    let fields = check(&item, &mut errors);
    let krate = match krate::path(said, item.ident) {
        Ok(krate) => krate,
        Err(error) => {
            errors.shape(error);
            return errors.report();
        }
    };
    let expansion = Expansion {
        item: &item,
        krate,
        stub: errors.any(),
    };
    let implementation = match derive {
        // Burn's derive fails as well, and without `Module` there can be no `Materialize`.
        Namespace::Materialize if !errors.is_module() => TokenStream::new(),
        Namespace::Materialize => expansion.materialize(&fields),
        Namespace::Reset => expansion.reset_parameters(&fields),
    };
    let report = errors.report();
    quote! {
        #report
        const _: () = {
            #implementation
        };
    }
}

struct Expansion<'a> {
    item: &'a Item<'a>,
    krate: TokenStream,
    stub: bool,
}

impl Expansion<'_> {
    fn materialize(&self, fields: &[Checked<'_>]) -> TokenStream {
        let Self {
            item:
                Item {
                    ident,
                    generics,
                    kind,
                    ..
                },
            krate,
            stub,
        } = self;
        let traversal = local("traversal");
        let body = match kind {
            _ if *stub => quote!(self),
            Kind::Struct => {
                let fields = fields
                    .iter()
                    .filter(|checked| checked.class != Class::Constant);
                let assignments = fields.map(|checked| {
                    let name = checked.field.ident;
                    let value = self.traversed(checked, &traversal, &of_self(checked.field));
                    quote!(self.#name = #value;)
                });
                quote!(#(#assignments)* self)
            }
            Kind::Enum => {
                let arms = fields.iter().map(|checked| {
                    let variant = checked.field.ident;
                    let module = local_at("module", checked.field.ty).into_token_stream();
                    let value = self.traversed(checked, &traversal, &module);
                    quote!(Self::#variant(#module) => Self::#variant(#value),)
                });
                quote!(match self { #(#arms)* })
            }
        };
        let generics_here = Parameters::new(generics, fields).materialize(krate);
        let (parameters, _, bounds) = generics_here.split_for_impl();
        let (_, arguments, _) = generics.split_for_impl();
        quote! {
            #[allow(unused_imports)]
            use #krate::__private::{LeaveField as _, TraverseField as _};

            #[automatically_derived]
            impl #parameters #krate::Materialize for #ident #arguments #bounds {
                #[allow(unused_mut, unused_variables)]
                fn traverse(mut self, #traversal: &mut #krate::Traversal<'_>) -> Self {
                    #body
                }
            }
        }
    }

    /// What comes back for one field that was handed over by value.
    fn traversed(
        &self,
        checked: &Checked<'_>,
        traversal: &Ident,
        module: &TokenStream,
    ) -> TokenStream {
        let (krate, name, container) = (&self.krate, checked.field.name(), self.item.container());
        match checked.class {
            Class::Constant => module.clone(),
            Class::Skipped => quote! {
                (&#krate::__private::Probe::of(&#module))
                    .traverse_field(#traversal, #name, #container, #module)
            },
            Class::Foreign => quote! {
                #krate::__private::foreign_field(#traversal, #name, #container, #module)
            },
            Class::Module => quote! {
                #krate::Traversal::field(#traversal, #name, #container, #module)
            },
        }
    }

    fn reset_parameters(&self, fields: &[Checked<'_>]) -> TokenStream {
        let Self {
            item:
                Item {
                    ident,
                    generics,
                    kind,
                    ..
                },
            krate,
            stub,
        } = self;
        let plan = local("plan");
        let body = match kind {
            _ if *stub => TokenStream::new(),
            Kind::Struct => {
                let declarations = fields.iter().map(|checked| {
                    let module = of_self(checked.field);
                    let reference = quote_spanned!(ends(checked.field.ty).0=> &);
                    self.declared(checked, &plan, &quote!(#reference #module))
                });
                declarations.collect()
            }
            Kind::Enum => {
                let arms = fields.iter().map(|checked| {
                    let variant = checked.field.ident;
                    let module = local_at("module", checked.field.ty).into_token_stream();
                    let declaration = self.declared(checked, &plan, &module);
                    quote!(Self::#variant(#module) => { #declaration })
                });
                quote!(match self { #(#arms)* })
            }
        };
        let generics_here = Parameters::new(generics, fields).reset(krate);
        let (parameters, _, bounds) = generics_here.split_for_impl();
        let (_, arguments, _) = generics.split_for_impl();
        quote! {
            #[allow(unused_imports)]
            use #krate::__private::{DeclareField as _, RecordedField as _};

            #[automatically_derived]
            impl #parameters #krate::ResetParameters for #ident #arguments #bounds {
                #[allow(unused_variables)]
                fn reset_parameters(&self, #plan: &mut #krate::InitPlan<'_>) {
                    #body
                }
            }
        }
    }

    /// The statement that declares one field's initial values; `module` is a reference to it.
    fn declared(&self, checked: &Checked<'_>, plan: &Ident, module: &TokenStream) -> TokenStream {
        let (krate, name) = (&self.krate, checked.field.name());
        match &checked.hook {
            Hook::Nothing => TokenStream::new(),
            Hook::Own => quote! {
                (&#krate::__private::Probe::of(#module)).declare_field(#plan, #name, #module);
            },
            Hook::Initializer(initializer) => quote! {
                (&#krate::__private::Probe::of(#module))
                    .declare_field_with(#plan, #name, #module, #initializer);
            },
            Hook::With(with) => quote! {
                #krate::InitPlan::value_with(#plan, #name, #module, #with);
            },
        }
    }
}

/// A local variable of the generated code, which no name in the user's scope can be confused with.
fn local(name: &str) -> Ident {
    Ident::new(name, Span::mixed_site())
}

fn local_at(name: &str, ty: &Type) -> Ident {
    Ident::new(name, Span::mixed_site().located_at(ends(ty).0))
}

/// `self.field`, placed where the field's type is written: a type that is no module is reported
/// there.
fn of_self(field: &Field<'_>) -> TokenStream {
    let (start, end) = ends(field.ty);
    let this = Ident::new("self", start);
    let mut name = field.ident.clone();
    name.set_span(end.resolved_at(name.span()));
    quote_spanned!(end=> #this.#name)
}

/// The first and the last token of a type: together they make the compiler underline all of it.
fn ends(ty: &Type) -> (Span, Span) {
    let mut spans = ty.to_token_stream().into_iter().map(|token| token.span());
    let start = spans.next().unwrap_or_else(Span::call_site);
    (start, spans.last().unwrap_or(start))
}

#[cfg(test)]
mod tests {
    use proc_macro2::TokenTree;
    use syn::parse_quote;

    use super::*;

    fn names(tokens: TokenStream, found: &mut Vec<String>) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => names(group.stream(), found),
                TokenTree::Ident(name) => found.push(name.to_string()),
                TokenTree::Punct(_) | TokenTree::Literal(_) => {}
            }
        }
    }

    #[test]
    fn burn_is_named_through_this_crate_only() {
        let item = parse_quote! {
            #[materialize(crate = fabric)]
            struct Model<M, S> {
                module: M,
                #[module(skip)]
                skipped: S,
                #[materialize(foreign)]
                foreign: Other,
                #[reset(initializer = Zeros)]
                initialized: Layer,
                #[reset(with = ones)]
                with: Buffer,
                constant: usize,
            }
        };
        for namespace in [Namespace::Materialize, Namespace::Reset] {
            let mut found = Vec::new();
            names(derive(&item, namespace), &mut found);
            assert!(found.iter().any(|name| name == "fabric"));
            assert!(
                !found.iter().any(|name| name.starts_with("burn")),
                "{found:?}"
            );
            assert!(
                !found.iter().any(|name| name == "compile_error"),
                "{found:?}"
            );
        }
    }
}
