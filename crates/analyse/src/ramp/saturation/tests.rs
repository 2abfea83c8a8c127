use super::{Ramp, RampPoint, RampStep, Saturation, StopReason};
use crate::ramp::ramp_cpu::{CpuOf, RampCpu};
use crate::stats::noise::Noise;
use spec::RampLimits;

/// What a synthetic target does with so many connections.
#[derive(Clone, Copy)]
struct Truth {
    nopm: f64,
    cpu_busy_share: f64,
    p90_us: f64,
    retries_share: f64,
}

/// Relative scatter of each number, normal.
#[derive(Clone, Copy)]
struct Scatter {
    nopm: f64,
    cpu: f64,
    p90: f64,
    /// What has none draws no random number, so that one more condition changes no other curve.
    retries: f64,
}

const NONE: Scatter = Scatter { nopm: 0.0, cpu: 0.0, p90: 0.0, retries: 0.0 };

fn scatter(share: f64) -> Scatter {
    Scatter { nopm: share, cpu: share, p90: share, retries: 0.0 }
}

/// No condition but those that a test names.
fn limits(step: u32) -> RampLimits {
    RampLimits {
        start: step,
        step,
        connections_max: 512,
        cpu_busy_share: None,
        p90_us: [("new_order".to_owned(), 5e6)].into(),
        ..RampLimits::default()
    }
}

fn of_server(busy_share: f64) -> RampCpu {
    RampCpu { busy_share, of: CpuOf::Server, steal_share: 0.0 }
}

fn ramped(
    limits: &RampLimits,
    truth: impl Fn(f64) -> Truth,
    scatter: Scatter,
    noise: &mut Noise,
) -> Saturation {
    whole_ramp(limits, truth, scatter, noise).saturation()
}

/// A ramp that is at its end.
fn whole_ramp(
    limits: &RampLimits,
    truth: impl Fn(f64) -> Truth,
    scatter: Scatter,
    noise: &mut Noise,
) -> Ramp {
    let mut ramp = Ramp::new(limits.clone()).unwrap();
    for _ in 0..=limits.points_max {
        let connections = match ramp.next() {
            RampStep::Measure(connections) => connections,
            RampStep::Done(_) => return ramp,
        };
        assert!(connections >= limits.start && connections <= limits.connections_max);
        assert_eq!((connections - limits.start) % limits.step, 0);
        let truth = truth(f64::from(connections));
        let mut scattered =
            |value: f64, share: f64| value * (1.0 + share * noise.normal()).max(0.1);
        let nopm = scattered(truth.nopm, scatter.nopm);
        let retries_share = match scatter.retries {
            0.0 => truth.retries_share,
            share => scattered(truth.retries_share, share),
        };
        ramp.observe(RampPoint {
            connections,
            nopm: Some(nopm),
            nopm_noise_share: Some(scatter.nopm),
            p90_noise_share: [("new_order".to_owned(), scatter.p90)].into(),
            cpu: Some(of_server(scattered(truth.cpu_busy_share, scatter.cpu))),
            retries_share: Some(retries_share),
            p90_us: [("new_order".to_owned(), scattered(truth.p90_us, scatter.p90))].into(),
            ..RampPoint::default()
        });
    }
    panic!("a ramp measures no more points than it may");
}

/// One queue: every connection adds the same until the knee, nothing beyond; response times are
/// Little's.
fn one_queue(knee: f64) -> impl Fn(f64) -> Truth + Copy {
    move |connections| {
        let nopm = 300.0 * connections.min(knee);
        Truth {
            nopm,
            cpu_busy_share: 0.9 * (connections / knee).min(1.0),
            p90_us: connections / nopm * 60e6,
            retries_share: 0.0,
        }
    }
}

const TRIALS: u32 = 1_000;

/// Of 1,000 noisy ramps: the share that ends within a step of the knee; nearly all must end for the
/// expected reason.
fn within_a_step(
    limits: &RampLimits,
    truth: impl Fn(f64) -> Truth + Copy,
    scatter: Scatter,
    knee: u32,
    is_expected: impl Fn(&StopReason) -> bool,
) -> f64 {
    let mut noise = Noise::new(7);
    let (mut within, mut reasons) = (0, 0);
    for _ in 0..TRIALS {
        let found = ramped(limits, truth, scatter, &mut noise);
        let is_near = found.connections.is_some_and(|at| at.abs_diff(knee) <= limits.step);
        within += u32::from(is_near);
        reasons += u32::from(found.reason.as_ref().is_some_and(&is_expected));
    }
    assert!(reasons >= TRIALS / 100 * 95, "{reasons}");
    f64::from(within) / f64::from(TRIALS)
}

