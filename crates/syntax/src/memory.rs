//! Counts the memory that tree-sitter allocates, so that a parse ends at its budget.
//!
//! Some texts make a parser keep thousands of versions of a stack, each of them as deep as the text is nested. The number
//! of its steps does not show that.

#![expect(unsafe_code, reason = "tree-sitter takes its allocator as C functions")]

use libc::{c_void, size_t};
use std::{cell::Cell, process, sync::Once};
use tree_sitter::Allocator;

thread_local! {
    /// Bytes that this thread has allocated, less those that it has freed.
    static ALLOCATED: Cell<i64> = const { Cell::new(0) };
}

/// Makes tree-sitter count what it allocates. Has to be called before it is used.
pub(crate) fn count_allocations() {
    static INSTALLED: Once = Once::new();
    // SAFETY: the four functions are libc's own, which tree-sitter uses by default too: memory that it allocated before
    // can be freed by them. None returns null for a size that is not zero.
    INSTALLED.call_once(|| unsafe {
        tree_sitter::set_allocator(Some(Allocator { malloc, calloc, realloc, free }));
    });
}

/// Bytes that tree-sitter has allocated on this thread and not freed. Only differences mean something, because another
/// thread may free them.
pub(crate) fn allocated() -> i64 {
    ALLOCATED.get()
}

fn add(bytes: usize, sign: i64) {
    let bytes = i64::try_from(bytes).unwrap_or(i64::MAX);
    ALLOCATED.set(ALLOCATED.get().wrapping_add(bytes.wrapping_mul(sign)));
}

/// Counts a new block.
fn count_new(block: *mut c_void, size: size_t) -> *mut c_void {
    if block.is_null() && size > 0 {
        process::abort();
    }
    add(usable_size(block), 1);
    block
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn usable_size(block: *mut c_void) -> usize {
    // SAFETY: null, or a block of libc's that is not freed yet.
    unsafe { libc::malloc_usable_size(block) }
}

#[cfg(target_vendor = "apple")]
fn usable_size(block: *mut c_void) -> usize {
    // SAFETY: null, or a block of libc's that is not freed yet.
    unsafe { libc::malloc_size(block) }
}

/// Elsewhere the other limits have to do.
#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn usable_size(_: *mut c_void) -> usize {
    0
}

unsafe extern "C" fn malloc(size: size_t) -> *mut c_void {
    // SAFETY: any size may be asked for.
    count_new(unsafe { libc::malloc(size) }, size)
}

unsafe extern "C" fn calloc(count: size_t, size: size_t) -> *mut c_void {
    // SAFETY: any size may be asked for.
    count_new(unsafe { libc::calloc(count, size) }, count.saturating_mul(size))
}

unsafe extern "C" fn realloc(block: *mut c_void, size: size_t) -> *mut c_void {
    add(usable_size(block), -1);
    // SAFETY: the caller passes null or a block of libc's.
    count_new(unsafe { libc::realloc(block, size) }, size)
}

unsafe extern "C" fn free(block: *mut c_void) {
    add(usable_size(block), -1);
    // SAFETY: the caller passes null or a block of libc's.
    unsafe { libc::free(block) }
}
