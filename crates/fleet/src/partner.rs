//! A rank as a partner of the leader's run: what it is told, and what it reports.

use crate::leader::{JoinedRank, Leader};
use crate::link::{Link, in_words};
use crate::messages::{RankShare, RunJob, RunOrder, ToFollower, ToLeader, Word};
use base::Instant;
use drive::{
    Abort, AbortCause, DrivenShare, Failed, FailureKind, Interval, Partner, PartnerEnd, Phase,
    Schedule, TransactionInfo,
};
use std::io;
use std::sync::atomic::Ordering;
use std::time::Duration;
use store::StoredRank;

/// How often a rank is told of what has changed: well within the half second that the end of a
/// phase is known before.
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// A rank says something each second: after so long in silence it is lost.
const SILENCE_MAX: Duration = Duration::from_secs(10);
/// Before its first word on a run.
const FIRST_WORD_MAX: Duration = Duration::from_secs(120);
/// A rank whose intervals come so much later than they end, or that ends so much later than it
/// should, is too slow.
const BEHIND_MAX: Duration = Duration::from_secs(10);

pub(crate) struct RankPartner<'a> {
    leader: &'a Leader,
    rank: &'a JoinedRank,
    /// The number of this run.
    order: u32,
    job: RunJob,
    types: &'static [TransactionInfo],
}

/// Why a rank does not drive to the end.
enum RankEnd {
    /// It is of no use any more.
    Lost(String),
    /// It ended its part, for a reason that is not its own.
    Aborted(Abort),
}

impl From<io::Error> for RankEnd {
    fn from(error: io::Error) -> RankEnd {
        RankEnd::Lost(in_words(&error))
    }
}

impl<'a> RankPartner<'a> {
    pub(crate) fn new(
        leader: &'a Leader,
        rank: &'a JoinedRank,
        job: RunJob,
        types: &'static [TransactionInfo],
    ) -> RankPartner<'a> {
        *rank.outcome() = StoredRank {
            rank: rank.rank,
            host: rank.about.host.clone(),
            driver_threads: job.options.workers,
            ..StoredRank::default()
        };
        RankPartner { leader, rank, order: leader.next_order(), job, types }
    }

    /// What the rank says of this run within a look.
    fn word(&self, link: &mut Link) -> io::Result<Option<Word>> {
        let Some(ToLeader { order, word }) = link.poll(LOOK_EVERY)? else {
            return Ok(None);
        };
        Ok(match word {
            Word::StopAsked => {
                self.leader.stop_asked.store(true, Ordering::Relaxed);
                Some(Word::Alive)
            }
            // A late word on an order before this one.
            _ if order != self.order => Some(Word::Alive),
            word => Some(word),
        })
    }

    /// The inner error is why it cannot open its connections.
    fn opened(
        &self,
        link: &mut Link,
        is_cancelled: &dyn Fn() -> bool,
    ) -> Result<Result<u64, String>, RankEnd> {
        let order = self.order;
        let what = RunOrder::Run(Box::new(self.job.clone()));
        link.send(&ToFollower::Order { order, what })?;
        // Before it opens connections it looks at the databases, and says nothing.
        let mut silence_max = FIRST_WORD_MAX;
        loop {
            if is_cancelled() {
                link.send(&ToFollower::Abort { order })?;
                return Ok(Err("the run was ended before it began".to_owned()));
            }
            let Some(word) = self.word(link)? else {
                require_heard(link, silence_max)?;
                continue;
            };
            silence_max = SILENCE_MAX;
            match word {
                Word::Opened { clock_error_ns } => return Ok(Ok(clock_error_ns)),
                Word::OpenFailed(message) => return Ok(Err(message)),
                Word::Failed(why) => return Err(RankEnd::Lost(why)),
                Word::Ping => {
                    let now_ns = Instant::now().since_origin_ns();
                    link.send(&ToFollower::Pong { now_ns })?;
                }
                _ => {}
            }
        }
    }

    fn driven(
        &self,
        link: &mut Link,
        schedule: &Schedule,
        report: &mut dyn FnMut(Interval),
    ) -> Result<Box<DrivenShare>, RankEnd> {
        let at_ns = schedule.start().since_origin_ns();
        link.send(&ToFollower::Start { at_ns })?;
        let (mut told, mut is_abort_told) = (schedule.phases(), false);
        let mut reported_ns = 0;
        loop {
            let phases = schedule.phases();
            // An abort ends the phases at once, which would be news that comes too late.
            if schedule.aborted() {
                if !is_abort_told {
                    is_abort_told = true;
                    link.send(&ToFollower::Abort { order: self.order })?;
                }
            } else if phases != told {
                told = phases;
                link.send(&ToFollower::Phases(phases))?;
            }
            let Some(word) = self.word(link)? else {
                self.require_in_time(schedule, reported_ns)?;
                require_heard(link, SILENCE_MAX)?;
                continue;
            };
            match word {
                Word::Interval(told) => {
                    let interval = Interval { types: self.types, ..*told };
                    if !interval.is_consistent() {
                        let why = "an interval that it sent has no meaning";
                        return Err(RankEnd::Lost(why.to_owned()));
                    }
                    reported_ns = interval.end_offset_ns;
                    if interval.phase == Phase::Window {
                        self.rank.outcome().primary_transactions += interval.primary_completed();
                    }
                    report(interval);
                }
                Word::Share(last) => return self.ended(*last),
                Word::Failed(why) => return Err(RankEnd::Lost(why)),
                _ => {}
            }
        }
    }

    /// Takes the last word on the run.
    fn ended(&self, last: RankShare) -> Result<Box<DrivenShare>, RankEnd> {
        let RankShare { share, usage, start_late_ns, aborted } = last;
        usage.tell(&mut self.rank.outcome());
        self.rank.outcome().start_late_ns = start_late_ns;
        match aborted {
            None => Ok(Box::new(share)),
            Some(Abort { cause: AbortCause::PartnerLost, reason }) => Err(RankEnd::Lost(reason)),
            Some(Abort { cause, reason }) => {
                let reason = format!("{}: {reason}", self.rank.name());
                Err(RankEnd::Aborted(Abort { cause, reason }))
            }
        }
    }

    /// A rank that is behind although nothing of it waits to be read does not keep up.
    fn require_in_time(&self, schedule: &Schedule, reported_ns: u64) -> Result<(), RankEnd> {
        let passed_ns = schedule.start().elapsed().as_nanos() as u64;
        let next_ns = reported_ns + self.job.options.interval.as_nanos() as u64;
        let awaited_ns = next_ns.min(schedule.phases().window_end_ns);
        let is_behind = reported_ns < awaited_ns
            && Duration::from_nanos(passed_ns.saturating_sub(awaited_ns)) > BEHIND_MAX;
        if is_behind || schedule.past_drain() > BEHIND_MAX {
            let late_s = BEHIND_MAX.as_secs();
            return Err(RankEnd::Lost(format!("it is more than {late_s} s behind the others")));
        }
        Ok(())
    }

    /// A rank that is lost takes no further part in this fleet.
    fn lose(&self, link: &mut Option<Link>, why: &str) {
        *link = None;
        self.rank.outcome().lost = Some(why.to_owned());
    }
}

