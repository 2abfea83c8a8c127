//! A fixed piece of work, timed: the same work that takes longer later shows that this host has
//! become slower, whatever its server does.

use crate::error::{ObserveError, ObserveResult};
use std::hint::black_box;
use std::time::{Duration, Instant};
use store::Canary;

/// Each part is done so often; its median counts.
const ROUNDS: usize = 5;
/// Some 10 ms of arithmetic on a core of 3 GHz, in a release build.
const STEPS: u64 = 5_000_000;
/// Larger than the last-level cache that one guest usually has for itself.
const BUFFER_WORDS: usize = 8 << 20;
const READS: usize = 50_000;
const SLEEPS: usize = 40;
const SLEEP: Duration = Duration::from_micros(500);

/// Does the work and tells how long each part took; some 150 ms in a release build.
pub fn canary() -> ObserveResult<Canary> {
    let mut buffer = Vec::new();
    buffer.try_reserve_exact(BUFFER_WORDS).map_err(|cause| ObserveError::Canary {
        bytes: BUFFER_WORDS * size_of::<u32>(),
        cause: cause.to_string(),
    })?;
    buffer.resize(BUFFER_WORDS, 0);
    link(&mut buffer);
    let mut at = 0;
    Ok(Canary {
        cpu_ns: median_ns(ROUNDS, || time(|| _ = black_box(arithmetic(black_box(STEPS))))),
        memory_ns: median_ns(ROUNDS, || time(|| at = black_box(follow(&buffer, at)))),
        // How much longer than asked for a short sleep takes.
        wake_up_latency_ns: median_ns(SLEEPS, || {
            time(|| std::thread::sleep(SLEEP)).saturating_sub(SLEEP)
        }),
    })
}

fn time(work: impl FnOnce()) -> Duration {
    let begun = Instant::now();
    work();
    begun.elapsed()
}

fn median_ns(rounds: usize, mut take: impl FnMut() -> Duration) -> u64 {
    let mut times: Vec<Duration> = (0..rounds).map(|_| take()).collect();
    times.sort_unstable();
    times[rounds / 2].as_nanos() as u64
}

/// A generator of random numbers (xorshift64), each of which needs the one before it.
fn arithmetic(steps: u64) -> u64 {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for _ in 0..steps {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
    }
    state
}

/// Makes each word of the buffer name another, all in one cycle: a step is a full-period linear
/// congruence, which no prefetcher foresees.
fn link(buffer: &mut [u32]) {
    let mask = BUFFER_WORDS as u32 - 1;
    for (index, word) in buffer.iter_mut().enumerate() {
        *word = (index as u32).wrapping_mul(1_664_525).wrapping_add(1_013_904_223) & mask;
    }
}

/// Reads one word after another, each where the one before says.
fn follow(buffer: &[u32], mut at: u32) -> u32 {
    for _ in 0..READS {
        at = buffer[at as usize];
    }
    at
}

#[cfg(test)]
mod tests {
    use super::{BUFFER_WORDS, canary, link};

    #[test]
    fn each_part_takes_time() {
        let canary = canary().unwrap();
        assert!(canary.cpu_ns > 1_000_000, "{canary:?}");
        assert!(canary.memory_ns > 100_000, "{canary:?}");
        assert!(canary.wake_up_latency_ns > 0, "{canary:?}");
    }

    #[test]
    fn the_reads_go_through_the_whole_buffer() {
        let mut buffer = vec![0; BUFFER_WORDS];
        link(&mut buffer);
        let (mut at, mut steps) = (buffer[0], 1_usize);
        while at != 0 {
            at = buffer[at as usize];
            steps += 1;
        }
        assert_eq!(steps, BUFFER_WORDS);
    }
}
