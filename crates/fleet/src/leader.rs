//! Rank 0: waits for all others, and leads their runs.

use crate::auth::{Nonce, Side, Token, nonce};
use crate::error::FleetError;
use crate::frame::FRAME_BYTES_MAX_UNPROVEN;
use crate::launcher::FleetPlace;
use crate::link::{Link, in_words};
use crate::messages::{Agreement, Job, RankAbout, ToLeader, ToMember};
use crate::partner::{RankOutcome, RankPartner};
use drive::{Partner, TransactionInfo};
use std::io;
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// One who connects has so long to prove itself.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Those who try at the same time; more are turned away.
const HANDSHAKES_MAX: u32 = 64;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// Refusals that a message names.
const REFUSALS_TOLD: usize = 3;

/// What a leader is to lead.
#[derive(Debug)]
pub struct LeaderOptions<'a> {
    pub place: &'a FleetPlace,
    pub token: &'a Token,
    pub agreement: &'a Agreement,
    /// Ranks that may be lost while they drive.
    pub tolerate: u32,
    /// How long to wait for the others.
    pub wait: Duration,
}

/// Rank 0 with all others.
#[derive(Debug)]
pub struct Leader {
    ranks: Vec<Rank>,
    pub(crate) tolerate: AtomicU32,
    /// Somebody at another rank asked to stop.
    pub(crate) stop_asked: AtomicBool,
}

/// Another rank, as the leader has it.
#[derive(Debug)]
pub(crate) struct Rank {
    pub(crate) rank: u32,
    pub(crate) about: RankAbout,
    link: Mutex<Option<Link>>,
    outcome: Mutex<RankOutcome>,
}

impl std::fmt::Debug for Link {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Link")
    }
}

impl Rank {
    pub(crate) fn link(&self) -> MutexGuard<'_, Option<Link>> {
        // A link whose holder panicked sends what it sends; the run has failed by then.
        self.link.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn outcome(&self) -> MutexGuard<'_, RankOutcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn with_link<T>(
        &self,
        exchange: impl FnOnce(&mut Link) -> io::Result<T>,
    ) -> Result<T, FleetError> {
        let lost = |why: String| FleetError::Lost { who: self.name(), why };
        match self.link().as_mut() {
            Some(link) => exchange(link).map_err(|error| lost(in_words(&error))),
            None => Err(lost("it left".to_owned())),
        }
    }

    /// For people.
    pub(crate) fn name(&self) -> String {
        format!("rank {} ({})", self.rank, self.about.host)
    }
}

/// What became of one who connected.
enum Candidate {
    Proven(Box<Rank>),
    /// It belongs to the fleet, and has another mind of what to do: the fleet fails.
    Disagrees {
        rank: u32,
        why: String,
    },
    Stranger(String),
}

impl Leader {
    /// Waits until all other ranks have joined; `on_wait` is told of those that are missing, some
    /// times a second.
    ///
    /// # Errors
    /// Where ranks are missing after the time, disagree, or nobody can reach this one.
    pub fn gather(
        options: &LeaderOptions<'_>,
        stop: &AtomicBool,
        on_wait: &mut dyn FnMut(&[u32]),
    ) -> Result<Leader, FleetError> {
        let listener = listen(&options.place.leader)?;
        let (sender, candidates) = channel();
        let (under_way, begun) = (AtomicU32::new(0), Instant::now());
        let (mut ranks, mut strangers): (Vec<Rank>, Vec<String>) = (Vec::new(), Vec::new());
        thread::scope(|scope| {
            loop {
                while let Ok((stream, from)) = listener.accept() {
                    if under_way.fetch_add(1, Ordering::Relaxed) >= HANDSHAKES_MAX {
                        under_way.fetch_sub(1, Ordering::Relaxed);
                        continue;
                    }
                    let (sender, under_way): (Sender<Candidate>, _) = (sender.clone(), &under_way);
                    scope.spawn(move || {
                        let candidate = shake_hands(options, stream, from);
                        under_way.fetch_sub(1, Ordering::Relaxed);
                        let _ = sender.send(candidate);
                    });
                }
                while let Ok(candidate) = candidates.try_recv() {
                    match candidate {
                        Candidate::Proven(rank) => welcome(&mut ranks, *rank)?,
                        Candidate::Stranger(why) => strangers.push(why),
                        Candidate::Disagrees { rank, why } => {
                            return Err(FleetError::Refused { rank, why });
                        }
                    }
                }
                let is_there = |rank: &u32| ranks.iter().any(|there| there.rank == *rank);
                let missing: Vec<u32> =
                    (1..options.place.size).filter(|rank| !is_there(rank)).collect();
                if missing.is_empty() {
                    break;
                }
                if stop.load(Ordering::Relaxed) {
                    return Err(FleetError::Interrupted);
                }
                if begun.elapsed() >= options.wait {
                    return Err(never_came(options, missing, &strangers));
                }
                on_wait(&missing);
                thread::sleep(LOOK_EVERY);
            }
            ranks.sort_by_key(|rank| rank.rank);
            Ok(Leader {
                ranks,
                tolerate: AtomicU32::new(options.tolerate),
                stop_asked: AtomicBool::new(false),
            })
        })
    }

