//! Was this host the limit of a run on emulated devices, and how much slower would its clocks have
//! to run for it to be none?

use crate::account::Part;
use crate::run::resources::Resources;
use base::Dilation;
use store::Summary;

/// The dilations that are tried, least first.
pub const DILATION_STEPS: [f64; 19] = [
    0.03125, 0.0625, 0.125, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0, 32.0,
    48.0, 64.0, 96.0,
];

/// Below it, requests completed so late that a result tells of the host rather than the device.
pub(crate) const FIDELITY_MIN: f64 = 0.9;
/// What a host is that is no limit: it completes requests when they are due, has cores to spare,
/// and its threads run when they are ready.
const FIDELITY_WANTED: f64 = 0.98;
/// The same where requests are hardly late: of a disk, a few wake up late on the idlest machine.
const FIDELITY_WANTED_IN_TIME: f64 = 0.95;
const HARDLY_LATE_SHARE: f64 = 0.005;
/// The tolerance of fidelity is 20 us of the clock that the server sees, so that it grows with the
/// dilation, and is a fifth of what a fast device takes. How late requests are in the mean, as a
/// share of what the device takes, is how much slower it looks than it is.
const LATENESS_MAX_SHARE: f64 = 0.02;
const CPU_BUSY_MAX_SHARE: f64 = 0.7;
const CORE_WAIT_MAX_SHARE: f64 = 0.05;

/// What of a host limits a run on emulated devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostShortfall {
    /// For people; none where the host is no limit.
    pub reasons: Vec<String>,
    /// The least of [`DILATION_STEPS`], above that of the run, at which the host would be none, as
    /// far as the run can tell.
    pub needed: Option<Dilation>,
}

impl HostShortfall {
    /// What the measurements of a run tell.
    pub fn of(run: &Summary, resources: &Resources) -> HostShortfall {
        let account = resources.account.as_ref();
        let mut reasons = Vec::new();
        let mut judge = |name: &str, share: Option<f64>, is_bad: &dyn Fn(f64) -> bool| {
            if let Some(share) = share.filter(|share| is_bad(*share)) {
                reasons.push(format!("{name} {:.1} %", share * 100.0));
            }
        };
        let is_in_time = run.lateness_share.is_some_and(|share| share <= HARDLY_LATE_SHARE);
        let wanted = if is_in_time { FIDELITY_WANTED_IN_TIME } else { FIDELITY_WANTED };
        judge("fidelity is", run.fidelity, &|share| share < wanted);
        judge("requests are late by", run.lateness_share, &|share| share > LATENESS_MAX_SHARE);
        let busy = resources.cores().1.busy();
        judge("cores are busy for", busy, &|share| share >= CPU_BUSY_MAX_SHARE);
        let waits = |share: f64| share > CORE_WAIT_MAX_SHARE;
        let sessions = account.map(|account| account.share(Part::CoreWait));
        judge("sessions wait for a core for", sessions, &waits);
        let driver = resources.driver.busiest_thread_run_wait_share;
        judge("the driver waits for a core for", driver, &waits);
        let needed = if reasons.is_empty() { None } else { needed(run, resources) };
        HostShortfall { reasons, needed }
    }
}

/// The dilation that a run should have had, where its emulation was not true enough, as far as it
/// tells.
pub(crate) fn dilation_missed(run: &Summary, resources: &Resources) -> Option<Dilation> {
    run.fidelity.filter(|share| *share < FIDELITY_MIN)?;
    HostShortfall::of(run, resources).needed
}

/// In a closed loop with n transactions under way that wait for no row lock, of which each takes c
/// of CPU and waits for devices for d, the cores are busy for n c / (d + c) at most, and c shrinks
/// with the dilation.
fn needed(run: &Summary, resources: &Resources) -> Option<Dilation> {
    let account = resources.account.as_ref()?;
    let (cores, cpu) = resources.cores();
    let cores = cores?;
    let connections = f64::from(run.connections);
    let under_way = connections * (1.0 - account.share(Part::RowLocks));
    let ended_per_us = connections / account.time_us;
    let cpu_us = cpu.busy()? * cores / ended_per_us;
    let waits = [Part::Reads, Part::Log, Part::PageWrites];
    let device_us: f64 = waits.iter().filter_map(|part| account.parts[*part]).sum();
    let now = run.dilation;
    let faster = (under_way * cpu_us / (CPU_BUSY_MAX_SHARE * cores) - cpu_us) / device_us.max(1.0);
    let is_enough = |step: &f64| *step > now && *step >= now * faster;
    Dilation::new(DILATION_STEPS.into_iter().find(is_enough)?)
}

