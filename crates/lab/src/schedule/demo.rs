//! `mydyno demo`: the main job on private servers, small enough to wait for: four emulated
//! devices.

use crate::error::LabResult;
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
pub const DILATION: Dilation = Dilation::whole(20);
/// A disk leaves these cores idle: it lives so much faster than the others, and is measured so much
/// longer in its own time, in which it does a hundredth of their orders.
const OF_DISKS: f64 = 20.0;
const LENGTHS: [(&str, &str); 2] =
    [("warmup = \"500ms\"", "warmup = \"10s\""), ("window = \"1500ms\"", "window = \"20s\"")];

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
) -> LabResult<Planned> {
    if installed_build(home, &Private::of_engine(engine))?.is_none() {
        job.step(&format!("installing {engine}"));
        server::install(home, engine, None, &mut |what| job.step(what))?;
    }
    let longer = LENGTHS.iter().fold(PLAN.to_owned(), |text, (of, long)| text.replace(of, long));
    let faster = Dilation::new(dilation.factor() / OF_DISKS).unwrap_or(Dilation::LEAST);
    let of_disks = planned(home, &plan_of(engine, faster, &longer)?)?;
    let plan = plan_of(engine, dilation, PLAN)?;
    let mut planned = planned(home, &plan)?;
    let seed = new_seed();
    for (index, of_disk) in of_disks.cells.into_iter().enumerate() {
        if !of_disk.0.what.server.private().is_some_and(|server| server.placement.has_flash()) {
            planned.cells[index] = of_disk;
            planned.servers[index] = of_disks.servers[index].clone();
        }
        planned.cells[index].0.what.load.seed = seed;
    }
    planned.name = "demo".to_owned();
    planned.source = LabSource::Demo(plan);
    Ok(planned)
}

fn plan_of(engine: &str, dilation: Dilation, text: &str) -> LabResult<Plan> {
    let engine_of = |name: &str| format!("engine = {name:?}");
    let dilated = |dilation: Dilation| format!("dilate = {dilation}");
    let text = text
        .replace(&engine_of(defaults::ENGINE), &engine_of(engine))
        .replace(&dilated(DILATION), &dilated(dilation));
    Ok(Plan::parse(&text, "the demo's plan")?)
}