fn is_plateau(reason: &StopReason) -> bool {
    matches!(reason, StopReason::Plateau { .. })
}

#[test]
fn without_noise_the_knee_is_exact() {
    for knee in [24_u32, 56, 96, 200] {
        let ramp = whole_ramp(&limits(8), one_queue(f64::from(knee)), NONE, &mut Noise::new(1));
        let found = ramp.saturation();
        assert_eq!(found.connections, Some(knee), "{:?}", found.reason);
        assert!(found.reason.as_ref().is_some_and(is_plateau), "{:?}", found.reason);
        assert!(ramp.curve.len() < 16, "{}", ramp.curve.len());
    }
}

#[test]
fn plateaus_of_one_queue() {
    for (knee, step, share) in [(96_u32, 8_u32, 0.05), (96, 16, 0.1), (208, 16, 0.05), (40, 8, 0.1)]
    {
        let truth = one_queue(f64::from(knee));
        let within = within_a_step(&limits(step), truth, scatter(share), knee, is_plateau);
        assert!(within >= 0.95, "{knee} {step} {share}: {within}");
    }
}

/// Sixteen cores that each transaction needs for 10 ms, and 30 ms elsewhere: by the asymptotes 64
/// connections fill the cores.
fn sixteen_cores(connections: f64) -> Truth {
    let (cores, service_s, elsewhere_s) = (16.0_f64, 0.010, 0.030);
    let jobs = connections as u32;
    let (mut weight, mut sum, mut busy) = (1.0, 1.0, 0.0);
    for at_cores in 1..=jobs {
        let at_cores = f64::from(at_cores);
        weight *= (connections - at_cores + 1.0) / elsewhere_s;
        weight /= at_cores.min(cores) / service_s;
        sum += weight;
        busy += weight * at_cores.min(cores);
    }
    let busy = busy / sum;
    let per_s = busy / service_s;
    Truth {
        nopm: per_s * 60.0,
        cpu_busy_share: busy / cores,
        p90_us: connections / per_s * 1e6,
        retries_share: 0.0,
    }
}

#[test]
fn plateaus_of_many_cores() {
    for (step, share) in [(8, 0.05), (16, 0.1)] {
        let within = within_a_step(&limits(step), sixteen_cores, scatter(share), 64, is_plateau);
        assert!(within >= 0.95, "{step} {share}: {within}");
    }
}

/// Gunther's universal scalability law with contention (a queue for one thing) and coherency
/// (everybody waits for everybody).
fn universal(contention: f64, coherency: f64) -> impl Fn(f64) -> Truth + Copy {
    move |connections| {
        let others = connections - 1.0;
        let slowed = 1.0 + contention * others + coherency * connections * others;
        Truth {
            nopm: 600.0 * connections / slowed,
            cpu_busy_share: 0.1,
            p90_us: 100_000.0 * slowed,
            retries_share: 0.0,
        }
    }
}

#[test]
fn plateaus_of_the_scalability_law() {
    // The law is round and has no knee that all would agree on; where the ramp ends it must have
    // given most of its peak. Without noise it is where two lines are nearest to the whole curve
    // from 8 to 128.
    let exact = ramped(&limits(8), universal(0.02, 0.0002), NONE, &mut Noise::new(1));
    assert_eq!(exact.connections, Some(40), "the lines meet at 38");
    for (contention, coherency) in [(0.002, 0.00025), (0.02, 0.0002)] {
        let law = universal(contention, coherency);
        let peak = (1..512).map(|count| law(f64::from(count)).nopm).fold(0.0, f64::max);
        let mut noise = Noise::new(9);
        let mut shares: Vec<f64> = (0..TRIALS)
            .map(|_| ramped(&limits(8), law, scatter(0.05), &mut noise))
            .map(|found| {
                assert!(found.reason.as_ref().is_some_and(is_plateau), "{found:?}");
                law(f64::from(found.connections.unwrap())).nopm / peak
            })
            .collect();
        shares.sort_by(f64::total_cmp);
        assert!(shares[50] >= 0.7 && shares[500] >= 0.9, "{} {}", shares[50], shares[500]);
    }
}