    /// Ranks, this one among them.
    pub fn size(&self) -> u32 {
        self.ranks.len() as u32 + 1
    }

    /// Did somebody at another rank ask to stop?
    pub fn is_stop_asked(&self) -> bool {
        self.stop_asked.load(Ordering::Relaxed)
    }

    /// Driver threads of all ranks, this one first with `own`; no more than there are connections,
    /// but one for each rank.
    pub fn threads(&self, own: u32, connections: u32) -> Vec<u32> {
        let asked = std::iter::once(own).chain(self.ranks.iter().map(|rank| rank.about.threads));
        let mut left = connections.saturating_sub(self.size());
        let given = asked.map(|asked| {
            let more = asked.saturating_sub(1).min(left);
            left -= more;
            1 + more
        });
        given.collect()
    }

    /// The other ranks as partners of a run; `job` is that of this rank.
    pub fn partners(
        &self,
        job: &Job,
        threads: &[u32],
        types: &'static [TransactionInfo],
    ) -> Vec<Box<dyn Partner + '_>> {
        let mut first_worker = job.workers;
        let mut partners: Vec<Box<dyn Partner + '_>> = Vec::new();
        for (rank, workers) in self.ranks.iter().zip(threads.iter().skip(1)) {
            let own = Job { workers: *workers, first_worker, ..job.clone() };
            first_worker += workers;
            partners.push(Box::new(RankPartner::new(self, rank, own, types)));
        }
        partners
    }

    /// What became of the other ranks in the last run.
    pub fn outcomes(&self) -> Vec<RankOutcome> {
        self.ranks.iter().map(|rank| rank.outcome().clone()).collect()
    }

    /// Has every other rank load its part of a schema.
    ///
    /// # Errors
    /// Where one is lost.
    pub fn begin_load(&self, schema: u32) -> Result<(), FleetError> {
        for rank in &self.ranks {
            rank.with_link(|link| link.send(&ToMember::Load { schema }))?;
        }
        Ok(())
    }

    /// Waits until every other rank has loaded its part.
    ///
    /// # Errors
    /// Where one is lost or fails, or somebody ends the load.
    pub fn finish_load(&self, stop: &AtomicBool) -> Result<(), FleetError> {
        for rank in &self.ranks {
            loop {
                match rank.with_link(|link| link.poll::<ToLeader>(LOOK_EVERY))? {
                    Some(ToLeader::Loaded) => break,
                    Some(ToLeader::Failed(why)) => {
                        return Err(FleetError::Lost { who: rank.name(), why });
                    }
                    Some(ToLeader::StopAsked) => return Err(FleetError::Interrupted),
                    _ if stop.load(Ordering::Relaxed) => return Err(FleetError::Interrupted),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    /// Tells all ranks that the fleet ends, with this exit code.
    pub fn end(&self, exit_code: u8) {
        for rank in &self.ranks {
            if let Some(link) = rank.link().as_mut() {
                // One that is gone has ended already.
                let _ = link.send(&ToMember::End { exit_code });
            }
        }
    }
}

fn listen(leader: &str) -> Result<TcpListener, FleetError> {
    let failed = |error: io::Error| FleetError::Listen { address: leader.to_owned(), error };
    let addresses: Vec<SocketAddr> = leader.to_socket_addrs().map_err(failed)?.collect();
    let port = addresses.first().map_or(0, SocketAddr::port);
    let listener = match TcpListener::bind(addresses.as_slice()) {
        // What others call this machine may be no address of its own: behind a name service.
        Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => {
            TcpListener::bind((Ipv6Addr::UNSPECIFIED, port))
        }
        bound => bound,
    };
    let listener = listener.map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

fn never_came(options: &LeaderOptions<'_>, missing: Vec<u32>, strangers: &[String]) -> FleetError {
    let address = match strangers {
        [] => options.place.leader.clone(),
        some => {
            let told: Vec<&str> = some.iter().take(REFUSALS_TOLD).map(String::as_str).collect();
            format!("{} (refused there: {})", options.place.leader, told.join("; "))
        }
    };
    let (size, waited_s) = (options.place.size, options.wait.as_secs());
    FleetError::Missing { missing, size, waited_s, address }
}

fn welcome(ranks: &mut Vec<Rank>, rank: Rank) -> Result<(), FleetError> {
    let number = rank.rank;
    if ranks.iter().any(|there| there.rank == number) {
        let why = "another process has this rank".to_owned();
        if let Some(link) = rank.link().as_mut() {
            let _ = link.send(&ToMember::Refused(why.clone()));
        }
        return Err(FleetError::Refused { rank: number, why });
    }
    if let Some(link) = rank.link().as_mut() {
        // One that is gone by now is found out when it is to work.
        let _ = link.send(&ToMember::Welcome);
    }
    ranks.push(rank);
    Ok(())
}

fn shake_hands(options: &LeaderOptions<'_>, stream: TcpStream, from: SocketAddr) -> Candidate {
    let stranger = |why: &str| Candidate::Stranger(format!("{from}: {why}"));
    let link = Link::unproven(stream, FRAME_BYTES_MAX_UNPROVEN);
    let mut link = match link {
        Ok(link) => link,
        Err(error) => return stranger(&error.to_string()),
    };
    match prove(options, &mut link) {
        Err(error) => stranger(&in_words(&error)),
        Ok(Err(why)) => {
            let _ = link.send(&ToMember::Refused(why.to_owned()));
            stranger(why)
        }
        Ok(Ok(proven)) => {
            if let Some(why) = proven.disagreement(options) {
                let _ = link.send(&ToMember::Refused(why.clone()));
                return Candidate::Disagrees { rank: proven.rank, why };
            }
            let Proven { rank, about, .. } = proven;
            let outcome = RankOutcome::of(rank, &about);
            Candidate::Proven(Box::new(Rank {
                rank,
                about,
                link: Mutex::new(Some(link.proven())),
                outcome: Mutex::new(outcome),
            }))
        }
    }
}

struct Proven {
    version: String,
    rank: u32,
    size: u32,
    agreement: Agreement,
    about: RankAbout,
}

impl Proven {
    fn disagreement(&self, options: &LeaderOptions<'_>) -> Option<String> {
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

/// The inner error is a refusal.
fn prove(options: &LeaderOptions<'_>, link: &mut Link) -> io::Result<Result<Proven, &'static str>> {
    let ToLeader::Hello { version, rank, size, nonce: theirs } = link.receive(HANDSHAKE_TIMEOUT)?
    else {
        return Ok(Err("it did not say who it is"));
    };
    let own: Nonce = nonce().ok_or_else(|| io::Error::other("no random numbers"))?;
    let proof = options.token.proof(Side::Leader, [&own, &theirs], rank);
    let proof = proof.ok_or_else(|| io::Error::other("no proof can be made"))?;
    link.send(&ToMember::Challenge { nonce: own, proof })?;
    let ToLeader::Proof { proof, agreement, about } = link.receive(HANDSHAKE_TIMEOUT)? else {
        return Ok(Err("it proved nothing"));
    };
    if !options.token.verifies(Side::Member, [&theirs, &own], rank, &proof) {
        return Ok(Err("it does not know the fleet's token"));
    }
    Ok(Ok(Proven { version, rank, size, agreement, about }))
}
