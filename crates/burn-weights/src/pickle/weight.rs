//! What objects of a pickle take in memory.

/// What making one object takes at worst: an entry on the stack while the stack doubles, and a
/// place in a table that is half empty.
const MADE: u64 = 512;

/// What a copy of one takes, whose room is known beforehand.
const COPIED: u64 = 256;

/// What a path has for each place in a list.
const INDEX: u64 = 8;

/// The digits of a number as a key.
const DIGITS: u64 = 20;

/// What a step of the reader takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Cost {
    pub(super) bytes: u64,
    /// Bytes of text, which an error message may have in it escaped.
    pub(super) text: u64,
}

/// An object, by what it takes.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Weight {
    /// Objects, with those within.
    nodes: u64,
    /// Bytes of text within.
    text: u64,
    /// Tensors within.
    tensors: u64,
    /// Bytes of their names, from here on.
    pub(super) names: u64,
    /// Bytes that it adds to a path as a key, or that what a call makes of it may add.
    key: u64,
    /// Items directly within.
    items: u64,
    /// Where the memo holds it; setting its state changes it there as well.
    pub(super) memo: Option<u32>,
}

impl Weight {
    pub(super) fn scalar() -> Self {
        Self {
            nodes: 1,
            key: DIGITS,
            ..Self::default()
        }
    }

    pub(super) fn text(bytes: u64) -> Self {
        Self {
            nodes: 1,
            text: bytes,
            key: bytes,
            ..Self::default()
        }
    }

    /// A list or a dict without items.
    pub(super) fn empty() -> Self {
        Self {
            nodes: 1,
            ..Self::default()
        }
    }

    /// A storage, by its persistent id: it keeps the texts of it.
    pub(super) fn storage(id: &Self) -> Self {
        Self {
            text: id.text,
            ..Self::empty()
        }
    }

    /// A call may return one of its arguments, or a text among them.
    pub(super) fn tuple(items: &[Self]) -> Self {
        let key = items.iter().map(|item| item.key).max();
        Self {
            key: key.unwrap_or(0),
            ..Self::list(items)
        }
    }

    pub(super) fn list(items: &[Self]) -> Self {
        let mut list = Self::empty();
        list.extend(items);
        list
    }

    /// What comes of a call: it has in it what went in, and may be a tensor.
    pub(super) fn call(parts: &[Self]) -> Self {
        let merged = Self::state(parts);
        Self {
            tensors: merged.tensors.max(1),
            ..merged
        }
    }

    /// Objects that become one.
    pub(super) fn state(parts: &[Self]) -> Self {
        let sum = |count: fn(&Self) -> u64| parts.iter().map(count).fold(0, u64::saturating_add);
        Self {
            nodes: sum(|part| part.nodes),
            text: sum(|part| part.text),
            tensors: sum(|part| part.tensors),
            names: sum(|part| part.names),
            key: parts.iter().map(|part| part.key).max().unwrap_or(0),
            items: 0,
            memo: None,
        }
    }

    /// Take items in by place. Two of them may turn out to be a key and its value.
    pub(super) fn extend(&mut self, items: &[Self]) {
        for item in items {
            let component = match (self.items, self.nodes) {
                // With nothing but one text or number in it so far.
                (1, 2) => DIGITS.max(self.text),
                _ => INDEX,
            };
            self.hold(item, component);
        }
    }

    /// Take keys and values in.
    pub(super) fn insert(&mut self, pairs: &[Self]) {
        for pair in pairs.chunks(2) {
            for item in pair {
                self.hold(item, pair[0].key);
            }
        }
    }

    /// Take `item` in, whose tensors get `component` bytes and a dot more to their paths.
    fn hold(&mut self, item: &Self, component: u64) {
        let longer = item.tensors.saturating_mul(component.saturating_add(1));
        self.nodes = self.nodes.saturating_add(item.nodes);
        self.text = self.text.saturating_add(item.text);
        self.tensors = self.tensors.saturating_add(item.tensors);
        self.names = self.names.saturating_add(item.names).saturating_add(longer);
        self.items += 1;
    }

    /// What making it took, its parts being there.
    pub(super) fn made(&self) -> Cost {
        Cost {
            bytes: MADE,
            text: if self.items == 0 { self.text } else { 0 },
        }
    }

    /// What a copy of it takes.
    pub(super) fn copied(&self) -> Cost {
        Cost {
            bytes: self.nodes.saturating_mul(COPIED),
            text: self.text,
        }
    }
}
