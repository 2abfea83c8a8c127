//! A server as a results file knows it.

use crate::snapshot::{AdvisedDevice, NamedValues, ServerMachine, ServerSnapshot, StatusWatch};
use analyse::Account;
use base::{ServerRelease, value_of};
use device::{Profile, Role, Setup};
use store::{Moment, RepeatId, Results, StoreError};

/// What rules can be asked of the server of a run, as the file has it; `None` where the run has no
/// result, or the server's version names no release. What is not stored, such as mount options, no
/// rule speaks of.
///
/// # Errors
/// The file cannot be read.
pub fn stored_snapshot(
    results: &Results,
    run: RepeatId,
    account: Option<Account>,
) -> Result<Option<ServerSnapshot>, StoreError> {
    let repeat = results.repeat(run)?;
    let cell = results.cell(repeat.cell)?;
    let variables: NamedValues = results.variables(run, Moment::Start)?.into_iter().collect();
    let (Some(result), Some(server)) = (&repeat.result, release_of(&variables)) else {
        return Ok(None);
    };
    let status = |moment| -> Result<NamedValues, StoreError> {
        Ok(results.status(run, moment)?.into_iter().collect())
    };
    let (first, last) = (status(Moment::Start)?, status(Moment::End)?);
    // The status is read before the warm-up, and before the run that finds the capacity of a rate
    // in percent.
    let run_ns = result.warmup_measured_ns.unwrap_or(0) + result.measured_window_ns;
    let uptime_s = |of: &NamedValues| of.get("Uptime")?.parse::<f64>().ok();
    // Whole seconds: the rise may be too large by one.
    let counted_s = uptime_s(&last).zip(uptime_s(&first)).map_or(0.0, |(b, a)| b - a - 1.0);
    let watch = StatusWatch { seconds: counted_s.max(run_ns as f64 / 1e9), first, last };
    let place = |role: &str| cell.what.places.iter().find(|place| place.role == role);
    let (data, redo) = (place("data"), place("redo"));
    let setup = results.device_io(run)?.and_then(|io| Setup::parse(&io.shim.setup).ok());
    let emulated = setup.and_then(|setup| setup.profile_of(Role::Data).map(AdvisedDevice::of));
    // mydyno starts servers on its own machine, and has written their option files.
    let is_here = repeat.my_cnf.is_some();
    let facts = if is_here { results.host_facts(&repeat)? } else { Vec::new() };
    let number = |name: &str| value_of(&facts, name)?.parse::<u64>().ok();
    let machine = number("memory_bytes").map(|memory_bytes| ServerMachine {
        memory_bytes,
        cores: number("cpu_cores").unwrap_or(1) as u32,
        numa_nodes: 1,
        ..ServerMachine::default()
    });
    Ok(Some(ServerSnapshot {
        server,
        variables,
        watch,
        data_bytes: repeat.data_bytes,
        machine,
        device: emulated,
        redo_is_apart: data.zip(redo).map(|(data, redo)| data.device != redo.device),
        account,
    }))
}

impl AdvisedDevice {
    /// What its profile promises.
    pub fn of(profile: &Profile) -> AdvisedDevice {
        let gain = profile.random_write_gain(profile.occupancy());
        AdvisedDevice {
            name: profile.name.clone(),
            is_disk: profile.is_disk(),
            random_read_iops: profile.sheet.random_read_iops,
            random_write_iops: profile.sheet.random_write_iops.map(|full| full * gain),
        }
    }
}

/// By what the server says of itself; `None` where that names no release.
pub fn release_of(variables: &NamedValues) -> Option<ServerRelease> {
    let text = |name: &str| variables.get(name).map(String::as_str).unwrap_or_default();
    format!("{} ({})", text("version"), text("version_comment")).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{NamedValues, release_of};
    use base::ServerFamily;

    #[test]
    fn servers_are_known_by_their_words() {
        let of = |version: &str, comment: &str| {
            let named = [("version", version), ("version_comment", comment)];
            let named = named.map(|(name, value)| (name.to_owned(), value.to_owned()));
            release_of(&NamedValues::from(named)).map(|of| (of.family, of.version))
        };
        let mysql = of("5.7.22-log", "MySQL Community Server (GPL)").unwrap();
        assert_eq!(mysql, (ServerFamily::Mysql, (5, 7, 22)));
        let percona = of("8.0.36-28", "Percona Server (GPL), Release 28").unwrap();
        assert_eq!(percona, (ServerFamily::Percona, (8, 0, 36)));
        let mariadb = of("10.11.19-MariaDB-deb12", "Debian 12").unwrap();
        assert_eq!(mariadb, (ServerFamily::MariaDb, (10, 11, 19)));
        assert_eq!(of("trunk", ""), None);
    }
}
