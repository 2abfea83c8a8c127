//! What a measurement says of itself in sentences, which the terminal and the report both have.
//! They begin with a small letter and have no full stop.

use base::{grouped, percent, percent_at_most};
use itertools::Itertools;
use store::{OpenLoopSummary, Summary, TerminalsSummary};

/// `NA` where there is none.
pub fn number(value: Option<f64>, decimals: usize) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| format!("{value:.decimals$}"))
}

/// Near 100 %, where three digits are too few.
fn in_time(share: f64) -> String {
    format!("{:.2} %", share * 100.0)
}

/// How long the phases of automatic length were, and why they ended; `None` where none is.
pub fn lengths(of: &Summary) -> Option<String> {
    let warmup = of.warmup_measured_s.filter(|_| of.warmup_auto).map(|seconds| {
        let why = match of.warmup_steady {
            Some(true) => "until the server was steady",
            _ if seconds >= of.warmup_s => {
                "the most that it might take, and the server was not steady"
            }
            _ => "and the server was not steady",
        };
        format!("warm-up {seconds:.1} s, {why}")
    });
    let window = of.rates.window_s.filter(|_| of.window_auto).map(|seconds| {
        let reached = of.window_precision_share.map_or_else(
            || "it was too short to tell how well its mean is known".to_owned(),
            |share| format!("its mean throughput is known to ± {}", percent_at_most(share)),
        );
        let asked = of.precision_share.map(|share| format!(" (± {} asked)", percent(share)));
        format!("window {seconds:.1} s, {reached}{}", asked.unwrap_or_default())
    });
    let told = warmup.into_iter().chain(window).join("; ");
    (!told.is_empty()).then_some(told)
}

/// Where bytes really are: each place once, with its roles where they differ; and how true the
/// emulation was.
pub fn storage(of: &Summary) -> Vec<String> {
    let place = |device: &store::DeviceSummary| match device.emulated {
        true => {
            let used = device.used.as_ref().map_or_else(String::new, |used| format!(", {used}"));
            format!("{} (emulated{used}), its bytes in {}", device.device, device.backing)
        }
        false => device.device.clone(),
    };
    let places = of.devices.iter().map(place).unique().collect_vec();
    let told = places.iter().map(|on| {
        let roles = of.devices.iter().filter(|device| place(device) == *on);
        let roles = roles.map(|device| device.role.as_str()).join(", ");
        let roles = if places.len() == 1 { "all files".to_owned() } else { roles };
        format!("{roles} on {on}")
    });
    let fidelity = of.fidelity.zip(of.overrun_share).map(|(fidelity, overruns)| {
        format!(
            "fidelity of the emulation: {} of requests completed within 2 % or 20 us of their due \
             time, on average late by {} of the device's response time; for {} the host was slower \
             than the device",
            in_time(fidelity),
            percent(of.lateness_share.unwrap_or(0.0)),
            percent(overruns)
        )
    });
    told.chain(fidelity).collect()
}

/// What became of a schedule, and what terminals did; nothing where there was neither.
pub fn pacing(of: &Summary) -> Vec<String> {
    let open_loop = of.open_loop.iter().flat_map(schedule);
    open_loop.chain(of.terminals.iter().flat_map(terminals)).collect()
}

fn schedule(of: &OpenLoopSummary) -> [String; 2] {
    let ms = |us: Option<f64>| number(us.map(|us| us / 1e3), 2);
    let capacity = of.capacity_per_s.map_or_else(String::new, |capacity| {
        let share = of.capacity_precision_share;
        let known = share.map(|share| format!(" ± {}", percent_at_most(share)));
        format!("; a closed loop did {capacity:.1}/s{} before", known.unwrap_or_default())
    });
    [
        format!(
            "open loop: {} transactions/s ({}, {} arrivals{capacity}); offered {}, completed {}, \
             late by more than 1 ms {}, skipped {}",
            number(of.rate_per_s, 1),
            of.rate_asked,
            of.arrivals,
            of.offered,
            of.completed,
            of.late,
            of.skipped
        ),
        format!(
            "response times count from the intended start: schedule lag p50 {}, p99 {}, max {} ms; \
             service time p50 {}, p90 {}, p99 {}, max {} ms",
            ms(of.lag_p50_us),
            ms(of.lag_p99_us),
            ms(of.lag_max_us),
            ms(of.service_p50_us),
            ms(of.service_p90_us),
            ms(of.service_p99_us),
            ms(of.service_max_us)
        ),
    ]
}

fn terminals(of: &TerminalsSummary) -> [String; 3] {
    let inactive = of.inactive_warehouses.filter(|count| *count > 0);
    let beside = inactive.map(|count| format!(", beside {count} inactive ones"));
    let efficiency = of.efficiency.map(|share| {
        format!(", an efficiency of {} of 12.86 NOPM per active warehouse", percent(share))
    });
    let waits = of.keying_mean_s.iter().zip(of.think_mean_s.iter());
    let mut waits = waits.map(|((name, keying), (_, think))| {
        format!("{} {} / {}", name.replace('_', " "), number(*keying, 3), number(*think, 2))
    });
    let deferred = &of.deferred_deliveries;
    [
        format!(
            "{} terminals at {} warehouses{}: {} NOPM began and ended in the window{}; without \
             waiting they would do {} NOPM, give or take {} (one standard deviation)",
            of.count,
            of.paced_warehouses,
            beside.unwrap_or_default(),
            number(of.nopm_within_window, 1),
            efficiency.unwrap_or_default(),
            number(of.ceiling_nopm, 1),
            number(of.ceiling_deviation_nopm, 1)
        ),
        format!("mean keying / think time in s: {}", waits.join(", ")),
        format!(
            "deferred deliveries: {} done and {} pending at the end, p90 {} s, max {} s",
            deferred.count,
            of.pending_deliveries.unwrap_or(0),
            number(deferred.p90_s, 3),
            number(deferred.max_s, 3)
        ),
    ]
}

/// What the marks of response times mean, where there are any.
pub fn in_flight(of: &Summary) -> Option<String> {
    let of_types = || of.transactions.iter().map(|(_, of)| of);
    let count: u64 = of_types().map(|of| of.in_flight).sum();
    let transactions = if count == 1 { "transaction was" } else { "transactions were" };
    of_types().any(|of| !of.at_least.is_empty()).then(|| {
        format!("≥: at least; {} {transactions} in flight at the end of the window", grouped(count))
    })
}

/// New orders that the driver saw committed, against those in the database; `None` where they were
/// not counted.
pub fn orders(of: &Summary) -> Option<String> {
    let or_na = |orders: Option<String>| orders.unwrap_or_else(|| "NA".to_owned());
    let rise = |orders: i64| u64::try_from(orders).map_or_else(|_| orders.to_string(), grouped);
    Some(format!(
        "new orders over the whole run: {} committed by the driver, {} in doubt, {} more in the \
         database",
        grouped(of.new_orders_committed_by_driver?),
        or_na(of.new_orders_in_doubt.map(grouped)),
        or_na(of.new_orders_in_database.map(rise))
    ))
}
