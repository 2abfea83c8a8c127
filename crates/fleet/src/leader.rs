//! Rank 0: waits for all others, and leads their runs.

use crate::auth::{Nonce, Side, nonce};
use crate::error::{FleetError, FleetResult};
use crate::launcher::{FleetPlace, RankOptions};
use crate::link::{Link, in_words};
use crate::messages::{
    Agreement, Introduction, RankAbout, RunJob, RunOrder, ToFollower, ToLeader, Word,
};
use crate::partner::RankPartner;
use base::lock;
use drive::{Partner, RunOptions, TransactionInfo, WorkerPlace};
use std::collections::VecDeque;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use store::StoredRank;

/// One who connects has so long to prove itself.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Those who try at the same time. Another takes the place of the one who has tried longest.
const HANDSHAKES_MAX: usize = 64;
/// That one has to have tried for so long, else the other is turned away: a rank that comes in a
/// crowd is not sent away before it could prove anything, and tries again.
const HANDSHAKE_LEAST: Duration = Duration::from_millis(250);
/// A rank that loads says something each second: after so long in silence it is lost.
const LOAD_SILENCE_MAX: Duration = Duration::from_secs(30);
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Refusals that a message names.
const REFUSALS_TOLD: usize = 3;

/// Rank 0 with all others.
#[derive(Debug)]
pub struct Leader {
    ranks: Vec<JoinedRank>,
    pub(crate) tolerate: AtomicU32,
    /// Somebody at another rank asked to stop.
    pub(crate) stop_asked: AtomicBool,
    orders: AtomicU32,
}

/// Driver threads of all ranks that are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DividedWorkers {
    /// Of this rank.
    pub own: u32,
    /// Of the others, each with its place among them.
    others: Vec<(usize, u32)>,
}

impl DividedWorkers {
    /// Of all ranks together.
    pub fn of_all(&self) -> u32 {
        self.own + self.others.iter().map(|(_, workers)| workers).sum::<u32>()
    }
}

/// Another rank, as the leader has it.
#[derive(Debug)]
pub(crate) struct JoinedRank {
    pub(crate) rank: u32,
    pub(crate) about: RankAbout,
    link: Mutex<Option<Link>>,
    outcome: Mutex<StoredRank>,
}

impl JoinedRank {
    pub(crate) fn link(&self) -> MutexGuard<'_, Option<Link>> {
        // A link whose holder panicked sends what it sends; the run has failed by then.
        lock(&self.link)
    }

    pub(crate) fn outcome(&self) -> MutexGuard<'_, StoredRank> {
        lock(&self.outcome)
    }

    fn with_link<T>(&self, exchange: impl FnOnce(&mut Link) -> io::Result<T>) -> FleetResult<T> {
        let lost = |why: String| FleetError::Lost { who: self.name(), why };
        match self.link().as_mut() {
            Some(link) => exchange(link).map_err(|error| lost(in_words(&error))),
            None => Err(lost("it left".to_owned())),
        }
    }

    /// Tells it something that it may not hear: one that is gone is found out when it is to work.
    pub(crate) fn tell(&self, what: &ToFollower) {
        let _ = self.with_link(|link| link.send(what));
    }

    /// For people.
    pub(crate) fn name(&self) -> String {
        format!("rank {} ({})", self.rank, self.about.host)
    }
}

/// One who has proven itself, with the proof that it waits for; or who is turned away.
type Candidate = Result<(JoinedRank, Vec<u8>), TurnedAway>;

enum TurnedAway {
    /// It belongs to the fleet and was asked for another run: the fleet fails.
    Disagrees {
        rank: u32,
        why: String,
    },
    Unknown(String),
}

impl Leader {
    /// Waits until all other ranks have joined, of which `tolerate` may be lost while they drive;
    /// `on_wait` is told of those that are missing, some times a second.
    ///
    /// # Errors
    /// Where ranks are missing after the time, disagree, or nobody can reach this one.
    pub fn gather(
        options: &RankOptions<'_>,
        tolerate: u32,
        stop: &AtomicBool,
        on_wait: &mut dyn FnMut(&[u32]),
    ) -> FleetResult<Leader> {
        let listener = listen(&options.place.leader)?;
        let mut gathered = Gathered::default();
        let ended = gathered.wait_for_all(options, &listener, stop, on_wait);
        let mut ranks = gathered.ranks;
        ranks.sort_by_key(|rank| rank.rank);
        if let Err(error) = ended {
            for rank in &ranks {
                // One that is gone needs no reason.
                rank.tell(&ToFollower::Refused(format!("the fleet ends: {error}")));
            }
            return Err(error);
        }
        Ok(Leader {
            ranks,
            tolerate: AtomicU32::new(tolerate),
            stop_asked: AtomicBool::new(false),
            orders: AtomicU32::new(0),
        })
    }

