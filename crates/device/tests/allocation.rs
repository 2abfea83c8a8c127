//! A device at work allocates nothing: it runs inside the I/O path of a server whose allocator may
//! be doing I/O itself. The allocator that counts is the process's, so no other tests are in it.

use device::page::AccessKind;
use device::{Access, Device, RequestState, Ticket, builtins};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn count() {
    // A thread that ends may allocate after its locals are gone; nobody asks for its count any
    // more.
    let _ = COUNT.try_with(|count| count.set(count.get() + 1));
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: each call goes to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, new_size) }
    }
}

/// More than the device holds, of all kinds; then asks for everything.
fn work(device: &mut Device, open: &mut [Option<Ticket>]) {
    for (n, place) in (0_u64..).zip(open.iter_mut()) {
        let access = Access {
            kind: AccessKind::ALL[(n % 7 % 3) as usize],
            address: n.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 400_000_000_000,
            bytes: 1 << (9 + n % 12),
        };
        if let Ok(RequestState::Queued { ticket, .. }) = device.submit(n * 1000, access) {
            *place = Some(ticket);
        }
    }
    for ticket in open.iter_mut().filter_map(Option::take) {
        let progress = device.poll(u64::MAX / 4, ticket);
        assert!(matches!(progress, RequestState::Decided(_)));
    }
}

#[test]
fn a_device_allocates_nothing() {
    let mut open: Vec<Option<Ticket>> = (0..20_000).map(|_| None).collect();
    for profile in builtins() {
        let mut device = Device::new(&profile, 1);
        let before = COUNT.get();
        work(&mut device, &mut open);
        work(&mut device, &mut open);
        assert_eq!(COUNT.get(), before, "{}", profile.name);
        assert_eq!(device.outstanding(), 0, "{}", profile.name);
    }
}
