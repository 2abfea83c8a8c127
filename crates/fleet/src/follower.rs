//! Every rank but the first: joins the leader, and does what it is told.

use crate::auth::{Nonce, Side, nonce};
use crate::clock::{ClockOffset, EXCHANGE_TIMEOUT, EXCHANGES, Exchange};
use crate::error::{FleetError, FleetResult};
use crate::launcher::{FleetPlace, RankOptions};
use crate::link::{Link, in_words};
use crate::messages::{
    Introduction, RankAbout, RankShare, RankUsage, RunOrder, ToFollower, ToLeader, Word,
};
use base::Instant;
use drive::{Abort, AbortCause, Control, DrivenShare, Event, RunError, RunReport};
use std::io;
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{self, Duration};

const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);
const CONNECT_TIMEOUT: Duration = Duration::from_secs(2);
/// How long to look for a leader whose name does not resolve.
const NAME_WAIT: Duration = Duration::from_secs(10);
/// Between two tries to reach the leader.
const RETRY_EVERY: Duration = Duration::from_millis(250);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A look that does not wait: the least that a socket's timeout may be.
const AT_ONCE: Duration = Duration::from_micros(1);
/// A rank that has nothing else to say says so.
const ALIVE_EVERY: Duration = Duration::from_secs(1);
/// From the last connection to the start.
const START_TIMEOUT: Duration = Duration::from_secs(600);

/// This rank, which has joined.
pub struct Follower {
    link: Link,
    /// The number of the order under way.
    order: u32,
    /// How rank 0 has ended.
    ended: Option<u8>,
    is_stop_told: bool,
    said: time::Instant,
}

impl Follower {
    /// Joins the leader, who may not be there yet, as a rank that is to have so many driver
    /// threads; `on_wait` is told why there is none, where that has changed. A name that does not
    /// resolve is looked for no longer than a moment, unless names come with their machines.
    ///
    /// # Errors
    /// Where there is no leader, or it refuses this rank.
    pub fn join(
        options: &RankOptions<'_>,
        threads: u32,
        stop: &AtomicBool,
        on_wait: &mut dyn FnMut(&str),
    ) -> FleetResult<Follower> {
        let place = options.place;
        let none = |why: String| FleetError::NoLeader { address: place.leader.clone(), why };
        let begun = time::Instant::now();
        let mut told = String::new();
        loop {
            let (why, wait) = match try_to_join(options, threads) {
                Ok(Ok(link)) => {
                    return Ok(Follower {
                        link,
                        order: 0,
                        ended: None,
                        is_stop_told: false,
                        said: time::Instant::now(),
                    });
                }
                Ok(Err(why)) => return Err(FleetError::Refused { rank: place.rank, why }),
                Err(NotJoined::NoName(why)) if place.names_come_late => (why, options.wait),
                Err(NotJoined::NoName(why)) => (why, options.wait.min(NAME_WAIT)),
                Err(NotJoined::Link(error)) if error.kind() == io::ErrorKind::InvalidData => {
                    return Err(none(error.to_string()));
                }
                Err(NotJoined::Link(error)) => (in_words(&error), options.wait),
            };
            if begun.elapsed() >= wait {
                return Err(none(why));
            }
            if why != told {
                on_wait(&format!("no rank 0 at {} yet: {why}", place.leader));
                told = why;
            }
            if stop.load(Ordering::Relaxed) {
                return Err(FleetError::Interrupted);
            }
            thread::sleep(RETRY_EVERY);
        }
    }

    fn say(&mut self, word: Word) -> io::Result<()> {
        self.said = time::Instant::now();
        self.link.send(&ToLeader { order: self.order, word })
    }

    /// Tells the leader that this rank is there, and that its user wants an end, where that is so.
    fn say_alive(&mut self, stop: &AtomicBool) -> io::Result<()> {
        if stop.load(Ordering::Relaxed) && !self.is_stop_told {
            self.is_stop_told = true;
            self.say(Word::StopAsked)?;
        }
        if self.said.elapsed() >= ALIVE_EVERY {
            self.say(Word::Alive)?;
        }
        Ok(())
    }

    /// What the leader says within this time.
    fn hear(&mut self, wait: Duration) -> io::Result<Option<ToFollower>> {
        let heard = self.link.poll(wait)?;
        if let Some(ToFollower::End { exit_code }) = heard {
            self.ended = Some(exit_code);
        }
        Ok(heard)
    }

    /// Does the leader want what it ordered no more?
    fn is_cancelled(&self, heard: &ToFollower) -> bool {
        match heard {
            ToFollower::Abort { order } => *order == self.order,
            ToFollower::End { .. } => true,
            _ => false,
        }
    }

