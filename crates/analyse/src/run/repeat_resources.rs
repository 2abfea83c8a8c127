//! What one repeat used, with what it cost and what bound it.

use crate::account::Account;
use crate::account::driver::{Driver, busy_rank};
use crate::account::load::WindowLoad;
use crate::run::nodes::{held_up, nodes_in};
use crate::run::price::PriceResources;
use crate::run::resources::{PerTransaction, Resources};
use crate::run::samples::{ReadRepeat, Window};
use crate::run::usage::emulated_iowait;
use base::{CpuList, value_of};
use store::MetricSource::Shim;
use store::{Rates, RepeatStatus, StoreResult, StoredRank};

/// What a repeat used; `None` where it failed or was not sampled.
///
/// # Errors
/// The file cannot be read.
pub fn used_by(of: ReadRepeat<'_>) -> StoreResult<Option<Resources>> {
    let ReadRepeat { results, repeat, cell, totals, samples } = of;
    let is_sampled = repeat.status == RepeatStatus::Done && !samples.is_empty();
    let window = of.window().filter(|window| is_sampled && window.length_ns() > 0);
    let Some(window) = window else { return Ok(None) };
    let of_window = samples.within(window);
    let mut resources = Resources::of(&of_window);
    resources.server_cores = of_window.server_cores(repeat);
    let emulated = cell.what.places.iter().any(|place| place.emulated);
    if emulated {
        let roles = samples.labels(Shim, "busy_ns");
        resources.host.emulated_iowait_share = emulated_iowait(roles, &of_window.get());
    }
    let nopm = Rates::of(repeat, totals).nopm;
    let watts = resources.power.watts_mean.filter(|watts| *watts > 0.0);
    resources.power.nopm_per_watt = nopm.zip(watts).map(|(nopm, watts)| nopm / watts);
    if let Some(io) = results.device_io(repeat.id)? {
        resources.price = PriceResources::of(&io.shim.setup, nopm);
    }
    let load = WindowLoad::of(of, window.length_ns())?;
    if totals.completed() > 0 {
        resources.per_transaction =
            PerTransaction::of(&of_window, &resources, totals, &load, &cell.what);
    }
    of_window.judge(of, load, &mut resources)?;
    if let Some(driver) = driver_of(of)? {
        resources.bound = resources.bound.map(|bound| driver.advise(bound));
    }
    let ranks: Vec<StoredRank> = results.get(repeat.id)?;
    let other =
        busy_rank(&ranks, window.length_ns()).or_else(|| held_up(&nodes_in(&of_window, &[])));
    resources.bound = other.or(resources.bound);
    Ok(Some(resources))
}

/// Where the time of a transaction goes in the window of a repeat that is measured now, as far as
/// it is there: `end_ns` after its start. `None` before the window, and where it is not known.
///
/// # Errors
/// The file cannot be read.
pub fn account_so_far(of: ReadRepeat<'_>, end_ns: u64) -> StoreResult<Option<Account>> {
    let ReadRepeat { repeat, cell, samples, .. } = of;
    let start_ns = repeat.warmup_ns(&cell.what);
    if end_ns <= start_ns || samples.is_empty() {
        return Ok(None);
    }
    let of_window = samples.within(Window { start_ns, end_ns });
    let mut resources = Resources::of(&of_window);
    resources.server_cores = of_window.server_cores(repeat);
    let load = WindowLoad::of(of, end_ns - start_ns)?;
    of_window.judge(of, load, &mut resources)?;
    Ok(resources.account)
}

/// The driver of a repeat; `None` where its threads or its cores are not known.
fn driver_of(of: ReadRepeat<'_>) -> StoreResult<Option<Driver>> {
    let ReadRepeat { results, repeat, cell, .. } = of;
    let facts = results.host_facts(repeat)?;
    let of_host = value_of(&facts, "cpu_cores").and_then(|cores| cores.parse().ok());
    let own = repeat.driver_cpus.as_ref().and_then(|list| list.parse().ok());
    let own = own.map(|list: CpuList| list.len() as u32);
    Ok(repeat.driver_threads.zip(own.or(of_host)).map(|(threads, cores)| Driver {
        threads,
        cores,
        leaves_cores: own < of_host && own.is_some(),
        connections: cell.what.connections,
    }))
}
