//! Every rank but the first: joins the leader, and does what it is told.

use crate::auth::{Nonce, Side, Token, nonce};
use crate::clock::{ClockOffset, EXCHANGE_TIMEOUT, EXCHANGES, Exchange};
use crate::encode::{IntervalFrame, ShareFrame};
use crate::error::FleetError;
use crate::frame::FRAME_BYTES_MAX;
use crate::launcher::FleetPlace;
use crate::link::{Link, in_words};
use crate::messages::{Agreement, ClockError, Job, RankAbout, RankUsage, ToLeader, ToMember};
use base::Instant;
use drive::{Abort, AbortCause, Control, DrivenShare, Event, PhaseOffsets, RunError, RunReport};
use std::io;
use std::net::TcpStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{self, Duration};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
/// Between two tries to reach the leader.
const RETRY_EVERY: Duration = Duration::from_millis(250);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A look that does not wait: the least that a socket's timeout may be.
const AT_ONCE: Duration = Duration::from_micros(1);
/// A rank that has nothing else to say says so.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// From the last connection to the start.
const START_TIMEOUT: Duration = Duration::from_secs(600);

/// What a member is to join.
#[derive(Debug)]
pub struct MemberOptions<'a> {
    pub place: &'a FleetPlace,
    pub token: &'a Token,
    pub agreement: &'a Agreement,
    /// Driver threads that this rank is to have.
    pub threads: u32,
    /// How long to look for the leader.
    pub wait: Duration,
}

/// This rank, which has joined.
pub struct Member {
    link: Link,
}

/// What the leader wants next.
#[derive(Debug, PartialEq)]
pub enum RunOrder {
    Run(Box<Job>),
    /// Load its part of a schema, by number.
    Load {
        schema: u32,
    },
    /// Exit so.
    End {
        exit_code: u8,
    },
}

impl Member {
    /// Joins the leader, who may not be there yet.
    ///
    /// # Errors
    /// Where there is no leader, or it refuses this rank.
    pub fn join(options: &MemberOptions<'_>, stop: &AtomicBool) -> Result<Member, FleetError> {
        let rank = options.place.rank;
        let none =
            |why: String| FleetError::NoLeader { address: options.place.leader.clone(), why };
        let begun = time::Instant::now();
        loop {
            let joined = TcpStream::connect(options.place.leader.as_str())
                .and_then(|stream| Link::unproven(stream, FRAME_BYTES_MAX))
                .and_then(|mut link| Ok((introduce(options, &mut link)?, link)));
            match joined {
                Ok((Ok(()), link)) => return Ok(Member { link: link.proven() }),
                Ok((Err(why), _)) => return Err(FleetError::Refused { rank, why }),
                Err(error) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(none(error.to_string()));
                }
                Err(error) if begun.elapsed() >= options.wait => {
                    return Err(none(in_words(&error)));
                }
                Err(_) => {}
            }
            if stop.load(Ordering::Relaxed) {
                return Err(FleetError::Interrupted);
            }
            thread::sleep(RETRY_EVERY);
        }
    }

    /// Waits for what the leader wants.
    ///
    /// # Errors
    /// The leader is gone.
    pub fn next(&mut self, stop: &AtomicBool) -> Result<RunOrder, FleetError> {
        let mut is_told = false;
        loop {
            if stop.load(Ordering::Relaxed) && !is_told {
                is_told = true;
                self.link.send(&ToLeader::StopAsked).map_err(leader_lost)?;
            }
            match self.link.poll(LOOK_EVERY).map_err(leader_lost)? {
                Some(ToMember::Run(job)) => return Ok(RunOrder::Run(job)),
                Some(ToMember::Load { schema }) => return Ok(RunOrder::Load { schema }),
                Some(ToMember::End { exit_code }) => return Ok(RunOrder::End { exit_code }),
                _ => {}
            }
        }
    }

    /// Begins a run that was ordered.
    pub fn turn(&mut self) -> RankTurn<'_> {
        RankTurn {
            link: &mut self.link,
            said: time::Instant::now(),
            start: None,
            start_late_ns: 0,
            is_stop_told: false,
            is_ended_by_leader: false,
            lost: None,
        }
    }

    /// Says that its part is loaded.
    ///
    /// # Errors
    /// The leader is gone.
    pub fn loaded(&mut self) -> Result<(), FleetError> {
        self.link.send(&ToLeader::Loaded).map_err(leader_lost)
    }

    /// Says why what was ordered cannot be done. A leader that is gone knows it.
    pub fn fail(&mut self, why: &str) {
        let _ = self.link.send(&ToLeader::Failed(why.to_owned()));
    }
}