fn require_heard(link: &Link, silence_max: Duration) -> Result<(), RankEnd> {
    if link.silence() <= silence_max {
        return Ok(());
    }
    Err(RankEnd::Lost(format!("nothing was heard of it for {} s", silence_max.as_secs())))
}

fn left() -> RankEnd {
    RankEnd::Lost("it left".to_owned())
}

impl Partner for RankPartner<'_> {
    fn open(&mut self, is_cancelled: &dyn Fn() -> bool) -> Result<(), Failed> {
        let mut guard = self.rank.link();
        let link = guard.as_mut().ok_or_else(left);
        let opened = link.and_then(|link| self.opened(link, is_cancelled));
        let why = match opened {
            Ok(Ok(clock_error_ns)) => {
                self.rank.outcome().clock_error_ns = clock_error_ns;
                return Ok(());
            }
            Ok(Err(why)) | Err(RankEnd::Aborted(Abort { reason: why, .. })) => why,
            Err(RankEnd::Lost(why)) => {
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

    fn cancel(&mut self) {
        self.rank.tell(&ToFollower::Abort { order: self.order });
    }

    fn drive(&mut self, schedule: &Schedule, report: &mut dyn FnMut(Interval)) -> PartnerEnd {
        let mut guard = self.rank.link();
        let link = guard.as_mut().ok_or_else(left);
        let driven = link.and_then(|link| self.driven(link, schedule, report));
        let why = match driven {
            Ok(share) => return PartnerEnd::Finished(share),
            Err(RankEnd::Aborted(abort)) => return PartnerEnd::Gone(Some(abort)),
            Err(RankEnd::Lost(why)) => why,
        };
        self.lose(&mut guard, &why);
        let less = |left: u32| left.checked_sub(1);
        let order = Ordering::Relaxed;
        if self.leader.tolerate.fetch_update(order, order, less).is_ok() {
            return PartnerEnd::Gone(None);
        }
        let reason = format!(
            "{} is lost: {why}; --tolerate 1 would have gone on without it",
            self.rank.name()
        );
        PartnerEnd::Gone(Some(Abort { cause: AbortCause::PartnerLost, reason }))
    }
}
