//! The ranks of a fleet: rank 0 gathers the others, and these drive what it orders, store nothing,
//! and end as it ends.

use crate::error::{LabResult, unfit};
use crate::measure::driving::driver_threads;
use crate::measure::fleet_run::require_real_time;
use crate::measure::preflight;
use crate::measure::rank_usage::WindowUsage;
use crate::measure::workload::{fit, of_each};
use crate::progress::{Job, Progress};
use crate::target::populate::populate_part;
use crate::target::resolved::external;
use crate::target::subject::Subject;
use base::{Exit, counted};
use drive::{Company, Event, RunOptions, Workload};
use fleet::{Agreement, FleetPlace, Follower, Leader, RankOptions, RunJob, RunOrder, Token};
use spec::{Cell, Connections, External, Load, Server};
use std::cell::RefCell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tpcc::LoadOptions;
use xxhash_rust::xxh3::xxh3_64;

/// A fleet that this process is to be part of.
#[derive(Clone, Debug)]
pub struct FleetAsked {
    /// Of all ranks the same: `run`, `ramp` or `load`.
    pub command: &'static str,
    pub place: FleetPlace,
    pub token: Token,
    /// Ranks that may be lost while they drive.
    pub tolerate: u32,
    /// How long ranks wait for each other.
    pub wait: Duration,
}

impl FleetAsked {
    /// Waits for all other ranks, as rank 0.
    ///
    /// # Errors
    /// Where the server is none that all reach, or the fleet does not come together.
    pub fn lead(&self, work: &FleetWork<'_>, job: &Job<'_>) -> LabResult<Leader> {
        require_reachable(work.server())?;
        let agreement = work.agreement(self.command);
        let options = self.options(&agreement);
        let mut told = usize::MAX;
        let leader = Leader::gather(&options, self.tolerate, job.stop, &mut |missing| {
            if missing.len() != told {
                told = missing.len();
                let ranks = counted(missing.len(), "rank", "ranks");
                job.step(&format!("waiting for {ranks} of the fleet at {}", self.place.leader));
            }
        })?;
        job.step(&format!("the fleet is complete: {} ranks", leader.size()));
        Ok(leader)
    }

    /// Joins rank 0 and does what it orders, until it says that all is over.
    ///
    /// # Errors
    /// Where there is no rank 0, or it refuses this one, or is lost.
    pub fn follow(&self, work: &FleetWork<'_>, job: &Job<'_>) -> LabResult<Exit> {
        let subject = external(require_reachable(work.server())?, job)?;
        require_real_time(subject.dilation())?;
        let agreement = work.agreement(self.command);
        let threads = match work {
            FleetWork::Drive(cell) => driver_threads(&cell.load, u32::MAX, &subject),
            FleetWork::Load(..) => 1,
        };
        job.step(&format!("looking for rank 0 at {}", self.place.leader));
        let options = self.options(&agreement);
        let mut follower = Follower::join(&options, threads, job.stop, &mut |why| job.step(why))?;
        loop {
            let done = match (&follower.next(job.stop)?, work) {
                (RunOrder::End { exit_code }, _) => return Ok(Exit::of_code(*exit_code)),
                (RunOrder::Run(run), FleetWork::Drive(cell)) => {
                    let of = counted(run.options.connections as usize, "connection", "connections");
                    let FleetPlace { rank, size, .. } = &self.place;
                    job.step(&format!("driving a share of {of} as rank {rank} of {size}"));
                    drive_share(&mut follower, &subject, cell, run, job.stop)
                }
                (RunOrder::Load { schema }, FleetWork::Load(_, spec)) => {
                    load_share(&mut follower, (&subject, spec), (&self.place, *schema), job)
                }
                _ => Err(unfit("rank 0 orders what was not agreed on")),
            };
            if let Err(error) = done {
                // The leader hears of it, unless it is the one who is lost.
                follower.fail(&error.to_string());
                return Err(error);
            }
        }
    }

    fn options<'a>(&'a self, agreement: &'a Agreement) -> RankOptions<'a> {
        RankOptions { place: &self.place, token: &self.token, agreement, wait: self.wait }
    }
}

/// What a fleet does.
pub enum FleetWork<'a> {
    Drive(&'a Cell),
    Load(&'a Server, &'a LoadOptions),
}

impl FleetWork<'_> {
    fn server(&self) -> &Server {
        match self {
            FleetWork::Drive(cell) => &cell.server,
            FleetWork::Load(server, _) => server,
        }
    }

    fn agreement(&self, command: &str) -> Agreement {
        let key = match self {
            FleetWork::Drive(cell) => cell.key(),
            // Like that, it tells nothing of a password in a DSN.
            FleetWork::Load(server, spec) => {
                let text = format!("{server:?} {:?}", spec.population);
                format!("{:016x}", xxh3_64(text.as_bytes()))
            }
        };
        Agreement { command: command.to_owned(), key }
    }
}

/// The server, which has to be one that all ranks reach.
fn require_reachable(server: &Server) -> LabResult<&External> {
    match server {
        Server::External(external) => Ok(external),
        Server::Private(_) => Err(unfit(
            "--fleet drives one server that all ranks reach; start one (mydyno server start) and \
             name it by --dsn",
        )),
    }
}

/// Loads the part of this rank, as long as rank 0 wants it.
fn load_share(
    follower: &mut Follower,
    (subject, spec): (&Subject, &LoadOptions),
    part: (&FleetPlace, u32),
    job: &Job<'_>,
) -> LabResult<()> {
    let ended = AtomicBool::new(false);
    let mut told = |progress: Progress<'_>| {
        if job.is_stopped() || !follower.is_wanted(job.stop) {
            ended.store(true, Ordering::Relaxed);
        }
        job.tell(progress);
    };
    populate_part(subject, spec, part, &Job::new(&ended, &mut told))?;
    Ok(follower.loaded()?)
}

fn drive_share(
    follower: &mut Follower,
    subject: &Subject,
    cell: &Cell,
    job: &RunJob,
    stop: &AtomicBool,
) -> LabResult<()> {
    let databases = subject.databases()?;
    let RunJob { options, input_seed } = job;
    let connections = options.connections;
    let load = Load { connections: Connections::Fixed(connections), ..cell.load.clone() };
    let fitted = fit(&databases, &load, *input_seed, None)?;
    let sessions_each = if load.xa { subject.instances() } else { 1 };
    preflight::raise_file_limit(connections.saturating_mul(sessions_each))?;
    of_each!(&fitted.workload, workload => drive_workload(follower, workload, options, stop))
}

fn drive_workload<W: Workload>(
    follower: &mut Follower,
    workload: &W,
    options: &RunOptions,
    stop: &AtomicBool,
) -> LabResult<()> {
    let turn = RefCell::new(follower.turn());
    let mut usage = WindowUsage::default();
    let mut start = || turn.borrow_mut().start(stop);
    let ended = drive::run(workload, options, Company::Follows(&mut start), &mut |event| {
        match event {
            Event::WindowBegins => usage.begins(),
            Event::WindowEnds => usage.ends(),
            _ => {}
        }
        turn.borrow_mut().take(&event, stop)
    });
    Ok(turn.into_inner().finish(ended, usage.used())?)
}
