//! A rank as a partner of the leader's run: what it is told, and what it reports.

use crate::leader::{Leader, Rank};
use crate::link::{Link, in_words};
use crate::messages::{ClockError, Job, RankAbout, RankUsage, ToLeader, ToMember};
use base::Instant;
use drive::{
    Abort, AbortCause, CommonSchedule, Failed, FailureKind, Partner, PartnerEnd, PartnerReport,
    PhaseOffsets, TransactionInfo,
};
use std::sync::atomic::Ordering;
use std::time::{self, Duration};

/// How often a rank is told of what has changed.
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// A rank says something each second: after so long in silence it is lost.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// A rank whose intervals come so much later than they end is too slow.
const BEHIND_MAX: Duration = Duration::from_secs(10);

/// What a rank came to in the last run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RankOutcome {
    pub rank: u32,
    pub host: String,
    /// Driver threads.
    pub threads: u32,
    /// How far its clock may be from the leader's, after correction.
    pub clock_error_ns: u64,
    /// Between the agreed start and the moment at which it began.
    pub start_late_ns: u64,
    pub usage: RankUsage,
    /// Of primary types, that ended well in the window.
    pub primary: u64,
    /// Why it was lost, where it was.
    pub lost: Option<String>,
}

impl RankOutcome {
    pub(crate) fn of(rank: u32, about: &RankAbout) -> RankOutcome {
        RankOutcome { rank, host: about.host.clone(), ..RankOutcome::default() }
    }
}

pub(crate) struct RankPartner<'a> {
    leader: &'a Leader,
    rank: &'a Rank,
    job: Job,
    types: &'static [TransactionInfo],
}

/// Why a rank is of no use any more.
struct LostRank(String);

impl<'a> RankPartner<'a> {
    pub(crate) fn new(
        leader: &'a Leader,
        rank: &'a Rank,
        job: Job,
        types: &'static [TransactionInfo],
    ) -> RankPartner<'a> {
        *rank.outcome() =
            RankOutcome { threads: job.workers, ..RankOutcome::of(rank.rank, &rank.about) };
        RankPartner { leader, rank, job, types }
    }

    fn opened(
        &self,
        link: &mut Link,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Result<ClockError, String>, LostRank> {
        let lost = |error: std::io::Error| LostRank(in_words(&error));
        link.send(&ToMember::Run(Box::new(self.job.clone()))).map_err(lost)?;
        let mut heard = time::Instant::now();
        loop {
            if is_cancelled() {
                link.send(&ToMember::Abort).map_err(lost)?;
                return Ok(Err("the run was ended before it began".to_owned()));
            }
            let Some(message) = link.poll(LOOK_EVERY).map_err(lost)? else {
                if heard.elapsed() > SILENCE_MAX {
                    return Err(silent());
                }
                continue;
            };
            heard = time::Instant::now();
            match message {
                ToLeader::Opened(error) => return Ok(Ok(error)),
                ToLeader::OpenFailed { message, .. } => return Ok(Err(message)),
                ToLeader::Failed(why) => return Err(LostRank(why)),
                ToLeader::Ping => {
                    let now_ns = Instant::now().since_origin_ns();
                    link.send(&ToMember::Pong { now_ns }).map_err(lost)?;
                }
                _ => {}
            }
        }
    }

    fn driven(
        &self,
        link: &mut Link,
        schedule: &CommonSchedule<'_>,
        report: &mut dyn FnMut(PartnerReport),
    ) -> Result<(), LostRank> {
        let lost = |error: std::io::Error| LostRank(in_words(&error));
        let at_ns = schedule.start().since_origin_ns();
        link.send(&ToMember::Start { at_ns }).map_err(lost)?;
        let (mut told, mut is_abort_told) = (schedule.phases(), false);
        let mut heard = time::Instant::now();
        let mut reported_ns = 0;
        loop {
            let phases = schedule.phases();
            if phases != told {
                told = phases;
                let PhaseOffsets { warmup_end_ns, window_end_ns } = phases;
                link.send(&ToMember::Phases { warmup_end_ns, window_end_ns }).map_err(lost)?;
            }
            if schedule.is_aborted() && !is_abort_told {
                is_abort_told = true;
                link.send(&ToMember::Abort).map_err(lost)?;
            }
            let behind_ns = self.behind_ns(schedule, reported_ns);
            if behind_ns > BEHIND_MAX.as_nanos() as u64 {
                return Err(LostRank(format!(
                    "its last interval ended {:.0} s ago, so it does not keep up",
                    behind_ns as f64 / 1e9
                )));
            }
            let Some(message) = link.poll(LOOK_EVERY).map_err(lost)? else {
                if heard.elapsed() > SILENCE_MAX {
                    return Err(silent());
                }
                continue;
            };
            heard = time::Instant::now();
            let wrong = |what: &str| LostRank(format!("{what} that it sent has no meaning"));
            match message {
                ToLeader::Interval(frame) => {
                    let interval = frame.interval(self.types).map_err(|error| wrong(error.0))?;
                    reported_ns = interval.end_offset_ns;
                    if interval.phase == drive::Phase::Window {
                        self.rank.outcome().primary += interval.primary_completed();
                    }
                    report(PartnerReport::Interval(Box::new(interval)));
                }
                ToLeader::Share(frame) => {
                    let share = frame.share().map_err(|error| wrong(error.0))?;
                    {
                        let mut outcome = self.rank.outcome();
                        outcome.usage = frame.usage;
                        outcome.start_late_ns = frame.start_late_ns;
                    }
                    if let Some(why) = frame.aborted {
                        return Err(LostRank(why));
                    }
                    report(PartnerReport::Share(Box::new(share)));
                    return Ok(());
                }
                ToLeader::StopAsked => self.leader.stop_asked.store(true, Ordering::Relaxed),
                ToLeader::Failed(why) => return Err(LostRank(why)),
                _ => {}
            }
        }
    }

    /// How long ago the interval should have come that is awaited.
    fn behind_ns(&self, schedule: &CommonSchedule<'_>, reported_ns: u64) -> u64 {
        let passed_ns = schedule.start().elapsed().as_nanos() as u64;
        let awaited_ns = (reported_ns + self.job.interval_ns).min(schedule.phases().window_end_ns);
        if reported_ns >= awaited_ns { 0 } else { passed_ns.saturating_sub(awaited_ns) }
    }

    /// A rank that is lost takes no further part in this fleet.
    fn lose(&self, link: &mut Option<Link>, why: &str) {
        *link = None;
        self.rank.outcome().lost = Some(why.to_owned());
    }
}

