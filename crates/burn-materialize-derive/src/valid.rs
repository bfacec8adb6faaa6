//! Validity: what each field is to the derives, and which attributes make sense on it.

use syn::{Error, Expr};

use crate::ast::{Field, Item};
use crate::attr::FieldAttributes;
use crate::constant::is_constant;
use crate::errors::{Errors, Namespace};

/// How a field is gone through.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Class {
    /// What Burn's derive takes for a constant: left alone.
    Constant,
    /// Burn goes past it: gone through if its type can be, left alone otherwise.
    Skipped,
    /// By Burn's own mapper.
    Foreign,
    /// By its own traversal.
    Module,
}

/// What a field's hook declares.
pub(crate) enum Hook {
    /// Nothing: there is no tensor, or its recorded value stands.
    Nothing,
    /// What its type's own hook declares.
    Own,
    /// The same, with an initialiser.
    Initializer(Expr),
    /// The value that a function gives.
    With(Expr),
}

/// A field, or a variant with its field, that can be expanded.
pub(crate) struct Checked<'a> {
    pub(crate) field: &'a Field<'a>,
    pub(crate) class: Class,
    pub(crate) hook: Hook,
}

pub(crate) fn check<'a>(item: &'a Item<'a>, errors: &mut Errors) -> Vec<Checked<'a>> {
    let fields = item.fields.iter();
    fields
        .map(|field| {
            let attributes = FieldAttributes::read(&field.attributes, errors);
            let class = class(field, &attributes);
            check_foreign(class, &attributes, errors);
            check_hook(class, &attributes, errors);
            let hook = hook(class, attributes);
            Checked { field, class, hook }
        })
        .collect()
}

fn class(field: &Field<'_>, attributes: &FieldAttributes) -> Class {
    if is_constant(field.ty) {
        Class::Constant
    } else if attributes.skip {
        Class::Skipped
    } else if attributes.foreign.is_some() {
        Class::Foreign
    } else {
        Class::Module
    }
}

fn hook(class: Class, attributes: FieldAttributes) -> Hook {
    match (class, attributes.with, attributes.initializer) {
        (Class::Constant | Class::Foreign, ..) => Hook::Nothing,
        (_, Some(with), _) => Hook::With(with.expr),
        (_, None, Some(initializer)) => Hook::Initializer(initializer.expr),
        (_, None, None) => Hook::Own,
    }
}

fn check_foreign(class: Class, attributes: &FieldAttributes, errors: &mut Errors) {
    let message = match class {
        Class::Constant => "a constant holds no tensor: remove `foreign`",
        Class::Skipped => {
            "Burn's mapper does not reach a `#[module(skip)]` field: remove `foreign`, or `skip`"
        }
        Class::Foreign | Class::Module => return,
    };
    if let Some(foreign) = attributes.foreign {
        errors.attribute(Namespace::Materialize, Error::new(foreign, message));
    }
}

fn check_hook(class: Class, attributes: &FieldAttributes, errors: &mut Errors) {
    let FieldAttributes {
        initializer,
        with,
        foreign,
        ..
    } = attributes;
    let mut reject = |span, message| {
        errors.attribute(Namespace::Reset, Error::new(span, message));
    };
    for (value, key) in [(initializer, "initializer"), (with, "with")] {
        let Some(value) = value else { continue };
        if class == Class::Constant {
            reject(
                value.key,
                format!("a constant has no initial value to declare: remove `{key}`"),
            );
        } else if foreign.is_some() {
            let message = format!(
                "a foreign field keeps what its constructor records: remove `{key}`, and set the \
                 initialiser where the field is constructed",
            );
            reject(value.key, message);
        }
    }
    match (initializer, with) {
        (Some(_), Some(with)) => {
            let message = "`with` and `initializer` both give the initial value: keep one";
            reject(with.key, message.to_owned());
        }
        (Some(initializer), None) if class == Class::Skipped => {
            let message = "an initialiser fills parameters, and a `#[module(skip)]` field has none: \
                           give its tensor a value by `with`";
            reject(initializer.key, message.to_owned());
        }
        _ => {}
    }
}
