//! The attributes: what `#[materialize(…)]`, `#[reset(…)]` and Burn's `#[module(…)]` say.

use proc_macro2::Span;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Error, Expr, ExprLit, ExprPath, Lit, Meta, Path, Token};

use crate::errors::{Errors, Namespace};

const NAMESPACES: [Namespace; 2] = [Namespace::Materialize, Namespace::Reset];

/// Where burn-materialize is, by `#[materialize(crate = …)]` or `#[reset(crate = …)]` on the struct
/// or enum. Either serves both derives; where both are given, each derive follows its own.
pub(crate) fn said_crate(
    attributes: &[Attribute],
    own: Namespace,
    errors: &mut Errors,
) -> Option<Path> {
    let mut said = None;
    for namespace in NAMESPACES {
        for entry in entries(attributes.iter(), namespace, &["crate"], errors) {
            match value(entry).and_then(path) {
                Ok(path) if said.is_none() || namespace == own => said = Some(path),
                Ok(_) => {}
                Err(error) => errors.attribute(namespace, error),
            }
        }
    }
    said
}

/// What the attributes of a field say.
#[derive(Default)]
pub(crate) struct FieldAttributes {
    /// `#[module(skip)]`
    pub(crate) skip: bool,
    /// `#[materialize(foreign)]`
    pub(crate) foreign: Option<Span>,
    /// `#[reset(initializer = …)]`
    pub(crate) initializer: Option<Value>,
    /// `#[reset(with = …)]`
    pub(crate) with: Option<Value>,
}

/// The value of a key.
pub(crate) struct Value {
    /// Where the key is written.
    pub(crate) key: Span,
    pub(crate) expr: Expr,
}

impl FieldAttributes {
    pub(crate) fn read(attributes: &[&Attribute], errors: &mut Errors) -> Self {
        let mut read = Self {
            skip: is_skipped(attributes),
            ..Self::default()
        };
        for namespace in NAMESPACES {
            let keys: &[_] = match namespace {
                Namespace::Materialize => &["foreign"],
                Namespace::Reset => &["initializer", "with"],
            };
            for entry in entries(attributes.iter().copied(), namespace, keys, errors) {
                if let Err(error) = read.set(entry) {
                    errors.attribute(namespace, error);
                }
            }
        }
        read
    }

    fn set(&mut self, entry: Meta) -> Result<(), Error> {
        let key = entry.path().span();
        if entry.path().is_ident("foreign") {
            self.foreign = Some(key);
            let takes_no_value = |_| Error::new(key, "`foreign` takes no value: write it alone");
            return entry
                .require_path_only()
                .map(|_| ())
                .map_err(takes_no_value);
        }
        let slot = if entry.path().is_ident("with") {
            &mut self.with
        } else {
            &mut self.initializer
        };
        *slot = Some(Value {
            key,
            expr: value(entry)?,
        });
        Ok(())
    }
}

/// Burn reports what is wrong in its own attribute.
fn is_skipped(attributes: &[&Attribute]) -> bool {
    let mut skip = false;
    for attribute in attributes
        .iter()
        .filter(|attribute| attribute.path().is_ident("module"))
    {
        let _ = attribute.parse_nested_meta(|meta| {
            skip |= meta.path.is_ident("skip");
            Ok(())
        });
    }
    skip
}

/// The entries of one namespace whose keys are known here, each key once.
fn entries<'a>(
    attributes: impl Iterator<Item = &'a Attribute>,
    namespace: Namespace,
    keys: &[&str],
    errors: &mut Errors,
) -> Vec<Meta> {
    let mut found: Vec<Meta> = Vec::new();
    for attribute in attributes.filter(|attribute| attribute.path().is_ident(namespace.name())) {
        let parse = Punctuated::<Meta, Token![,]>::parse_terminated;
        let entries = match attribute.parse_args_with(parse) {
            Ok(entries) => entries,
            Err(error) => {
                errors.attribute(namespace, error);
                continue;
            }
        };
        for entry in entries {
            let path = entry.path();
            let message = if !keys.iter().any(|key| path.is_ident(key)) {
                unknown(path, namespace, keys)
            } else if found.iter().any(|other| text(other.path()) == text(path)) {
                format!("`{}` is given twice: keep one", text(path))
            } else {
                found.push(entry);
                continue;
            };
            errors.attribute(namespace, Error::new(path.span(), message));
        }
    }
    found
}

fn unknown(path: &Path, namespace: Namespace, keys: &[&str]) -> String {
    let (key, name) = (text(path), namespace.name());
    let elsewhere = match key.as_str() {
        "crate" => Some("the struct or enum"),
        "foreign" if namespace == Namespace::Materialize => Some("a field"),
        "initializer" | "with" if namespace == Namespace::Reset => Some("a field"),
        _ => None,
    };
    if let Some(place) = elsewhere {
        return format!("`{key}` belongs to {place}: move `#[{name}({key} …)]` there");
    }
    let known: Vec<_> = keys.iter().map(|key| format!("`{key}`")).collect();
    format!(
        "`#[{name}(…)]` knows no `{key}` here, only {}",
        known.join(" and ")
    )
}

fn text(path: &Path) -> String {
    let segments: Vec<_> = path
        .segments
        .iter()
        .map(|segment| segment.ident.to_string())
        .collect();
    segments.join("::")
}

fn value(entry: Meta) -> Result<Expr, Error> {
    let key = text(entry.path());
    let Meta::NameValue(entry) = entry else {
        return Err(Error::new(
            entry.path().span(),
            format!("`{key}` needs a value: `{key} = …`"),
        ));
    };
    if let Expr::Lit(ExprLit {
        lit: Lit::Str(text),
        ..
    }) = &entry.value
    {
        let message = format!("write code, not text: `{key} = {}`", text.value());
        return Err(Error::new(text.span(), message));
    }
    Ok(entry.value)
}

fn path(expr: Expr) -> Result<Path, Error> {
    match expr {
        Expr::Path(ExprPath {
            qself: None, path, ..
        }) => Ok(path),
        other => Err(Error::new(
            other.span(),
            "`crate` is a path: `crate = some::path`",
        )),
    }
}
