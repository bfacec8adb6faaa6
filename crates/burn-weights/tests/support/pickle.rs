//! Pickles from opcodes.

/// A pickle that is being written.
#[derive(Clone)]
pub struct Pickle(pub Vec<u8>);

/// A tensor as PyTorch pickles it.
#[derive(Clone, Copy)]
pub struct Tensor<'a> {
    pub class: &'a str,
    pub key: &'a str,
    /// What the storage is said to have.
    pub values: i64,
    pub offset: i64,
    pub shape: &'a [i64],
    pub stride: &'a [i64],
}

impl<'a> Tensor<'a> {
    /// All of a storage of `f32`.
    pub fn whole(key: &'a str, shape: &'a [i64], stride: &'a [i64]) -> Self {
        Self {
            class: "FloatStorage",
            key,
            values: shape.iter().product(),
            offset: 0,
            shape,
            stride,
        }
    }
}

impl Default for Pickle {
    fn default() -> Self {
        Self::new()
    }
}

impl Pickle {
    pub fn new() -> Self {
        Self(vec![0x80, 2])
    }

    pub fn op(mut self, bytes: impl AsRef<[u8]>) -> Self {
        self.0.extend_from_slice(bytes.as_ref());
        self
    }

    /// What `add` adds, `count` times.
    pub fn times(mut self, count: usize, add: impl Fn(Self, usize) -> Self) -> Self {
        for turn in 0..count {
            self = add(self, turn);
        }
        self
    }

    pub fn text(self, text: &str) -> Self {
        let length = text.len() as u32;
        self.op(b"X").op(length.to_le_bytes()).op(text)
    }

    pub fn int(self, number: i64) -> Self {
        match i32::try_from(number) {
            Ok(number) => self.op(b"J").op(number.to_le_bytes()),
            Err(_) => self.op([0x8a, 8]).op(number.to_le_bytes()),
        }
    }

    pub fn class(self, module: &str, name: &str) -> Self {
        self.op(format!("c{module}\n{name}\n"))
    }

    pub fn ints(self, numbers: &[i64]) -> Self {
        let numbers = numbers.iter();
        numbers
            .fold(self.op(b"("), |pickle, number| pickle.int(*number))
            .op(b"t")
    }

    pub fn storage(self, class: &str, key: &str, values: i64) -> Self {
        let id = self.op(b"(").text("storage").class("torch", class);
        id.text(key).text("cpu").int(values).op(b"tQ")
    }

    pub fn tensor(self, tensor: Tensor) -> Self {
        let args = self
            .class("torch._utils", "_rebuild_tensor_v2")
            .op(b"(")
            .storage(tensor.class, tensor.key, tensor.values);
        let args = args
            .int(tensor.offset)
            .ints(tensor.shape)
            .ints(tensor.stride);
        let hooks = args
            .op([0x89])
            .class("collections", "OrderedDict")
            .op(b")R");
        hooks.op(b"tR")
    }

    /// A dict with one entry, if nothing was there before.
    pub fn entry(self, name: &str, value: impl Fn(Self) -> Self) -> Self {
        value(self.text(name)).op(b"s")
    }

    pub fn stop(self) -> Vec<u8> {
        self.op(b".").0
    }

    /// A dict of one tensor in storage `0`.
    pub fn state_dict(name: &str, tensor: Tensor) -> Vec<u8> {
        let dict = Self::new().op(b"}");
        dict.entry(name, |pickle| pickle.tensor(tensor)).stop()
    }
}
