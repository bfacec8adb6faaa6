//! Numbers and texts.

use crate::checkpoint::{Kind, Loading, Saving, TrainingState};

macro_rules! values {
    ($($value:ty)*) => {$(
        impl TrainingState for $value {
            fn save_state(&self, saving: &mut Saving) {
                saving.record(Kind::Value, self);
            }

            fn load_state<'s>(&'s mut self, loading: &mut Loading<'s>) {
                loading.put(self);
            }
        }
    )*};
}

values! { bool char f32 f64 i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize String }