    /// Waits for what the leader wants.
    ///
    /// # Errors
    /// The leader is gone, or the fleet does not come together.
    pub fn next(&mut self, stop: &AtomicBool) -> FleetResult<RunOrder> {
        loop {
            if let Some(exit_code) = self.ended {
                return Ok(RunOrder::End { exit_code });
            }
            self.say_alive(stop).map_err(leader_lost)?;
            match self.hear(LOOK_EVERY).map_err(leader_lost)? {
                Some(ToFollower::Order { order, what }) => {
                    if matches!(&what, RunOrder::Run(job) if !job.options.is_consistent()) {
                        return Err(rank_0_lost(
                            "the run that it orders has no meaning".to_owned(),
                        ));
                    }
                    self.order = order;
                    return Ok(what);
                }
                Some(ToFollower::Refused(why)) => return Err(rank_0_lost(why)),
                _ => {}
            }
        }
    }

    /// Begins a run that was ordered.
    pub fn turn(&mut self) -> RankTurn<'_> {
        let is_ended_by_leader = false;
        RankTurn { follower: self, start: None, start_late_ns: 0, is_ended_by_leader, lost: None }
    }

    /// Is what was ordered still wanted? For who is at work on it, some times a second.
    pub fn is_wanted(&mut self, stop: &AtomicBool) -> bool {
        let heard = self.say_alive(stop).and_then(|()| self.hear(AT_ONCE));
        heard.is_ok_and(|heard| heard.is_none_or(|heard| !self.is_cancelled(&heard)))
    }

    /// Says that its part is loaded.
    ///
    /// # Errors
    /// The leader is gone.
    pub fn loaded(&mut self) -> FleetResult<()> {
        self.say(Word::Loaded).map_err(leader_lost)
    }

    /// Says why what was ordered cannot be done; nothing where rank 0 wants it no more, or knows
    /// that the user does not. A leader that is gone needs no word.
    pub fn fail(&mut self, why: &str) {
        if self.ended.is_none() && !self.is_stop_told {
            let _ = self.say(Word::Failed(why.to_owned()));
        }
    }
}

fn rank_0_lost(why: String) -> FleetError {
    FleetError::Lost { who: "rank 0".to_owned(), why }
}

fn leader_lost(error: io::Error) -> FleetError {
    rank_0_lost(in_words(&error))
}

/// Why there is no leader yet.
enum NotJoined {
    /// Its name does not resolve.
    NoName(String),
    Link(io::Error),
}

/// The inner error is a refusal.
fn try_to_join(options: &RankOptions<'_>, threads: u32) -> Result<Result<Link, String>, NotJoined> {
    let addresses = options.place.leader.to_socket_addrs().map_err(|error| {
        NotJoined::NoName(format!("its name does not resolve on this machine ({error})"))
    })?;
    let joined = connect(addresses).and_then(Link::unproven).and_then(|mut link| {
        let introduced = introduce(options, threads, &mut link)?;
        Ok(introduced.map(|()| link.proven()))
    });
    joined.map_err(NotJoined::Link)
}

fn connect(addresses: impl Iterator<Item = SocketAddr>) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in addresses {
        match TcpStream::connect_timeout(&address, CONNECT_TIMEOUT) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// The inner error is a refusal.
fn introduce(
    options: &RankOptions<'_>,
    threads: u32,
    link: &mut Link,
) -> io::Result<Result<(), String>> {
    let FleetPlace { rank, size, .. } = *options.place;
    let own: Nonce = nonce().ok_or_else(|| io::Error::other("no random numbers"))?;
    let version = env!("CARGO_PKG_VERSION").to_owned();
    link.send(&Introduction::Hello { version, rank, size, nonce: own })?;
    let theirs = match link.receive(HANDSHAKE_TIMEOUT)? {
        ToFollower::Challenge(nonce) => nonce,
        ToFollower::Refused(why) => return Ok(Err(why)),
        _ => return Ok(Err("rank 0 did not answer as one".to_owned())),
    };
    let proof = options.token.proof(Side::Follower, [&own, &theirs], rank);
    let proof = proof.ok_or_else(|| io::Error::other("no proof can be made"))?;
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let about = RankAbout { host, threads };
    let agreement = options.agreement.clone();
    link.send(&Introduction::Proof { proof, agreement, about })?;
    Ok(match link.receive(HANDSHAKE_TIMEOUT)? {
        ToFollower::Welcome(proof)
            if options.token.verifies(Side::Leader, [&theirs, &own], rank, &proof) =>
        {
            Ok(())
        }
        ToFollower::Welcome(_) => Err("rank 0 does not know the same token".to_owned()),
        ToFollower::Refused(why) => Err(why),
        _ => Err("rank 0 did not answer as one".to_owned()),
    })
}

/// A run of this rank.
pub struct RankTurn<'a> {
    follower: &'a mut Follower,
    start: Option<Instant>,
    start_late_ns: u64,
    is_ended_by_leader: bool,
    lost: Option<io::Error>,
}

