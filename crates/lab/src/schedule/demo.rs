//! `mydyno demo`: the main job on private servers, small enough to wait for: four emulated
//! devices.

use crate::error::LabError;
use crate::measure::seeds::new_seed;
use crate::progress::Job;
use crate::schedule::machine::planned;
use crate::schedule::planned::{LabSource, Planned};
use crate::target::private::installed_build;
use base::Dilation;
use plan::Plan;
use server::Home;
use spec::{Private, defaults};

const PLAN: &str = include_str!("demo.toml");
/// Two cores are fast enough then for the devices of the demo to differ as they do.
pub const DILATION: Dilation = Dilation::whole(16);

/// Installs the engine where it is missing, and says what is to be measured: each cell of the
/// demo's plan once.
///
/// # Errors
/// Where the engine cannot be installed, or this machine is not fit.
pub fn planned_demo(
    home: &Home,
    engine: &str,
    dilation: Dilation,
    job: &Job<'_>,
) -> Result<Planned, LabError> {
    if installed_build(home, &Private::of_engine(engine))?.is_none() {
        job.step(&format!("installing {engine}"));
        server::install(home, engine, None, &mut |what| {
            job.step(what);
        })?;
    }
    let of_engine = |name: &str| format!("engine = {name:?}");
    let dilated = |dilation: Dilation| format!("dilate = {dilation}");
    let text = PLAN
        .replace(&of_engine(defaults::ENGINE), &of_engine(engine))
        .replace(&dilated(DILATION), &dilated(dilation));
    let plan = Plan::parse(&text, "the demo's plan")?;
    let mut planned = planned(home, &plan)?;
    let seed = new_seed();
    for (cell, _) in &mut planned.cells {
        cell.what.load.seed = seed;
    }
    planned.name = "demo".to_owned();
    planned.source = LabSource::Demo(plan);
    Ok(planned)
}
