//! CPUs of a measurement whose servers have cores of their own: the driver leaves these alone.

use crate::error::{LabResult, unfit};
use crate::target::subject::Subject;
use base::CpuList;
use server::{KeptToCpus, allowed_cpus};
use std::io;

/// Which CPUs servers and driver have. As long as it lives, this thread is kept to the driver's,
/// and so are the driver's workers and the samplers, which it starts.
pub(crate) struct RunCpus {
    /// As the kernel tells; of a server that has just died it tells nothing.
    pub(crate) servers: Option<CpuList>,
    pub(crate) driver: CpuList,
    _kept: KeptToCpus,
}

impl RunCpus {
    /// None where the servers are kept to none.
    pub(crate) fn keep(subject: &Subject) -> LabResult<Option<RunCpus>> {
        let Some(cpus) = subject.driver_cpus() else {
            return Ok(None);
        };
        let failed = |error: io::Error| {
            unfit(format!(
                "mydyno cannot be kept to CPUs {cpus}, which its servers do not have: {error}; \
                 leave out --cores (`cores` of a plan), or see what has changed the CPUs of this \
                 process"
            ))
        };
        let kept = KeptToCpus::new(cpus).map_err(failed)?;
        let servers = subject.pid().and_then(|pid| allowed_cpus(Some(pid)).ok());
        let driver = allowed_cpus(None).map_err(failed)?;
        Ok(Some(RunCpus { servers, driver, _kept: kept }))
    }
}
