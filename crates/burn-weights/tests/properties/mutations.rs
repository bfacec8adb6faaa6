//! Changes of files, as damage and malice make them.

use proptest::prelude::*;
use proptest::sample::Index;

use crate::support::{burnpack, safetensors, torch};

/// What tells formats apart.
pub const BEGINNINGS: [&[u8]; 9] = [
    b"",
    b"{",
    b"{\"weight_map\":{",
    b"\x40\0\0\0\0\0\0\0{",
    b"\x40\0\0\0\0\0\0\0{\"a\":{\"dtype\":\"U8\",\"shape\":[",
    b"NRUB\x01\0\x20\0\0\0\xa2\x67tensors",
    b"PK\x03\x04",
    b"\x80\x02",
    b"\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19.\x80\x02M\xe9\x03.",
];

#[derive(Clone, Debug)]
pub enum Change {
    Bit(Index, u8),
    Byte(Index, u8),
    /// Numbers that are often too large or just right.
    Number(Index, u64, usize),
    Cut(Index, usize),
    Truncate(Index),
    Insert(Index, Vec<u8>),
    /// A piece of the same file, or of another, somewhere else.
    Splice(Index, Index, usize, u8),
}

pub fn changes() -> impl Strategy<Value = Vec<Change>> {
    let index = any::<Index>;
    let numbers = vec![
        0,
        1,
        0x7f,
        0xff,
        0xffff,
        1 << 31,
        u32::MAX.into(),
        1 << 40,
        u64::MAX,
    ];
    let change = prop_oneof![
        (index(), 0_u8..8).prop_map(|(at, bit)| Change::Bit(at, bit)),
        (index(), any::<u8>()).prop_map(|(at, byte)| Change::Byte(at, byte)),
        (index(), prop::sample::select(numbers), 1_usize..9)
            .prop_map(|(at, number, bytes)| Change::Number(at, number, bytes)),
        (index(), 1_usize..40).prop_map(|(at, len)| Change::Cut(at, len)),
        index().prop_map(Change::Truncate),
        (index(), prop::collection::vec(any::<u8>(), 1..20))
            .prop_map(|(at, bytes)| Change::Insert(at, bytes)),
        (index(), index(), 1_usize..80, 0_u8..5)
            .prop_map(|(to, from, len, file)| Change::Splice(to, from, len, file)),
    ];
    prop::collection::vec(change, 0..5)
}

pub fn apply(mut content: Vec<u8>, changes: &[Change]) -> Vec<u8> {
    for change in changes {
        let len = content.len();
        if len == 0 {
            break;
        }
        match change {
            Change::Bit(at, bit) => content[at.index(len)] ^= 1 << bit,
            Change::Byte(at, byte) => content[at.index(len)] = *byte,
            Change::Number(at, number, bytes) => {
                let at = at.index(len);
                let bytes = (*bytes).min(len - at);
                content[at..at + bytes].copy_from_slice(&number.to_le_bytes()[..bytes]);
            }
            Change::Cut(at, bytes) => {
                let at = at.index(len);
                content.drain(at..len.min(at + bytes));
            }
            Change::Truncate(at) => content.truncate(at.index(len)),
            Change::Insert(at, bytes) => {
                let at = at.index(len);
                content.splice(at..at, bytes.iter().copied());
            }
            Change::Splice(to, from, bytes, file) => {
                let source = match file {
                    0 => safetensors::sample(),
                    1 => burnpack::sample(),
                    2 => torch::sample(),
                    _ => content.clone(),
                };
                let from = from.index(source.len());
                let piece = &source[from..source.len().min(from + bytes)];
                let to = to.index(len);
                content.splice(to..to, piece.iter().copied());
            }
        }
    }
    content
}