    /// The number of another order; the first is 1.
    pub(crate) fn next_order(&self) -> u32 {
        self.orders.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ranks, this one among them.
    pub fn size(&self) -> u32 {
        self.ranks.len() as u32 + 1
    }

    /// Did somebody at another rank ask to stop?
    pub fn is_stop_asked(&self) -> bool {
        self.stop_asked.load(Ordering::Relaxed)
    }

    /// Divides so many connections, at least one for each rank that is there: each rank has its
    /// driver threads, `own` of this one, as long as there are connections for them.
    pub fn divide(&self, own: NonZeroU32, connections: u32) -> DividedWorkers {
        let there: Vec<(usize, u32)> = (0..)
            .zip(&self.ranks)
            .filter(|(_, rank)| rank.link().is_some())
            .map(|(place, rank)| (place, rank.about.threads))
            .collect();
        let mut left = connections.saturating_sub(there.len() as u32 + 1);
        let mut given = |asked: u32| {
            let more = asked.saturating_sub(1).min(left);
            left -= more;
            1 + more
        };
        DividedWorkers {
            own: given(own.get()),
            others: there.into_iter().map(|(place, asked)| (place, given(asked))).collect(),
        }
    }

    /// The other ranks that are there as partners of a run; `job` is that of this rank.
    pub fn partners(
        &self,
        job: &RunJob,
        workers: &DividedWorkers,
        types: &'static [TransactionInfo],
    ) -> Vec<Box<dyn Partner + '_>> {
        let workers_of_all = workers.of_all();
        let mut first = workers.own;
        let mut partners: Vec<Box<dyn Partner + '_>> = Vec::new();
        for (rank, workers) in &workers.others {
            let place = Some(WorkerPlace { first, workers_of_all });
            let options = RunOptions { workers: *workers, place, ..job.options.clone() };
            let job = RunJob { options, ..*job };
            first += workers;
            partners.push(Box::new(RankPartner::new(self, &self.ranks[*rank], job, types)));
        }
        partners
    }

    /// What became of the other ranks in the last run.
    pub fn outcomes(&self) -> Vec<StoredRank> {
        self.ranks.iter().map(|rank| rank.outcome().clone()).collect()
    }

    /// Has every other rank load its part of a schema.
    ///
    /// # Errors
    /// Where one is lost.
    pub fn begin_load(&self, schema: u32) -> FleetResult<()> {
        let order = self.next_order();
        for rank in &self.ranks {
            let what = RunOrder::Load { schema };
            rank.with_link(|link| link.send(&ToFollower::Order { order, what }))?;
        }
        Ok(())
    }

    /// Waits until every other rank has loaded its part.
    ///
    /// # Errors
    /// Where one is lost, says nothing for long or fails, or somebody ends the load.
    pub fn finish_load(&self, stop: &AtomicBool) -> FleetResult<()> {
        self.wait_for_loads(stop, LOAD_SILENCE_MAX)
    }

    fn wait_for_loads(&self, stop: &AtomicBool, silence_max: Duration) -> FleetResult<()> {
        let mut loading: Vec<_> = self.ranks.iter().collect();
        while !loading.is_empty() {
            let mut still = Vec::new();
            for rank in loading {
                if stop.load(Ordering::Relaxed) {
                    return Err(FleetError::Interrupted);
                }
                let heard = |link: &mut Link| Ok((link.poll(LOOK_EVERY)?, link.silence()));
                match rank.with_link(heard)? {
                    (Some(ToLeader { word: Word::Loaded, .. }), _) => {}
                    (Some(ToLeader { word: Word::Failed(why), .. }), _) => {
                        return Err(FleetError::Lost { who: rank.name(), why });
                    }
                    (Some(ToLeader { word: Word::StopAsked, .. }), _) => {
                        return Err(FleetError::Interrupted);
                    }
                    // One that is stopped and not dead has a link that holds.
                    (None, silence) if silence >= silence_max => {
                        let why = format!("nothing was heard of it for {silence_max:?}");
                        return Err(FleetError::Lost { who: rank.name(), why });
                    }
                    _ => still.push(rank),
                }
            }
            loading = still;
        }
        Ok(())
    }

