//! What does not compile, and what the compiler says then: one folder a kind of mistake.

#[test]
fn mistakes_are_reported_at_their_place() {
    compile_fail::refuses(&["tests/ui/attributes", "tests/ui/shapes", "tests/ui/traits"]);
}
