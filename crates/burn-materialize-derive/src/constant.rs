//! What Burn's derive takes for a constant.

use syn::{GenericArgument, PathArguments, PathSegment, Type};

/// Burn decides by the syntax of the type, and calls no trait of a constant's type. Its rule
/// is repeated here to the letter, so that the two derives agree on every field.
pub(crate) fn is_constant(ty: &Type) -> bool {
    match ty {
        Type::Path(path) => path.path.segments.last().is_some_and(is_constant_segment),
        Type::Tuple(tuple) => tuple.elems.iter().all(is_constant),
        Type::Array(array) => is_constant(&array.elem),
        Type::Reference(reference) => is_constant(&reference.elem),
        Type::Ptr(pointer) => is_constant(&pointer.elem),
        Type::Paren(paren) => is_constant(&paren.elem),
        Type::Slice(slice) => is_constant(&slice.elem),
        _ => false,
    }
}

#[rustfmt::skip]
const PRIMITIVES: &[&str] = &[
    "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32", "i64", "i128",
    "isize", "f32", "f64", "String",
];

#[rustfmt::skip]
const CONTAINERS: &[&str] = &[
    "Option", "Result", "Vec", "Box", "Arc", "Weak", "HashMap", "BTreeMap", "HashSet", "BTreeSet",
    "VecDeque", "LinkedList", "BinaryHeap", "PhantomData", "Cell", "RefCell", "Mutex", "RwLock",
];

fn is_constant_segment(segment: &PathSegment) -> bool {
    let name = segment.ident.to_string();
    if PRIMITIVES.contains(&name.as_str()) {
        return true;
    }
    match &segment.arguments {
        PathArguments::AngleBracketed(arguments) if CONTAINERS.contains(&name.as_str()) => {
            arguments.args.iter().all(|argument| match argument {
                GenericArgument::Type(ty) => is_constant(ty),
                _ => false,
            })
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn constant(ty: &str) -> bool {
        is_constant(&syn::parse_str(ty).unwrap())
    }

    #[test]
    fn primitives_and_containers_of_nothing_else_are_constants() {
        for ty in [
            "f32",
            "std::string::String",
            "Option<[usize; 2]>",
            "(u8, &bool)",
            "()",
        ] {
            assert!(constant(ty), "{ty}");
        }
        for ty in [
            "f16",
            "Linear",
            "Vec<Linear>",
            "Block<f32>",
            "(usize, Linear)",
            "&str",
        ] {
            assert!(!constant(ty), "{ty}");
        }
    }
}