#[test]
fn kinks() {
    // Beyond 72 connections they stand in each other's way: response times rise with the third
    // power.
    let truth = |connections: f64| {
        let p90_us = 20_000.0 * (connections / 72.0).max(1.0).powi(3);
        Truth { nopm: connections / p90_us * 60e6, cpu_busy_share: 0.5, p90_us, retries_share: 0.0 }
    };
    for (step, share) in [(8, 0.05), (16, 0.1)] {
        let within =
            within_a_step(&limits(step), truth, scatter(share), 72, |reason| match reason {
                StopReason::Kink { transaction, .. } => transaction == "new_order",
                _ => false,
            });
        assert!(within >= 0.95, "{step} {share}: {within}");
    }
}

/// A ramp that was given these counts: connections, throughput, and the 90th percentiles of new
/// orders and order statuses.
fn given(points: &[(u32, f64, f64, f64)], rare: &[&str]) -> Ramp {
    let mut ramp = Ramp::new(limits(8)).unwrap();
    for &(connections, nopm, new_order_us, order_status_us) in points {
        let p90_us = [("new_order", new_order_us), ("order_status", order_status_us)];
        ramp.observe(RampPoint {
            connections,
            nopm: Some(nopm),
            nopm_noise_share: Some(0.01),
            p90_us: p90_us.map(|(name, us)| (name.to_owned(), us)).into(),
            rare: rare.iter().map(|name| (*name).to_owned()).collect(),
            ..RampPoint::default()
        });
    }
    ramp
}

#[test]
fn a_step_of_a_response_time_is_no_kink() {
    // From some count on, one type no longer finds its pages in the pool; throughput and the other
    // type rise as before.
    let rising = [(8, 100.0, 10e3), (16, 190.0, 12e3), (32, 350.0, 18e3), (64, 640.0, 22e3)];
    for step_at in [16, 32, 64] {
        for measured in 1..=rising.len() {
            let points = rising[..measured].iter().map(|&(connections, nopm, new_order_us)| {
                let order_status_us = if connections < step_at { 1e3 } else { 4.5e3 };
                (connections, nopm, new_order_us, order_status_us)
            });
            let ramp = given(&points.collect::<Vec<_>>(), &[]);
            let next = RampStep::Measure(8 << measured);
            assert_eq!(ramp.next(), next, "{step_at} {measured}");
        }
    }
}

#[test]
fn a_kink_needs_transactions_enough() {
    // Throughput no longer rises behind 16, and one type's response time as the third power.
    let points = [
        (8, 100.0, 10e3, 1e3),
        (16, 200.0, 10e3, 1e3),
        (32, 205.0, 20e3, 8e3),
        (64, 205.0, 40e3, 64e3),
    ];
    let of = |ramp: Ramp| ramp.saturation().reason.unwrap();
    let kink = of(given(&points, &[]));
    assert!(
        matches!(&kink, StopReason::Kink { transaction, .. } if transaction == "order_status"),
        "{kink:?}"
    );
    assert!(is_plateau(&of(given(&points, &["order_status"]))));
}

#[test]
fn a_doubling_that_gave_nothing_before_throughput_rises_is_no_plateau() {
    let nopm = [200.0, 205.0, 400.0, 760.0, 1_000.0];
    let points: Vec<(u32, f64, f64, f64)> =
        (0..).zip(nopm).map(|(doublings, nopm)| (8 << doublings, nopm, 10e3, 1e3)).collect();
    assert_eq!(given(&points, &[]).next(), RampStep::Measure(256));
}

#[test]
fn the_processor() {
    let limits = RampLimits { cpu_busy_share: Some(0.8), ..limits(8) };
    // 90 % at 96, so 80 % at 85.3: 80 connections are the last below it.
    let quiet = Scatter { cpu: 0.05, ..scatter(0.05) };
    let within = within_a_step(
        &limits,
        one_queue(96.0),
        quiet,
        80,
        |reason| matches!(reason, StopReason::Cpu { cpu_busy_share, .. } if *cpu_busy_share >= 0.8),
    );
    assert!(within >= 0.95, "{within}");
    let exact = ramped(&limits, one_queue(96.0), NONE, &mut Noise::new(1));
    assert_eq!(exact.connections, Some(80));
    assert_eq!((exact.connections_low, exact.connections_high), (Some(80), Some(80)));
}

