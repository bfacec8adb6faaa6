//! What a pass would take on flex, burn's CPU device, found by running its recording on tensors that
//! have layouts and no bytes.

/// Methods that differ in their names only.
macro_rules! each {
    ($(fn $arguments:tt -> $out:ty = $body:expr; for $($name:ident),+ $(,)?);+ $(;)?) => {
        $($(
            fn $name $arguments -> $out {
                $body
            }
        )+)+
    };
}

mod backend;
mod bool;
mod float;
mod ghost;
mod int;
mod kernels;
mod layers;
mod module;
mod run;

pub use ghost::HalfPrecision;
pub use run::LiveBytes;
pub(crate) use run::run;
