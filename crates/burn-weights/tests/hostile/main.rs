//! Files that somebody made to do harm, or that came to harm: each is a typed error that names the
//! file, the tensor and the place, and none a panic, an abort, a wait or a large allocation.

mod burnpack;
mod folder;
mod index;
#[cfg(unix)]
mod links;
mod pickle;
mod pytorch;
mod safetensors;
mod values;

#[path = "../support/mod.rs"]
mod support;