#[cfg(test)]
mod tests {
    use super::{DILATION_STEPS, HostShortfall};
    use crate::account::{Account, KnownBy, OfParts, Part};
    use crate::run::document::measurement;
    use crate::run::resources::{Resources, ServerCores};
    use crate::run::samples::{Samples, Window};
    use crate::run::usage::CpuShares;
    use base::Dilation;
    use store::Summary;
    use testkit::Scratch;

    /// A run of 8 connections.
    fn run() -> Summary {
        let scratch = Scratch::default();
        let repeat = scratch.begin(&testkit::cell());
        testkit::measure(&scratch, repeat, 100);
        Summary { connections: 8, ..measurement(&scratch, repeat).unwrap().summary }
    }

    #[test]
    fn of_a_server_with_cores_of_its_own_these_are_the_limit() {
        let window = Window { start_ns: 0, end_ns: 1 };
        let mut used = Resources::of(&Samples::default().within(window));
        let busy = |used: &Resources| {
            let (cores, cpu) = used.cores();
            Some((cores?, cpu.busy()?))
        };
        assert_eq!(busy(&used), None);
        used.host.cpu_cores = Some(8.0);
        let part = Some(0.0625);
        used.host.cpu =
            CpuShares { user: part, system: part, interrupt: part, steal: part, ..used.host.cpu };
        assert_eq!(busy(&used), Some((8.0, 0.25)));
        let part = Some(0.25);
        let cpu = CpuShares {
            user: part,
            system: part,
            interrupt: part,
            steal: part,
            ..CpuShares::default()
        };
        used.server_cores = Some(ServerCores { cores: 2, cpu, is_drivers: false });
        assert_eq!(busy(&used), Some((2.0, 1.0)));
    }

    /// What is within 20 us of a dilated clock may be far from what the device takes.
    #[test]
    fn late_requests_are_a_limit_though_they_are_in_time() {
        let window = Window { start_ns: 0, end_ns: 1 };
        let used = Resources::of(&Samples::default().within(window));
        let run = run();
        let reasons = |fidelity, lateness_share| {
            let run = Summary { fidelity, lateness_share, dilation: 4.0, ..run.clone() };
            HostShortfall::of(&run, &used).reasons
        };
        assert!(reasons(Some(0.99), Some(0.015)).is_empty());
        assert!(reasons(None, None).is_empty());
        assert_eq!(reasons(Some(0.99), Some(0.125)), ["requests are late by 12.5 %"]);
        assert_eq!(reasons(Some(0.9), Some(0.015)), ["fidelity is 90.0 %"]);
        assert_eq!(reasons(Some(0.9), Some(0.125)).len(), 2);
        assert_eq!(reasons(Some(0.96), Some(0.015)), ["fidelity is 96.0 %"]);
        assert!(reasons(Some(0.96), Some(0.004)).is_empty());
        assert_eq!(reasons(Some(0.94), Some(0.004)), ["fidelity is 94.0 %"]);
    }

    /// Of 8 transactions each takes 4 ms of four cores that are always busy, and waits 1 ms for
    /// devices: 8 x 4 ms / (7.4 x 1 ms + 4 ms) are 70 % of four cores.
    #[test]
    fn time_is_dilated_until_cores_have_idle_time() {
        let window = Window { start_ns: 0, end_ns: 1 };
        let mut used = Resources::of(&Samples::default().within(window));
        used.host.cpu_cores = Some(4.0);
        let part = Some(0.25);
        used.host.cpu =
            CpuShares { user: part, system: part, interrupt: part, steal: part, ..used.host.cpu };
        let mut account = Account {
            time_us: 8_000.0,
            known_by: KnownBy::Sessions,
            parts: OfParts::default(),
            excess_share: 0.0,
            queued_us: None,
        };
        account.parts[Part::Reads] = Some(600.0);
        account.parts[Part::Log] = Some(400.0);
        used.account = Some(account);
        let run = Summary { fidelity: Some(0.5), lateness_share: None, ..run() };
        let needed = |dilation| {
            let run = Summary { dilation, ..run.clone() };
            HostShortfall::of(&run, &used).needed
        };
        assert_eq!(
            (needed(1.0), needed(2.0), needed(96.0), needed(0.03125)),
            (Dilation::new(8.0), Dilation::new(16.0), None, Dilation::new(0.25))
        );
    }

    #[test]
    fn steps_are_dilations_in_order() {
        assert!(DILATION_STEPS.is_sorted());
        assert!(DILATION_STEPS.iter().all(|step| Dilation::new(*step).is_some()));
    }
}
