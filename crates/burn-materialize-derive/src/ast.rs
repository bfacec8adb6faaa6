//! The syntax tree: what of the user's item the derives look at.

use syn::{Attribute, Data, DeriveInput, Error, Fields, Generics, Ident, Type};

use crate::errors::Errors;

/// A struct with named fields, or an enum of one unnamed field a variant.
pub(crate) struct Item<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) generics: &'a Generics,
    pub(crate) kind: Kind,
    pub(crate) fields: Vec<Field<'a>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Struct,
    Enum,
}

/// A field of a struct, or a variant of an enum with the field in it.
pub(crate) struct Field<'a> {
    /// The name of the field, or of the variant.
    pub(crate) ident: &'a Ident,
    pub(crate) ty: &'a Type,
    pub(crate) attributes: Vec<&'a Attribute>,
}

impl<'a> Item<'a> {
    /// Whatever of `input` is well-formed; the rest is reported.
    pub(crate) fn read(input: &'a DeriveInput, errors: &mut Errors) -> Self {
        let (kind, fields) = match &input.data {
            Data::Struct(data) => (Kind::Struct, named_fields(&data.fields, errors)),
            Data::Enum(data) => {
                let variants = data.variants.iter();
                (
                    Kind::Enum,
                    variants
                        .filter_map(|variant| only_field(variant, errors))
                        .collect(),
                )
            }
            Data::Union(data) => {
                let message = "a union cannot be a module: use an enum with one unnamed field in \
                               each variant";
                errors.shape(Error::new(data.union_token.span, message));
                (Kind::Struct, Vec::new())
            }
        };
        Self {
            ident: &input.ident,
            generics: &input.generics,
            kind,
            fields,
        }
    }

    /// What Burn's visitors are told of this type.
    pub(crate) fn container(&self) -> String {
        match self.kind {
            Kind::Struct => format!("Struct:{}", self.ident),
            Kind::Enum => format!("Enum:{}", self.ident),
        }
    }
}

impl Field<'_> {
    /// The name in a path. Burn's derive keeps the `r#` of a raw identifier, and so do we.
    pub(crate) fn name(&self) -> String {
        self.ident.to_string()
    }
}

fn named_fields<'a>(fields: &'a Fields, errors: &mut Errors) -> Vec<Field<'a>> {
    if matches!(fields, Fields::Unnamed(unnamed) if !unnamed.unnamed.is_empty()) {
        let message = "a module has named fields, since paths of tensors are made of their names: \
                       write `{ name: Type }`";
        errors.shape(Error::new_spanned(fields, message));
    }
    fields
        .iter()
        .filter_map(|field| {
            let ident = field.ident.as_ref()?;
            Some(Field {
                ident,
                ty: &field.ty,
                attributes: field.attrs.iter().collect(),
            })
        })
        .collect()
}

fn only_field<'a>(variant: &'a syn::Variant, errors: &mut Errors) -> Option<Field<'a>> {
    let ident = &variant.ident;
    match &variant.fields {
        Fields::Unnamed(fields) if fields.unnamed.len() == 1 => {
            let field = &fields.unnamed[0];
            let attributes = variant.attrs.iter().chain(&field.attrs).collect();
            Some(Field {
                ident,
                ty: &field.ty,
                attributes,
            })
        }
        Fields::Unit => {
            let message = format!(
                "a variant of a module holds exactly one unnamed field: write `{ident}(Type)`, \
                 with a struct without fields where there is nothing to hold",
            );
            errors.shape(Error::new(ident.span(), message));
            None
        }
        fields => {
            let message = format!(
                "a variant of a module holds exactly one unnamed field: write `{ident}(Type)`, \
                 with the fields in a struct of their own that derives the same traits",
            );
            errors.shape(Error::new_spanned(fields, message));
            None
        }
    }
}