fn leader_lost(error: io::Error) -> FleetError {
    FleetError::Lost { who: "rank 0".to_owned(), why: in_words(&error) }
}

/// The inner error is a refusal.
fn introduce(options: &MemberOptions<'_>, link: &mut Link) -> io::Result<Result<(), String>> {
    let FleetPlace { rank, size, .. } = *options.place;
    let own: Nonce = nonce().ok_or_else(|| io::Error::other("no random numbers"))?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    link.send(&ToLeader::Hello { version, rank, size, nonce: own })?;
    let (theirs, proof) = match link.receive(HANDSHAKE_TIMEOUT)? {
        ToMember::Challenge { nonce, proof } => (nonce, proof),
        ToMember::Refused(why) => return Ok(Err(why)),
        _ => return Ok(Err("rank 0 did not answer as one".to_owned())),
    };
    if !options.token.verifies(Side::Leader, [&theirs, &own], rank, &proof) {
        return Ok(Err("rank 0 does not know the same token".to_owned()));
    }
    let proof = options.token.proof(Side::Member, [&own, &theirs], rank);
    let proof = proof.ok_or_else(|| io::Error::other("no proof can be made"))?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let about = RankAbout { host, threads: options.threads };
    link.send(&ToLeader::Proof { proof, agreement: options.agreement.clone(), about })?;
    Ok(match link.receive(HANDSHAKE_TIMEOUT)? {
        ToMember::Welcome => Ok(()),
        ToMember::Refused(why) => Err(why),
        _ => Err("rank 0 did not answer as one".to_owned()),
    })
}

/// A run of this rank.
pub struct RankTurn<'a> {
    link: &'a mut Link,
    said: time::Instant,
    start: Option<Instant>,
    start_late_ns: u64,
    is_stop_told: bool,
    is_ended_by_leader: bool,
    lost: Option<io::Error>,
}

