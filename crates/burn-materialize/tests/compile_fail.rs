//! What does not compile, and what the compiler says then: one folder a kind of mistake.
//!
//! `TRYBUILD=overwrite cargo test -p burn-materialize --test compile_fail` rewrites the expected
//! messages; read the difference before you commit it.

#[test]
fn mistakes_are_reported_at_their_place() {
    let cases = trybuild::TestCases::new();
    cases.compile_fail("tests/ui/attributes/*.rs");
    cases.compile_fail("tests/ui/shapes/*.rs");
    cases.compile_fail("tests/ui/traits/*.rs");
}
