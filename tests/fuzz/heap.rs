//! How much memory a thread of the tests holds: what is claimed in proportion to a number that somebody wrote is found
//! here, also where the system never had to hand it out.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

thread_local! {
    /// Bytes held, less those that other threads gave us to free; and the most of them since they were last asked for.
    static HELD: Cell<(isize, isize)> = const { Cell::new((0, 0)) };
}

/// The system's allocator, counted.
struct Counted;

#[global_allocator]
static HEAP: Counted = Counted;

fn add(bytes: isize) {
    // A thread that ends frees after its counter is gone.
    let _ = HELD.try_with(|held| {
        let now = held.get().0 + bytes;
        held.set((now, held.get().1.max(now)));
    });
}

// SAFETY: all is the system's; beside it only numbers of this thread change.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: the caller's promises are those that the system wants.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout.size() as isize);
        // SAFETY: likewise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        add(-(layout.size() as isize));
        // SAFETY: likewise.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        add(size as isize - layout.size() as isize);
        // SAFETY: likewise.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// What `work` made, and how many bytes this thread held at most for it.
pub fn measured<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = HELD.get().0;
    HELD.set((before, before));
    let made = work();
    (made, (HELD.get().1 - before) as usize)
}