impl RankTurn<'_> {
    /// All connections are open: compares clocks, says so, and waits for the start.
    ///
    /// # Errors
    /// The leader is gone, or ends the run before it begins.
    pub fn start(&mut self) -> Result<Instant, RunError> {
        let gone = |error: io::Error| RunError::PartnerLost(leader_lost(error).to_string());
        let offset = self.compare_clocks().map_err(gone)?;
        let opened = ClockError { error_ns: offset.error_ns };
        self.link.send(&ToLeader::Opened(opened)).map_err(gone)?;
        let deadline = time::Instant::now() + START_TIMEOUT;
        loop {
            match self.link.poll(LOOK_EVERY).map_err(gone)? {
                Some(ToMember::Start { at_ns }) => {
                    let start = Instant::at_ns(offset.own_ns(at_ns));
                    self.start = Some(start);
                    return Ok(start);
                }
                Some(ToMember::Abort | ToMember::End { .. }) => return Err(RunError::Interrupted),
                _ if time::Instant::now() > deadline => {
                    return Err(gone(io::ErrorKind::TimedOut.into()));
                }
                _ => self.say_alive().map_err(gone)?,
            }
        }
    }

    fn compare_clocks(&mut self) -> io::Result<ClockOffset> {
        let mut exchanges = Vec::new();
        while exchanges.len() < EXCHANGES {
            let sent_ns = Instant::now().since_origin_ns();
            self.link.send(&ToLeader::Ping)?;
            match self.link.receive(EXCHANGE_TIMEOUT)? {
                ToMember::Pong { now_ns: leader_ns } => {
                    let received_ns = Instant::now().since_origin_ns();
                    exchanges.push(Exchange { sent_ns, leader_ns, received_ns });
                }
                _ => return Err(io::Error::other("rank 0 ended the run before it began")),
            }
        }
        ClockOffset::of(&exchanges).ok_or_else(|| io::Error::other("no clock was compared"))
    }

    fn say_alive(&mut self) -> io::Result<()> {
        if self.said.elapsed() >= ALIVE_EVERY {
            self.said = time::Instant::now();
            self.link.send(&ToLeader::Alive)?;
        }
        Ok(())
    }

    /// Tells the leader what happens here, and this run what the leader wants.
    pub fn take(&mut self, event: &Event<'_>, stop: &AtomicBool) -> Control {
        match self.exchange(event, stop) {
            Ok(control) => control,
            Err(error) => {
                let reason = leader_lost(io::Error::from(error.kind())).to_string();
                self.lost.get_or_insert(error);
                Control::Abort(Abort { cause: AbortCause::PartnerLost, reason })
            }
        }
    }

    fn exchange(&mut self, event: &Event<'_>, stop: &AtomicBool) -> io::Result<Control> {
        match event {
            Event::Started => {
                let late = self.start.map_or(Duration::ZERO, Instant::elapsed);
                self.start_late_ns = late.as_nanos() as u64;
                return Ok(Control::Continue);
            }
            Event::Interval(interval) => {
                self.said = time::Instant::now();
                let frame = Box::new(IntervalFrame::of(interval));
                self.link.send(&ToLeader::Interval(frame))?;
                return Ok(Control::Continue);
            }
            Event::WindowBegins | Event::WindowEnds => return Ok(Control::Continue),
            Event::Opening | Event::Tick { .. } => {}
        }
        // The leader ends a run for all.
        if stop.load(Ordering::Relaxed) && !self.is_stop_told {
            self.is_stop_told = true;
            self.link.send(&ToLeader::StopAsked)?;
        }
        self.say_alive()?;
        Ok(match self.link.poll(AT_ONCE)? {
            Some(ToMember::Phases { warmup_end_ns, window_end_ns }) => {
                Control::EndPhasesAt(PhaseOffsets { warmup_end_ns, window_end_ns })
            }
            Some(ToMember::Abort | ToMember::End { .. }) => {
                self.is_ended_by_leader = true;
                let reason = "rank 0 ended the run".to_owned();
                Control::Abort(Abort { cause: AbortCause::PartnerLost, reason })
            }
            _ => Control::Continue,
        })
    }

    /// Tells the leader how the run ended here.
    ///
    /// # Errors
    /// The leader is gone.
    pub fn finish(
        self,
        ended: Result<RunReport, RunError>,
        usage: RankUsage,
    ) -> Result<(), FleetError> {
        if let Some(error) = self.lost {
            return Err(leader_lost(error));
        }
        let last = match ended {
            Ok(report) => {
                let aborted = report.aborted.filter(|_| !self.is_ended_by_leader);
                let share = DrivenShare {
                    totals: report.totals,
                    breakdowns: report.breakdowns,
                    abandoned: report.abandoned,
                    client_cpu_ns: usage.cpu_ns,
                };
                let mut frame = ShareFrame::of(&share, usage, self.start_late_ns);
                frame.aborted = aborted.map(|abort| abort.reason);
                ToLeader::Share(Box::new(frame))
            }
            Err(RunError::Open { failed, .. }) => {
                ToLeader::OpenFailed { code: failed.code.into_owned(), message: failed.message }
            }
            // The leader knows that it ended the run.
            Err(RunError::Interrupted) => return Ok(()),
            Err(RunError::PartnerLost(why)) => {
                return Err(FleetError::Lost { who: "rank 0".to_owned(), why });
            }
            Err(error) => ToLeader::Failed(error.to_string()),
        };
        self.link.send(&last).map_err(leader_lost)
    }
}
