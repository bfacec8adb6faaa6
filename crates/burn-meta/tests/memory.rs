//! What recordings hold, measured by a counting allocator; alone in this file, as the count is the
//! process's.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::{Tensor, TensorData};
use burn_meta::{DefaultDTypes, record};

struct Counting;

static HELD: AtomicUsize = AtomicUsize::new(0);

// SAFETY: every call is passed to the system allocator as it is; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's own contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's own contract.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn held() -> usize {
    HELD.load(Ordering::Relaxed)
}

#[test]
fn recordings_hold_constants_once_and_give_everything_back() {
    const BYTES: usize = 64 << 20;
    let data = || TensorData::zeros::<f32, _>([BYTES / 4]);
    record(DefaultDTypes::default(), |d| {
        Tensor::<1>::from_data([0.0f32], d)
    })
    .unwrap();

    let before = held();
    let recorded = record(DefaultDTypes::default(), |d| {
        Tensor::<1>::from_data(data(), d)
    })
    .unwrap();
    let with_constant = held() - before;
    assert!(
        (BYTES..BYTES + (1 << 20)).contains(&with_constant),
        "{with_constant} bytes held"
    );
    drop(recorded);
    let left = held() - before;
    assert!(left < 64 << 10, "{left} bytes are still held");

    // More scopes than capture devices have ids, from several threads.
    let settled = held();
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for n in 0..50_000 {
                    record(DefaultDTypes::default(), |d| {
                        assert_eq!(Tensor::<1>::ones([n], d).dims(), [n]);
                    })
                    .unwrap();
                }
            });
        }
    });
    let growth = held().saturating_sub(settled);
    assert!(growth < 1 << 20, "200,000 recordings left {growth} bytes");
}