fn silent() -> LostRank {
    LostRank(format!("nothing was heard of it for {} s", SILENCE_MAX.as_secs()))
}

impl Partner for RankPartner<'_> {
    fn open(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<(), Failed> {
        let mut guard = self.rank.link();
        let opened = match guard.as_mut() {
            Some(link) => self.opened(link, is_cancelled),
            None => Err(LostRank("it was lost in an earlier run".to_owned())),
        };
        let why = match opened {
            Ok(Ok(error)) => {
                self.rank.outcome().clock_error_ns = error.error_ns;
                return Ok(());
            }
            Ok(Err(why)) => why,
            Err(LostRank(why)) => {
                self.lose(&mut guard, &why);
                why
            }
        };
        Err(Failed {
            kind: FailureKind::Fatal,
            code: "rank".into(),
            message: format!("{}: {why}", self.rank.name()),
        })
    }

    fn drive(
        &mut self,
        schedule: &CommonSchedule<'_>,
        report: &mut dyn FnMut(PartnerReport),
    ) -> Result<PartnerEnd, Abort> {
        let mut guard = self.rank.link();
        let driven = match guard.as_mut() {
            Some(link) => self.driven(link, schedule, report),
            None => Err(LostRank("it left".to_owned())),
        };
        let Err(LostRank(why)) = driven else {
            return Ok(PartnerEnd::Finished);
        };
        self.lose(&mut guard, &why);
        let less = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        if self.leader.tolerate.fetch_update(order, order, less).is_ok() {
            return Ok(PartnerEnd::Gone);
        }
        let reason = format!(
            "{} is lost: {why}; --tolerate 1 would have gone on without it",
            self.rank.name()
        );
        Err(Abort { cause: AbortCause::PartnerLost, reason })
    }
}