#[test]
fn response_times() {
    // 0.4 s up to 40 connections, and 10 ms more for each further one.
    let truth = |connections: f64| Truth {
        nopm: 6_000.0 * connections.min(40.0),
        cpu_busy_share: 0.1,
        p90_us: 10_000.0 * connections.max(40.0),
        retries_share: 0.0,
    };
    for (step, share) in [(8, 0.05), (16, 0.1)] {
        let limits = RampLimits {
            p90_us: [("new_order".to_owned(), 640_000.0)].into(),
            plateau_elasticity: None,
            ..limits(step)
        };
        let within = within_a_step(&limits, truth, scatter(share), 64, |reason| match reason {
            StopReason::ResponseTime { limit_us, .. } => *limit_us == 640_000.0,
            _ => false,
        });
        assert!(within >= 0.95, "{step} {share}: {within}");
    }
}

#[test]
fn retries() {
    // Each connection meets each other one, so that 5 % of the tries are retried at 80.5 of them;
    // throughput rises and response times stay.
    let truth = |connections: f64| Truth {
        nopm: 300.0 * connections,
        cpu_busy_share: 0.1,
        p90_us: 20_000.0,
        retries_share: 0.05 * (connections - 1.0) / 79.5,
    };
    let limits = |step| RampLimits { retries_share: Some(0.05), ..limits(step) };
    let exact = ramped(&limits(8), truth, NONE, &mut Noise::new(1));
    assert_eq!(exact.connections, Some(80));
    assert_eq!((exact.connections_low, exact.connections_high), (Some(80), Some(80)));
    assert_eq!(
        exact.to_string(),
        "saturation point: 80 connections; with more, 5.47 % of the tries of transactions were \
         retried, after deadlocks, lock wait timeouts and other conflicts"
    );
    for (step, share) in [(8, 0.05), (16, 0.1)] {
        let within = within_a_step(
            &limits(step),
            truth,
            Scatter { retries: share, ..scatter(share) },
            80,
            |reason| matches!(reason, StopReason::Retries { .. }),
        );
        assert!(within >= 0.95, "{step} {share}: {within}");
    }
    // Left out, as by default, it ends nothing.
    let off = RampLimits { retries_share: None, ..limits(8) };
    assert_eq!(ramped(&off, truth, NONE, &mut Noise::new(1)).reason, None);
}

#[test]
fn retries_are_told_of_before_the_response_times_that_they_make() {
    let truth = |_| Truth { nopm: 300.0, cpu_busy_share: 0.1, p90_us: 9e6, retries_share: 0.5 };
    let limits = RampLimits { retries_share: Some(0.05), ..limits(8) };
    let found = ramped(&limits, truth, NONE, &mut Noise::new(1));
    assert_eq!(found.reason, Some(StopReason::Retries { retries_share: 0.5 }));
    assert_eq!(
        serde_json::to_value(&found.reason).unwrap(),
        serde_json::json!({ "condition": "retries", "retries_share": 0.5 })
    );
}

#[test]
fn a_ramp_goes_on_from_stored_points() {
    let truth = one_queue(96.0);
    let whole = whole_ramp(&limits(8), truth, scatter(0.05), &mut Noise::new(3));
    let mut again = Ramp::new(limits(8)).unwrap();
    for (index, point) in whole.curve.iter().enumerate() {
        assert_eq!(again.next(), RampStep::Measure(point.connections), "{index}");
        again.observe(point.clone());
    }
    assert_eq!(again.next(), RampStep::Done(whole.saturation()));
}

#[test]
fn a_count_without_a_result_ends_the_ramp() {
    let failed = |reason_code: &str, connections| RampPoint {
        connections,
        reason_code: Some(reason_code.to_owned()),
        reason: Some("it went\nwrong".to_owned()),
        ..RampPoint::default()
    };
    let ended = |points: &[u32], failed: RampPoint| {
        let mut ramp = Ramp::new(limits(8)).unwrap();
        for connections in points {
            ramp.observe(RampPoint {
                connections: *connections,
                nopm: Some(300.0 * f64::from(*connections)),
                ..RampPoint::default()
            });
        }
        assert!(matches!(ramp.next(), RampStep::Measure(_)));
        ramp.observe(failed);
        match ramp.next() {
            RampStep::Done(saturation) => saturation,
            RampStep::Measure(more) => panic!("it goes on to {more}"),
        }
    };
    let found = ended(&[8, 16, 32], failed("lock_wait_timeout", 64));
    let range = (found.connections_low, found.connections_high);
    assert_eq!((found.connections, range), (Some(32), (Some(32), Some(56))));
    assert_eq!(
        found.to_string(),
        "saturation point: 32 connections (it may be anywhere from 32 to 56); 64 connections gave \
         no result (lock_wait_timeout): it went"
    );
    // A database that lost something proves none of its points; nor is there one below the start.
    let found = ended(&[8, 16, 32], failed("check_failed", 32));
    assert_eq!(found.connections, None);
    // What is no count's own failure says nothing of the counts below it.
    for code in ["timed_out", "server_failed", "failed", "not_checked"] {
        let found = ended(&[8, 16, 32], failed(code, 64));
        assert_eq!(found.connections, None, "{code}");
        assert_eq!(
            found.to_string(),
            format!("no saturation point: the ramp failed at 64 connections ({code}): it went")
        );
    }
    let found = ended(&[], failed("server_died", 8));
    assert_eq!(found.connections, None);
    assert!(found.to_string().starts_with("no saturation point: 8 "), "{found}");
}