impl RankTurn<'_> {
    /// All connections are open: compares clocks, says so, and waits for the start.
    ///
    /// # Errors
    /// The leader is gone, or ends the run before it begins.
    pub fn start(&mut self, stop: &AtomicBool) -> Result<Instant, RunError> {
        let started = self.started(stop);
        let start = started.map_err(|error| RunError::PartnerLost(self.lose(error)))?;
        self.is_ended_by_leader |= start.is_none();
        self.start = start;
        start.ok_or(RunError::Interrupted)
    }

    /// `None` where the leader ends the run before it begins.
    fn started(&mut self, stop: &AtomicBool) -> io::Result<Option<Instant>> {
        let Some(offset) = self.compare_clocks()? else {
            return Ok(None);
        };
        let follower = &mut *self.follower;
        follower.say(Word::Opened { clock_error_ns: offset.error_ns })?;
        let deadline = time::Instant::now() + START_TIMEOUT;
        while time::Instant::now() < deadline {
            follower.say_alive(stop)?;
            match follower.hear(LOOK_EVERY)? {
                Some(ToFollower::Start { at_ns }) => {
                    return Ok(Some(Instant::at_ns(offset.own_ns(at_ns))));
                }
                Some(heard) if follower.is_cancelled(&heard) => return Ok(None),
                _ => {}
            }
        }
        Err(io::ErrorKind::TimedOut.into())
    }

    /// `None` where the leader ends the run meanwhile.
    fn compare_clocks(&mut self) -> io::Result<Option<ClockOffset>> {
        let follower = &mut *self.follower;
        let mut exchanges = Vec::new();
        while exchanges.len() < EXCHANGES {
            let sent_ns = Instant::now().since_origin_ns();
            follower.say(Word::Ping)?;
            let deadline = time::Instant::now() + EXCHANGE_TIMEOUT;
            loop {
                match follower.hear(EXCHANGE_TIMEOUT)? {
                    Some(ToFollower::Pong { now_ns: leader_ns }) => {
                        let received_ns = Instant::now().since_origin_ns();
                        exchanges.push(Exchange { sent_ns, leader_ns, received_ns });
                        break;
                    }
                    Some(heard) if follower.is_cancelled(&heard) => return Ok(None),
                    _ if time::Instant::now() >= deadline => {
                        return Err(io::ErrorKind::TimedOut.into());
                    }
                    _ => {}
                }
            }
        }
        Ok(ClockOffset::of(&exchanges))
    }

    /// Keeps why the leader is lost, and says it.
    fn lose(&mut self, error: io::Error) -> String {
        let reason = leader_lost(io::Error::from(error.kind())).to_string();
        self.lost.get_or_insert(error);
        reason
    }

    /// Tells the leader what happens here, and this run what the leader wants.
    pub fn take(&mut self, event: &Event<'_>, stop: &AtomicBool) -> Control {
        match self.exchange(event, stop) {
            Ok(control) => control,
            Err(error) => {
                let reason = self.lose(error);
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
                self.follower.say(Word::Interval(Box::new((*interval).clone())))?;
                return Ok(Control::Continue);
            }
            Event::WindowBegins | Event::WindowEnds => return Ok(Control::Continue),
            Event::Opening | Event::Tick { .. } => {}
        }
        // The leader ends a run for all.
        self.follower.say_alive(stop)?;
        Ok(match self.follower.hear(AT_ONCE)? {
            Some(ToFollower::Phases(phases)) => Control::EndPhasesAt(phases),
            Some(heard) if self.follower.is_cancelled(&heard) => {
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
    pub fn finish(self, ended: Result<RunReport, RunError>, usage: RankUsage) -> FleetResult<()> {
        if let Some(error) = self.lost {
            return Err(leader_lost(error));
        }
        let last = match ended {
            Ok(RunReport { totals, breakdowns, abandoned, aborted, .. }) => {
                let share =
                    DrivenShare { totals, breakdowns, abandoned, client_cpu_ns: usage.cpu_ns };
                let aborted = aborted.filter(|_| !self.is_ended_by_leader);
                let start_late_ns = self.start_late_ns;
                Word::Share(Box::new(RankShare { share, usage, start_late_ns, aborted }))
            }
            // The leader knows that it ended the run.
            Err(_) if self.is_ended_by_leader => return Ok(()),
            Err(RunError::Open { failed, .. }) => Word::OpenFailed(failed.message),
            Err(error) => Word::Failed(error.to_string()),
        };
        self.follower.say(last).map_err(leader_lost)
    }
}
