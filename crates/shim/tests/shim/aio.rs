//! Asynchronous I/O by libaio.

use crate::common::{Aligned, Bench, open, requests, slow, tell, timed};
use crate::libaio::{Context, Event, Iocb, block};
use device::Role;
use device::page::{AccessKind, OfKind, OfRole};
use std::path::Path;
use std::time::{Duration, Instant};

pub fn job(name: &str, files: &Path) -> bool {
    let file = || open(&files.join("t.ibd"), libc::O_DIRECT);
    let mut memory: Vec<Aligned> = (0..32).map(|_| Aligned([3; 65536])).collect();
    let mut events = [Event::default(); 64];
    match name {
        "read at once" => {
            let (context, file) = (Context::new(), file());
            let read = |(n, memory): (usize, &mut Aligned)| {
                block(&file, 0, (memory.0.as_mut_ptr(), 16384), n as u64 * 16384)
            };
            let mut blocks: Vec<Iocb> = memory.iter_mut().enumerate().map(read).collect();
            timed("submit_ns", || assert_eq!(context.submit(&mut blocks), 32));
            timed("wait_ns", || {
                assert_eq!(context.get(32, &mut events, None), 32);
            });
            for event in &events[..32] {
                assert_eq!(event.result, 16384);
                // SAFETY: the blocks are still there.
                assert_eq!(unsafe { (*(event.object as *const Iocb)).data }, event.data);
            }
            assert!(memory.iter().all(|memory| memory.0[..16384] == [7; 16384]));
            // Nothing is left, and times are kept.
            let began = Instant::now();
            assert_eq!(context.get(1, &mut events, Some(20)), 0);
            assert!(began.elapsed() >= Duration::from_millis(20));
        }
        "short behind long" => {
            let (context, file) = (Context::new(), file());
            let long = vec![1_u8; 8 << 20];
            let short = (memory[0].0.as_ptr(), 512);
            let mut blocks = [
                block(&file, 0, (long.as_ptr(), long.len() as u64), 0),
                block(&file, 1, short, 512),
                block(&file, 3, (std::ptr::null(), 0), 0),
            ];
            // Where the host needs longer for the long one than the device, it is due first.
            let long_came_last = (0..20).any(|_| {
                assert_eq!(context.submit(&mut blocks), 3);
                let mut last = 0;
                for _ in 0..3 {
                    assert_eq!(context.get(1, &mut events[..1], None), 1);
                    last = events[0].object;
                }
                last == &raw const blocks[0] as u64
            });
            assert!(long_came_last);
        }
        _ => return more_jobs(name, files),
    }
    true
}

fn more_jobs(name: &str, files: &Path) -> bool {
    let file = || open(&files.join("t.ibd"), libc::O_DIRECT);
    let memory: Vec<Aligned> = (0..32).map(|_| Aligned([3; 65536])).collect();
    let mut events = [Event::default(); 64];
    match name {
        "wake" => {
            let (context, file) = (Context::new(), file());
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| {
                    let mut events = [Event::default(); 4];
                    let first = context.get(1, &mut events, None);
                    (first, context.get(1, &mut events, None))
                });
                std::thread::sleep(Duration::from_millis(30));
                let mut blocks = [block(&file, 0, (memory[0].0.as_ptr(), 4096), 0)];
                assert_eq!(context.submit(&mut blocks), 1);
                std::thread::sleep(Duration::from_millis(30));
                assert_eq!(context.destroy(), 0);
                assert_eq!(waiter.join().unwrap(), (1, -libc::EINVAL));
            });
        }
        "emulated and real" => {
            let (context, file) = (Context::new(), file());
            let log = open(&files.join("ib_logfile0"), 0);
            let mut blocks: Vec<Iocb> = (0..16)
                .map(|n| {
                    let file = if n % 3 == 0 { &log } else { &file };
                    block(file, 1, (memory[n].0.as_ptr(), 4096), n as u64 * 4096)
                })
                .collect();
            assert_eq!(context.submit(&mut blocks), 16);
            assert_eq!(context.get(16, &mut events, Some(900)), 16);
            let sum: u64 = events[..16].iter().map(|event| event.data / 4096).sum();
            tell("sum", sum);
        }
        _ => return false,
    }
    true
}

#[test]
fn requests_are_served_at_once_and_nobody_is_blocked() {
    let mut bench = Bench::new(&[Role::Data]);
    bench.setup.devices[0].profile = slow();
    bench.fill("t.ibd", 32 * 16384);
    let told = bench.run("read at once");
    let page = bench.page();
    assert_eq!(requests(&page, Role::Data), [32, 0, 0]);
    assert_eq!(page.of_role(Role::Data, OfRole::OutstandingMax), 32);
    assert_eq!(page.of_role(Role::Data, OfRole::Outstanding), 0);
    let sum_ns = page.of_kind(Role::Data, AccessKind::Read, OfKind::ResponseSumNs);
    let (submit_ns, wait_ns) = (told.get("submit_ns"), told.get("wait_ns"));
    // Blocked one after another, they would take together what the times of each add up to; at
    // once, some 16 times less.
    assert!((submit_ns + wait_ns) * 4 < sum_ns, "{submit_ns} + {wait_ns}, {sum_ns}");
    assert!(submit_ns < wait_ns, "{submit_ns}, {wait_ns}");
}

#[test]
fn what_is_due_first_comes_first() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 32 << 20);
    bench.run("short behind long");
    let [reads, writes, flushes] = requests(&bench.page(), Role::Data);
    assert!(reads > 0 && reads == writes && writes == flushes);
}

#[test]
fn who_waits_is_woken_by_a_request_and_by_the_end() {
    let bench = Bench::new(&[Role::Data]);
    bench.fill("t.ibd", 16384);
    bench.run("wake");
    assert_eq!(requests(&bench.page(), Role::Data), [1, 0, 0]);
}

#[test]
fn one_context_holds_emulated_and_real_requests() {
    for emulated in [&[Role::Data][..], &[Role::Redo], &[], &[Role::Data, Role::Redo]] {
        let bench = Bench::new(emulated);
        let told = bench.run("emulated and real");
        assert_eq!(told.get("sum"), (0..16).sum::<u64>());
        let page = bench.page();
        assert_eq!(requests(&page, Role::Data)[1], 10, "{emulated:?}");
        // Buffered writes of an emulated role stay in the cache.
        let redo = u64::from(!emulated.contains(&Role::Redo)) * 6;
        assert_eq!(requests(&page, Role::Redo)[1], redo, "{emulated:?}");
        assert_eq!(page.of_role(Role::Data, OfRole::Outstanding), 0);
    }
}
