//! Memory of a store during many writes. Every test has its own process, so that allocations of others are not counted.

use crate::{
    embedded::put,
    project::{names, open, write},
};
use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicUsize, Ordering},
};

/// Texts that could be names of an index's files. Buffers come and go with the threads that write; names are the same at
/// every look, unless they are kept.
static NAMES: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTING: CountingAllocator = CountingAllocator;

struct CountingAllocator;

fn is_name(layout: Layout) -> bool {
    layout.align() == 1 && (32..=64).contains(&layout.size())
}

#[expect(unsafe_code, reason = "the only way to count what is allocated")]
// SAFETY: everything is the system's, and counting allocates nothing.
unsafe impl GlobalAlloc for CountingAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        NAMES.fetch_add(usize::from(is_name(layout)), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        NAMES.fetch_sub(usize::from(is_name(layout)), Ordering::Relaxed);
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(place, layout) }
    }
}

#[test]
fn many_writes_leave_no_name_behind_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let store = open(folder.path());
    let mut version = 1000;
    // The least of many looks: there are more parts at one and fewer at another, and a writer's threads may still be at it.
    let mut least = || {
        let looks = (0..32).map(|_| {
            version += 1;
            write(&store, vec![put(version % 8, version)]);
            assert!(!names(&store, &format!("handler_{}", version % 8)).is_empty());
            NAMES.load(Ordering::Relaxed)
        });
        looks.min().unwrap_or_default()
    };
    let looks: Vec<usize> = (0..4).map(|_| least()).collect();
    assert!(looks[3] < looks[1] + 32, "{looks:?}");
}
