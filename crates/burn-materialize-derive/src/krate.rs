//! Where the generated code finds burn-materialize and burn-fabric.

use proc_macro_crate::{FoundCrate, crate_name};
use proc_macro2::TokenStream;
use quote::{ToTokens, format_ident, quote};
use syn::{Error, Ident, Path};

/// The path of burn-materialize: what the user says, else a dependency under whatever name.
pub(crate) fn path(said: Option<Path>, item: &Ident) -> Result<TokenStream, Error> {
    if let Some(path) = said {
        return Ok(path.into_token_stream());
    }
    if let Ok(found) = crate_name("burn-materialize") {
        let name = match found {
            // Its own tests and examples see it as any other crate, and its `lib.rs` gives it
            // its own name.
            FoundCrate::Itself => format_ident!("burn_materialize"),
            FoundCrate::Name(name) => format_ident!("{name}"),
        };
        return Ok(quote!(::#name));
    }
    if let Ok(FoundCrate::Name(name)) = crate_name("burn-fabric") {
        let name = format_ident!("{name}");
        return Ok(quote!(::#name::burn_materialize));
    }
    let message = "neither burn-fabric nor burn-materialize is a dependency of this crate: add \
                   one, or say where it is with `#[materialize(crate = some::path)]`";
    Err(Error::new(item.span(), message))
}

/// The path of burn-fabric, in the same way.
pub(crate) fn burn_fabric(said: Option<Path>, item: &Ident) -> Result<TokenStream, Error> {
    if let Some(path) = said {
        return Ok(path.into_token_stream());
    }
    let name = match crate_name("burn-fabric") {
        Ok(FoundCrate::Itself) => format_ident!("burn_fabric"),
        Ok(FoundCrate::Name(name)) => format_ident!("{name}"),
        Err(_) => {
            let message = "burn-fabric is no dependency of this crate: add it, or say where it is \
                           with `#[state(crate = some::path)]`";
            return Err(Error::new(item.span(), message));
        }
    };
    Ok(quote!(::#name))
}