    /// Tells all ranks that the fleet ends, with this exit code.
    pub fn end(&self, exit_code: u8) {
        for rank in &self.ranks {
            // One that is gone has ended already.
            rank.tell(&ToFollower::End { exit_code });
        }
    }
}

/// Ranks as they come.
#[derive(Default)]
struct Gathered {
    ranks: Vec<JoinedRank>,
    /// Why others were turned away, the first few.
    refusals: Vec<String>,
}

impl Gathered {
    fn wait_for_all(
        &mut self,
        options: &RankOptions<'_>,
        listener: &TcpListener,
        stop: &AtomicBool,
        on_wait: &mut dyn FnMut(&[u32]),
    ) -> FleetResult<()> {
        let (sender, candidates) = channel();
        let begun = Instant::now();
        thread::scope(|scope| {
            let mut door = Door::default();
            loop {
                while let Ok((stream, from)) = listener.accept() {
                    let Some(has_ended) = door.admit(&stream) else { continue };
                    let sender: Sender<Candidate> = sender.clone();
                    scope.spawn(move || {
                        let candidate = shake_hands(options, stream, from);
                        has_ended.store(true, Ordering::Relaxed);
                        let _ = sender.send(candidate);
                    });
                }
                while let Ok(candidate) = candidates.try_recv() {
                    self.take(candidate)?;
                }
                let is_there = |rank: &u32| self.ranks.iter().any(|there| there.rank == *rank);
                let missing: Vec<u32> =
                    (1..options.place.size).filter(|rank| !is_there(rank)).collect();
                if missing.is_empty() {
                    return Ok(());
                }
                if stop.load(Ordering::Relaxed) {
                    return Err(FleetError::Interrupted);
                }
                if begun.elapsed() >= options.wait {
                    return Err(self.never_came(options, missing));
                }
                on_wait(&missing);
                thread::sleep(LOOK_EVERY);
            }
        })
    }

    fn take(&mut self, candidate: Candidate) -> FleetResult<()> {
        match candidate {
            Ok((rank, proof)) => welcome(&mut self.ranks, rank, proof),
            Err(TurnedAway::Disagrees { rank, why }) => Err(FleetError::Refused { rank, why }),
            Err(TurnedAway::Unknown(why)) => {
                if self.refusals.len() < REFUSALS_TOLD {
                    self.refusals.push(why);
                }
                Ok(())
            }
        }
    }

    fn never_came(&self, options: &RankOptions<'_>, missing: Vec<u32>) -> FleetError {
        let leader = &options.place.leader;
        let address = match self.refusals.as_slice() {
            [] => leader.clone(),
            some => format!("{leader} (turned away there: {})", some.join("; ")),
        };
        let (size, waited_s) = (options.place.size, options.wait.as_secs());
        FleetError::Missing { missing, size, waited_s, address }
    }
}

/// Those who have connected and not proven themselves, the one that came first in front. Where it
/// goes away, they are sent away.
#[derive(Default)]
struct Door(VecDeque<Visitor>);

struct Visitor {
    since: Instant,
    stream: TcpStream,
    has_ended: Arc<AtomicBool>,
}

impl Door {
    /// Makes room for one who has connected, who says when its handshake has ended; `None` where it
    /// has to come again.
    fn admit(&mut self, stream: &TcpStream) -> Option<Arc<AtomicBool>> {
        self.0.retain(|visitor| !visitor.has_ended.load(Ordering::Relaxed));
        if self.0.len() >= HANDSHAKES_MAX {
            self.0.front().filter(|first| first.since.elapsed() >= HANDSHAKE_LEAST)?;
            self.0.pop_front();
        }
        let has_ended = Arc::new(AtomicBool::new(false));
        let visitor = Visitor {
            since: Instant::now(),
            stream: stream.try_clone().ok()?,
            has_ended: Arc::clone(&has_ended),
        };
        self.0.push_back(visitor);
        Some(has_ended)
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        // One whose handshake has ended may have become a rank.
        if !self.has_ended.load(Ordering::Relaxed) {
            let _ = self.stream.shutdown(Shutdown::Both);
        }
    }
}

