//! Counter-based random generator for the initial values of tensors.
//!
//! Every element is a pure function of the seed, the path of the tensor, the number of the draw,
//! the distribution, the dtype and the element's row-major index. Nothing else takes part: not the
//! order in which tensors are filled, the number of threads, the instruction set, the device or the
//! machine. A golden file in the tests holds the bits; changing them changes every user's weights.
//!
//! # From the key to the words
//!
//! [`DrawKey::new`] hashes `(seed, path, draw)` with SHA-256 into a Philox4x32-10 key (64 bits) and
//! the upper half of the counter (64 bits). The lower half of the counter is the block index. A
//! block is four 32-bit words; a *group* is 16 consecutive blocks, so 64 words.
//!
//! # From the words to the elements
//!
//! With word `w` of block `16 * g + l` written `(g, w, l)`:
//!
//! | Lane     | Index                  | Bits                                                   |
//! |----------|------------------------|--------------------------------------------------------|
//! | 32 bits  | `g * 64 + w * 16 + l`  | word `w`                                               |
//! | 64 bits  | `g * 32 + h * 16 + l`  | words `2 * h` (low half) and `2 * h + 1` (high half)   |
//! | 128 bits | `g * 16 + l`           | words 0 (lowest) to 3 (highest)                        |
//!
//! Lane `i` makes element `i`. The one exception is the normal distribution, whose elements come in
//! pairs from two lanes of a block: the even lane gives the radius and the odd one the angle, the
//! cosine goes to the place of the even lane and the sine to the place of the odd one.
//!
//! | Distribution          | `f32`, `flex32`, `f16`, `bf16` | `f64`    | `i8`–`i32`, `u8`–`u32` | `i64`, `u64` |
//! |-----------------------|--------------------------------|----------|------------------------|--------------|
//! | `Default`, floats     | 32 bits                        | 64 bits  |                        |              |
//! | `Default`, integers   |                                |          | 32 bits                | 64 bits      |
//! | `Uniform`             | 32 bits                        | 64 bits  | 64 bits                | 128 bits     |
//! | `Normal`              | 32 bits                        | 64 bits  | 64 bits                | 64 bits      |
//! | `Bernoulli`           | 32 bits                        | 32 bits  | 32 bits                | 32 bits      |
//!
//! Floating-point arithmetic is IEEE 754 addition, subtraction, multiplication, division and square
//! root, each rounded by itself. No fused multiply-add and no function of the system's mathematics
//! library takes part, because those differ between machines.

mod bernoulli;
mod error;
mod fill;
mod integer;
mod key;
mod math32;
mod math64;
mod normal;
mod philox;
mod rounding;
mod sampler;
mod simd;
mod uniform;

pub use error::GeneratorError;
pub use fill::{check, fill, fill_with};
pub use key::DrawKey;
pub use simd::InstructionSet;
