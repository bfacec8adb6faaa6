//! The code blocks of the README and of the pages beside this file are doc tests, so that they
//! keep compiling. A package of its own, since a published crate cannot include files outside it.

#[cfg(doctest)]
mod pages {
    #[doc = include_str!("../README.md")]
    pub struct Readme;

    #[doc = include_str!("architecture.md")]
    pub struct Architecture;

    #[doc = include_str!("errors.md")]
    pub struct Errors;
}
