//! What does not compile, with the help the compiler gives.

#[test]
fn misuse_does_not_compile() {
    compile_fail::refuses(&["tests/ui"]);
}