/// Where others call this machine by a name, all of its addresses: the name may be one that only it
/// takes for loopback.
fn listen(leader: &str) -> FleetResult<TcpListener> {
    let failed = |error: io::Error| FleetError::Listen { address: leader.to_owned(), error };
    let (host, port) = leader.rsplit_once(':').unwrap_or((leader, "0"));
    let port = port.parse().unwrap_or(0);
    let is_address = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
    let listener = if is_address || host.eq_ignore_ascii_case("localhost") {
        TcpListener::bind(leader)
    } else {
        TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
            .or_else(|_| TcpListener::bind((Ipv4Addr::UNSPECIFIED, port)))
    };
    let listener = listener.map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

fn welcome(ranks: &mut Vec<JoinedRank>, rank: JoinedRank, proof: Vec<u8>) -> FleetResult<()> {
    let number = rank.rank;
    if ranks.iter().any(|there| there.rank == number) {
        let why = "another process has this rank".to_owned();
        rank.tell(&ToFollower::Refused(why.clone()));
        return Err(FleetError::Refused { rank: number, why });
    }
    rank.tell(&ToFollower::Welcome(proof));
    ranks.push(rank);
    Ok(())
}

fn shake_hands(options: &RankOptions<'_>, stream: TcpStream, from: SocketAddr) -> Candidate {
    let unknown = |why: &str| TurnedAway::Unknown(format!("{from}: {why}"));
    let mut link = Link::unproven(stream).map_err(|error| unknown(&error.to_string()))?;
    let proven = prove(options, &mut link).map_err(|error| unknown(&in_words(&error)))?;
    let proven = proven.map_err(|why| {
        let _ = link.send(&ToFollower::Refused(why.to_owned()));
        unknown(why)
    })?;
    if let Some(why) = proven.disagreement(options) {
        let _ = link.send(&ToFollower::Refused(why.clone()));
        return Err(TurnedAway::Disagrees { rank: proven.rank, why });
    }
    let Proven { rank, about, own_proof, .. } = proven;
    let outcome = StoredRank { rank, host: about.host.clone(), ..StoredRank::default() };
    let (link, outcome) = (Mutex::new(Some(link.proven())), Mutex::new(outcome));
    Ok((JoinedRank { rank, about, link, outcome }, own_proof))
}

struct Proven {
    version: String,
    rank: u32,
    size: u32,
    agreement: Agreement,
    about: RankAbout,
    /// What proves to it that this is rank 0.
    own_proof: Vec<u8>,
}

impl Proven {
    fn disagreement(&self, options: &RankOptions<'_>) -> Option<String> {
        let own_version = env!("CARGO_PKG_VERSION");
        let FleetPlace { size, .. } = *options.place;
        if self.version != own_version {
            return Some(format!("it is mydyno {}, rank 0 is {own_version}", self.version));
        }
        if self.size != size || self.rank == 0 || self.rank >= size {
            return Some(format!(
                "it takes itself for rank {} of {}, and the fleet has {size} ranks",
                self.rank, self.size
            ));
        }
        if self.agreement.command != options.agreement.command {
            return Some(format!(
                "it is to {}, rank 0 to {}",
                self.agreement.command, options.agreement.command
            ));
        }
        (self.agreement.key != options.agreement.key).then(|| {
            "its command line asks for another measurement than that of rank 0: give all ranks the \
             same options"
                .to_owned()
        })
    }
}

/// The other side proves itself first: what this side proves by is for no stranger to guess the
/// token from. The inner error is a refusal.
fn prove(options: &RankOptions<'_>, link: &mut Link) -> io::Result<Result<Proven, &'static str>> {
    let deadline = Instant::now() + HANDSHAKE_TIMEOUT;
    let hello = link.receive(HANDSHAKE_TIMEOUT)?;
    let Introduction::Hello { version, rank, size, nonce: theirs } = hello else {
        return Ok(Err("it did not say who it is"));
    };
    let own: Nonce = nonce().ok_or_else(|| io::Error::other("no random numbers"))?;
    link.send(&ToFollower::Challenge(own))?;
    let answer = link.receive(deadline.saturating_duration_since(Instant::now()))?;
    let Introduction::Proof { proof, agreement, about } = answer else {
        return Ok(Err("it proved nothing"));
    };
    if !options.token.verifies(Side::Follower, [&theirs, &own], rank, &proof) {
        return Ok(Err("it does not know the fleet's token"));
    }
    let own_proof = options.token.proof(Side::Leader, [&own, &theirs], rank);
    let own_proof = own_proof.ok_or_else(|| io::Error::other("no proof can be made"))?;
    Ok(Ok(Proven { version, rank, size, agreement, about, own_proof }))
}

#[cfg(test)]
mod tests;
