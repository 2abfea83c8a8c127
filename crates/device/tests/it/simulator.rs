//! A closed loop over a virtual clock: what fio does to a device, without waiting.

use device::page::AccessKind;
use device::{
    Access, Completion, Device, FileOffset, Profile, RequestState, SEQUENTIAL_QUEUE_DEPTH, Ticket,
    device_address,
};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What is worked on of a file where the place of the bytes does not matter.
const SPAN_BYTES: u64 = 1 << 30;

/// What the requests are like.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    pub kind: AccessKind,
    /// Seven reads beside three of its kind.
    pub mixed: bool,
    pub bytes: u32,
    pub random: bool,
    pub depth: usize,
    /// How much of the file is worked on.
    pub span_bytes: u64,
    /// Before measuring, and measuring.
    pub ramp_seconds: f64,
    pub seconds: f64,
}

impl Load {
    pub fn random(kind: AccessKind, depth: u32, seconds: f64) -> Load {
        Load {
            kind,
            mixed: false,
            bytes: 4096,
            random: true,
            depth: depth as usize,
            span_bytes: SPAN_BYTES,
            ramp_seconds: 0.0,
            seconds,
        }
    }

    pub fn sequential(kind: AccessKind, seconds: f64) -> Load {
        Load {
            kind,
            mixed: false,
            bytes: 128 << 10,
            random: false,
            depth: SEQUENTIAL_QUEUE_DEPTH as usize,
            span_bytes: SPAN_BYTES,
            ramp_seconds: 0.1,
            seconds,
        }
    }

    /// As `mydyno device verify` measures this device: arms that move do so over the whole of it.
    pub fn on(self, profile: &Profile) -> Load {
        let span_bytes = if turns(profile) { profile.capacity_bytes } else { SPAN_BYTES };
        Load { span_bytes, ..self }
    }
}

/// Whether the profile is made of disks.
pub fn turns(profile: &Profile) -> bool {
    let member = profile.array.as_ref().and_then(device::Array::profile);
    profile.disk.is_some() || member.is_some_and(|member| member.disk.is_some())
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Measured {
    pub requests: u64,
    pub iops: f64,
    pub mb_per_s: f64,
    pub latency_us: f64,
    pub least_ns: u64,
}

/// Where the requests of a load go.
pub struct Places {
    load: Load,
    capacity_bytes: u64,
    file: u64,
    state: u64,
    offset: u64,
}

impl Places {
    pub fn new(load: Load, capacity_bytes: u64, file: u64) -> Places {
        Places { load, capacity_bytes, file, state: file ^ 0x1234_5678, offset: 0 }
    }

    pub fn next(&mut self) -> Access {
        let bytes = u64::from(self.load.bytes);
        let offset = if self.load.random {
            self.state = self
                .state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            (self.state >> 33) % (self.load.span_bytes / bytes) * bytes
        } else {
            let offset = self.offset;
            self.offset = (self.offset + bytes) % self.load.span_bytes;
            offset
        };
        let is_read = self.load.mixed && (self.state >> 20) % 10 < 7;
        Access {
            kind: if is_read { AccessKind::Read } else { self.load.kind },
            address: device_address(FileOffset { file: self.file, offset }, self.capacity_bytes),
            bytes: self.load.bytes,
        }
    }
}

/// What happens next: a request completes, or is asked for again.
struct Event {
    at_ns: u64,
    number: u64,
    submitted_ns: u64,
    what: What,
}

enum What {
    Complete,
    Ask(Ticket),
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Event {}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Event {
    fn cmp(&self, other: &Event) -> std::cmp::Ordering {
        (self.at_ns, self.number).cmp(&(other.at_ns, other.number))
    }
}

/// Keeps `depth` requests at the device; answers with what was complete in the measured time.
pub fn closed_loop(device: &mut Device, file: u64, load: Load) -> Measured {
    let begin_ns = 1_000_000_000;
    let measured_ns = begin_ns + (load.ramp_seconds * 1e9) as u64;
    let end_ns = measured_ns + (load.seconds * 1e9) as u64;
    let mut places = Places::new(load, device.used_bytes(), file);
    let mut events: BinaryHeap<Reverse<Event>> = BinaryHeap::new();
    let mut number = 0;
    let mut sum_ns = 0;
    let mut result = Measured { least_ns: u64::MAX, ..Measured::default() };
    let mut free = load.depth;
    let mut now_ns = begin_ns;
    while now_ns < end_ns {
        for _ in 0..std::mem::take(&mut free) {
            let progress = device.submit(now_ns, places.next()).unwrap();
            number += 1;
            events.push(Reverse(event(now_ns, now_ns, number, progress)));
        }
        let Reverse(next) = events.pop().unwrap();
        assert!(next.at_ns >= now_ns, "back in time");
        now_ns = next.at_ns;
        match next.what {
            What::Ask(ticket) => {
                let progress = device.poll(now_ns, ticket);
                let again = event(now_ns, next.submitted_ns, next.number, progress);
                events.push(Reverse(again));
            }
            What::Complete => {
                free = 1;
                if (measured_ns..end_ns).contains(&now_ns) {
                    let latency_ns = now_ns - next.submitted_ns;
                    result.requests += 1;
                    result.least_ns = result.least_ns.min(latency_ns);
                    sum_ns += latency_ns;
                }
            }
        }
    }
    result.iops = result.requests as f64 / load.seconds;
    result.mb_per_s = result.iops * f64::from(load.bytes) / 1e6;
    result.latency_us = sum_ns as f64 / result.requests.max(1) as f64 / 1e3;
    result
}

fn event(now_ns: u64, submitted_ns: u64, number: u64, progress: RequestState) -> Event {
    let (at_ns, what) = match progress {
        RequestState::Decided(Completion { due_ns, service_ns }) => {
            assert!(due_ns >= submitted_ns, "complete before it came");
            assert!(due_ns - submitted_ns >= service_ns, "more service than time");
            (due_ns.max(now_ns), What::Complete)
        }
        RequestState::Queued { ticket, ask_again_ns } => {
            assert!(ask_again_ns > now_ns, "asked again at once");
            (ask_again_ns, What::Ask(ticket))
        }
    };
    Event { at_ns, number, submitted_ns, what }
}

/// One request, from its arrival to its completion.
pub fn wait(device: &mut Device, now_ns: u64, access: Access) -> u64 {
    let mut progress = device.submit(now_ns, access).unwrap();
    loop {
        match progress {
            RequestState::Decided(completion) => return completion.due_ns,
            RequestState::Queued { ticket, ask_again_ns } => {
                progress = device.poll(ask_again_ns, ticket);
            }
        }
    }
}

/// Mean time of a flush behind each of many random writes of 4 KiB to a device of this profile.
pub fn flush_latency_us(device: &mut Device, profile: &Profile, file: u64, rounds: u32) -> f64 {
    let load = Load::random(AccessKind::Write, 1, 0.0).on(profile);
    let mut places = Places::new(load, device.used_bytes(), file);
    let (mut now_ns, mut sum_ns) = (1_000_000_000, 0);
    for _ in 0..rounds {
        now_ns = wait(device, now_ns, places.next());
        let flush = Access { kind: AccessKind::Flush, address: 0, bytes: 0 };
        let done_ns = wait(device, now_ns, flush);
        sum_ns += done_ns - now_ns;
        now_ns = done_ns;
    }
    sum_ns as f64 / f64::from(rounds) / 1e3
}