#[test]
fn a_start_that_is_over_its_limit_has_no_saturation_point() {
    let limits = RampLimits { cpu_busy_share: Some(0.05), ..limits(8) };
    let ramp = whole_ramp(&limits, one_queue(96.0), NONE, &mut Noise::new(1));
    let found = ramp.saturation();
    assert_eq!((found.connections, ramp.curve.len()), (None, 1));
    assert!(matches!(found.reason, Some(StopReason::Cpu { .. })));
}

#[test]
fn what_never_saturates_ends_at_the_maximum() {
    let ramp = whole_ramp(&limits(8), one_queue(1e9), scatter(0.05), &mut Noise::new(1));
    let found = ramp.saturation();
    assert_eq!((found.connections, found.reason), (Some(512), None));
    let counts: Vec<u32> = ramp.curve.iter().map(|point| point.connections).collect();
    assert_eq!(counts, [8, 16, 32, 64, 128, 256, 512]);
    // One that may measure three points only says what it has seen.
    let few = RampLimits { points_max: 3, ..limits(8) };
    let found = ramped(&few, one_queue(96.0), NONE, &mut Noise::new(1));
    assert_eq!((found.connections, found.reason), (Some(32), None));
}

#[test]
fn a_stalled_target_is_no_panic() {
    let mut ramp = Ramp::new(limits(8)).unwrap();
    for connections in [8, 16] {
        assert_eq!(ramp.next(), RampStep::Measure(connections));
        ramp.observe(RampPoint { connections, nopm: Some(0.0), ..RampPoint::default() });
    }
    let mut steps = 0;
    while let RampStep::Measure(connections) = ramp.next() {
        steps += 1;
        ramp.observe(RampPoint { connections, nopm: Some(0.0), ..RampPoint::default() });
    }
    assert!(steps <= 22, "{steps}");
}

#[test]
fn a_kink_is_as_open_as_its_own_noise_leaves_it() {
    let open = |nopm_noise_share: f64, p90_noise_share: f64| {
        let mut ramp = Ramp::new(limits(8)).unwrap();
        for connections in [8_u32, 16, 24, 32, 40, 48, 56, 64, 128, 256] {
            let at = f64::from(connections);
            let p90_us = 3_000.0 * (at / 40.0).max(1.0).powi(3);
            ramp.observe(RampPoint {
                connections,
                nopm: Some(300.0 * at.min(40.0)),
                nopm_noise_share: Some(nopm_noise_share),
                p90_us: [("new_order".to_owned(), p90_us)].into(),
                p90_noise_share: [("new_order".to_owned(), p90_noise_share)].into(),
                ..RampPoint::default()
            });
        }
        let found = ramp.saturation();
        assert!(matches!(found.reason, Some(StopReason::Kink { .. })));
        found.connections_high.unwrap() - found.connections_low.unwrap()
    };
    assert_eq!(open(0.3, 0.0), 0);
    assert!(open(0.0, 0.3) > 0);
}

#[test]
fn the_words_say_whose_processor_time_is_meant() {
    let words = |of, cpu_steal_share| {
        StopReason::Cpu { cpu_busy_share: 0.83, cpu_of: of, cpu_steal_share }.to_string()
    };
    assert_eq!(
        words(CpuOf::Server, 0.12),
        "the server and the kernel's interrupts used 83 % of the processor time that was left to \
         them, 12 % of all being stolen by other guests"
    );
    assert_eq!(
        words(CpuOf::Machine, 0.0),
        "programs of the server's machine used 83 % of the processor time that was left to them"
    );
}
