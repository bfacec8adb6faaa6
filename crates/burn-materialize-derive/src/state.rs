//! `derive(TrainingState)`: every field is a part under its own name.

use proc_macro2::{Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Ident, Path};

use crate::krate;

/// How a field is kept.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kept {
    Part,
    Serde,
    Skip,
}

pub(crate) fn derive(input: &DeriveInput) -> TokenStream {
    let mut errors: Option<Error> = None;
    let mut report = |error: Error| match &mut errors {
        Some(errors) => errors.combine(error),
        None => errors = Some(error),
    };
    let said = said_crate(&input.attrs).unwrap_or_else(|error| {
        report(error);
        None
    });
    let burn_fabric = krate::burn_fabric(said, &input.ident).unwrap_or_else(|error| {
        report(error);
        quote!(::burn_fabric)
    });
    let fields = named_fields(input).unwrap_or_else(|error| {
        report(error);
        Vec::new()
    });
    let (mut saves, mut loads) = (Vec::new(), Vec::new());
    for (ident, field) in fields {
        let kept = kept(&field.attrs).unwrap_or_else(|error| {
            report(error);
            Kept::Skip
        });
        let method = match kept {
            Kept::Part => Ident::new("part", Span::call_site()),
            Kept::Serde => Ident::new("value", Span::call_site()),
            Kept::Skip => continue,
        };
        let name = ident.unraw().to_string();
        // At the field's type, so that the compiler points at what is no part.
        let at = Span::call_site().located_at(field.ty.span());
        saves.push(quote_spanned!(at=> saving.#method(#name, &self.#ident);));
        loads.push(quote_spanned!(at=> loading.#method(#name, &mut self.#ident);));
    }
    let errors = errors.map(|errors| errors.to_compile_error());
    let name = &input.ident;
    let (generics, type_generics, bounds) = input.generics.split_for_impl();
    quote! {
        #errors

        #[automatically_derived]
        impl #generics #burn_fabric::TrainingState for #name #type_generics #bounds {
            #[allow(unused_variables)]
            fn save_state(&self, saving: &mut #burn_fabric::Saving) {
                #(#saves)*
            }

            #[allow(unused_variables)]
            fn load_state<'__state>(
                &'__state mut self,
                loading: &mut #burn_fabric::Loading<'__state>,
            ) {
                #(#loads)*
            }
        }
    }
}

fn named_fields(input: &DeriveInput) -> Result<Vec<(&Ident, &Field)>, Error> {
    let message =
        "a training state is a struct with named fields: the names are those of its parts";
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => {
                let fields = fields.named.iter();
                Ok(fields
                    .filter_map(|field| Some((field.ident.as_ref()?, field)))
                    .collect())
            }
            Fields::Unnamed(_) | Fields::Unit => Err(Error::new(input.ident.span(), message)),
        },
        Data::Enum(_) | Data::Union(_) => Err(Error::new(input.ident.span(), message)),
    }
}

/// Read the words in `#[state(…)]`.
fn words(
    attributes: &[Attribute],
    mut word: impl FnMut(&syn::meta::ParseNestedMeta<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    let mut attributes = attributes.iter().filter(|one| one.path().is_ident("state"));
    attributes.try_for_each(|attribute| attribute.parse_nested_meta(|meta| word(&meta)))
}

fn kept(attributes: &[Attribute]) -> Result<Kept, Error> {
    let mut kept = Kept::Part;
    words(attributes, |meta| {
        let now = if meta.path.is_ident("serde") {
            Kept::Serde
        } else if meta.path.is_ident("skip") {
            Kept::Skip
        } else {
            return Err(meta.error("expected `serde` or `skip`"));
        };
        if kept != Kept::Part {
            return Err(meta.error("a field is kept in one way: say `serde` or `skip`, once"));
        }
        kept = now;
        Ok(())
    })?;
    Ok(kept)
}

fn said_crate(attributes: &[Attribute]) -> Result<Option<Path>, Error> {
    let mut said = None;
    words(attributes, |meta| {
        if !meta.path.is_ident("crate") {
            return Err(meta.error("expected `crate = some::path`"));
        }
        said = Some(meta.value()?.parse()?);
        Ok(())
    })?;
    Ok(said)
}
