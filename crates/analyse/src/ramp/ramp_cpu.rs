//! How much of the processors the server of a ramp has used up.
//!
//! Where mydyno shares the machine, its own threads, the emulation's spinning, other programs and
//! other guests of the hypervisor make the machine busy too, and say nothing of what the server
//! could still have. So the server's processes and the kernel's interrupts are set against what
//! they had and what nobody had. Of another machine an exporter tells the whole alone; there all
//! that it executed counts. Stolen time is in neither, and is told apart. Of a server that is kept
//! to some cores, only these count.

use crate::run::resources::{HostMachine, Resources};
use serde::Serialize;

/// Whose part of the processors a [`RampCpu`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CpuOf {
    /// The server's processes and the kernel's interrupts.
    Server,
    /// All of the machine that mydyno is on, but mydyno: the server's processes are not known.
    OthersThanDriver,
    /// All of the server's machine, which mydyno is not on.
    Machine,
}

/// The processors of one point of a ramp.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RampCpu {
    /// What was used, of that and of what was idle: 0 to 1.
    pub busy_share: f64,
    pub of: CpuOf,
    /// Of all these cores, what other guests of the hypervisor had while this one wanted it.
    pub steal_share: f64,
}

impl RampCpu {
    /// Of a window; `spin_cores` is what the emulation of devices spun away in the server's
    /// processes. `None` where nothing tells of the server's machine.
    pub(crate) fn of(used: &Resources, spin_cores: f64) -> Option<RampCpu> {
        let host = &used.host;
        let (cores, cpu) = used.cores();
        let cores = cores?;
        let idle = (cpu.idle? + cpu.iowait.unwrap_or(0.0)) * cores;
        let interrupts = cpu.interrupt.unwrap_or(0.0) * cores;
        let executed = (cpu.user? + cpu.system?) * cores + interrupts;
        let server = used.server_process.cpu_cores_used;
        let (busy, of) = match (host.machine?, server) {
            (HostMachine::Exporter, _) => (executed, CpuOf::Machine),
            (HostMachine::Driver, Some(server)) => {
                (server + interrupts - spin_cores, CpuOf::Server)
            }
            (HostMachine::Driver, None) => {
                let driver = used.driver.cpu_cores_used.unwrap_or(0.0);
                (executed - driver, CpuOf::OthersThanDriver)
            }
        };
        let busy = busy.max(0.0);
        (busy + idle > 0.0).then(|| RampCpu {
            busy_share: busy / (busy + idle),
            of,
            steal_share: cpu.steal.unwrap_or(0.0),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuOf, RampCpu};
    use crate::run::resources::{HostMachine, Resources, ServerCores};
    use crate::run::samples::{Samples, Window};
    use crate::run::usage::CpuShares;

    const WINDOW: Window = Window { start_ns: 0, end_ns: 1 };

    /// A machine of four cores: one idle, one with mydyno, 0.4 stolen, 1.4 with the server, of
    /// which the emulation spins 0.5.
    fn used(machine: HostMachine) -> Resources {
        let samples = Samples::default();
        let mut used = Resources::of(&samples.within(WINDOW));
        used.host.machine = Some(machine);
        used.host.cpu_cores = Some(4.0);
        used.host.cpu.user = Some(0.5);
        used.host.cpu.system = Some(0.1);
        used.host.cpu.interrupt = Some(0.05);
        used.host.cpu.steal = Some(0.1);
        used.host.cpu.idle = Some(0.2);
        used.host.cpu.iowait = Some(0.05);
        used.driver.cpu_cores_used = Some(1.0);
        used.server_process.cpu_cores_used = Some(1.4);
        used
    }

    fn told(used: &Resources, spin_cores: f64) -> (CpuOf, f64) {
        let found = RampCpu::of(used, spin_cores).unwrap();
        assert_eq!(found.steal_share, 0.1);
        (found.of, (found.busy_share * 1e6).round() / 1e6)
    }

    #[test]
    fn the_driver_spinning_and_steal_do_not_count() {
        let shared = used(HostMachine::Driver);
        // All but idle and iowait are 75 %; 1.4 + 0.2 - 0.5 of 2.1 cores are the server's.
        let found = told(&shared, 0.5);
        assert_eq!(found, (CpuOf::Server, (1.1_f64 / 2.1 * 1e6).round() / 1e6));
        let mut unknown = shared.clone();
        unknown.server_process.cpu_cores_used = None;
        // 2.6 cores executed, one of them mydyno.
        let expected = (1.6_f64 / 2.6 * 1e6).round() / 1e6;
        assert_eq!(told(&unknown, 0.0), (CpuOf::OthersThanDriver, expected));
    }

    #[test]
    fn of_a_server_with_cores_of_its_own_these_count() {
        let mut kept = used(HostMachine::Driver);
        kept.server_cores = Some(ServerCores {
            cores: 2,
            cpu: CpuShares {
                user: Some(0.6),
                system: Some(0.1),
                iowait: Some(0.0),
                interrupt: Some(0.05),
                steal: Some(0.1),
                idle: Some(0.15),
            },
            is_drivers: false,
        });
        // 1.4 + 0.1 - 0.5 of what is idle besides, 0.3 cores.
        assert_eq!(told(&kept, 0.5), (CpuOf::Server, (1.0_f64 / 1.3 * 1e6).round() / 1e6));
    }

    #[test]
    fn of_another_machine_all_counts() {
        let remote = used(HostMachine::Exporter);
        let expected = (2.6_f64 / 3.6 * 1e6).round() / 1e6;
        assert_eq!(told(&remote, 0.0), (CpuOf::Machine, expected));
    }

    #[test]
    fn of_a_machine_that_is_not_known_nothing_is_said() {
        let mut nothing = used(HostMachine::Driver);
        nothing.host.machine = None;
        assert_eq!(RampCpu::of(&nothing, 0.0), None);
    }
}
