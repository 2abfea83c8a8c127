use super::{HANDSHAKES_MAX, Leader};
use crate::auth::{Token, nonce};
use crate::follower::Follower;
use crate::launcher::{FleetPlace, RankOptions};
use crate::link::Link;
use crate::messages::{Agreement, Introduction, RunOrder, ToFollower};
use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

static RUNS: AtomicBool = AtomicBool::new(false);
const PATIENCE: Duration = Duration::from_secs(60);

fn token() -> Token {
    Token::new("only for these tests").unwrap()
}

fn agreement() -> Agreement {
    Agreement { command: "load".to_owned(), key: "cell".to_owned() }
}

/// Ranks of a fleet of two, on a free port.
fn places() -> [FleetPlace; 2] {
    let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let place = |rank| FleetPlace { rank, size: 2, leader: free.clone(), names_come_late: false };
    [place(0), place(1)]
}

fn gather(place: &FleetPlace) -> Leader {
    let options = RankOptions { place, token: &token(), agreement: &agreement(), wait: PATIENCE };
    Leader::gather(&options, 0, &RUNS, &mut |_| {}).unwrap()
}

fn join(place: &FleetPlace) -> Follower {
    let options = RankOptions { place, token: &token(), agreement: &agreement(), wait: PATIENCE };
    Follower::join(&options, 1, &RUNS, &mut |_| {}).unwrap()
}

/// A connection to rank 0, who may not listen yet.
fn connected(place: &FleetPlace) -> TcpStream {
    let begun = Instant::now();
    loop {
        match TcpStream::connect(place.leader.as_str()) {
            Ok(stream) => return stream,
            Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
        }
        thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn who_has_proven_nothing_is_given_no_proof() {
    let [leader, follower] = places();
    thread::scope(|scope| {
        let gathered = scope.spawn(|| gather(&leader));
        let mut link = Link::unproven(connected(&follower)).unwrap();
        let version = env!("CARGO_PKG_VERSION").to_owned();
        let nonce = nonce().unwrap();
        link.send(&Introduction::Hello { version, rank: 1, size: 2, nonce }).unwrap();
        // Nothing in it comes from the token: postcard has a byte for its kind before the nonce.
        let heard: ToFollower = link.receive(PATIENCE).unwrap();
        assert_eq!(postcard::to_stdvec(&heard).unwrap().len(), 1 + nonce.len(), "{heard:?}");
        join(&follower);
        gathered.join().unwrap();
    });
}

#[test]
fn silent_strangers_do_not_fill_the_door() {
    let [leader, follower] = places();
    thread::scope(|scope| {
        let gathered = scope.spawn(|| gather(&leader));
        let silent: Vec<TcpStream> = (0..2 * HANDSHAKES_MAX).map(|_| connected(&leader)).collect();
        let begun = Instant::now();
        join(&follower);
        gathered.join().unwrap();
        // Nobody waited until they had all been silent for their time.
        assert!(begun.elapsed() < super::HANDSHAKE_TIMEOUT, "{:?}", begun.elapsed());
        drop(silent);
    });
}

#[test]
fn who_speaks_slowly_holds_up_nobody() {
    let [leader, follower] = places();
    thread::scope(|scope| {
        let gathered = scope.spawn(|| gather(&leader));
        // A whole head, and then a byte at a time.
        let mut slow = connected(&leader);
        slow.write_all(b"mdf\x04\xff\x0f\0\0").unwrap();
        let mut feeder = slow.try_clone().unwrap();
        let fed = scope.spawn(move || {
            let begun = Instant::now();
            while feeder.write_all(b"x").is_ok() && begun.elapsed() < PATIENCE {
                thread::sleep(Duration::from_millis(20));
            }
            begun.elapsed()
        });
        join(&follower);
        gathered.join().unwrap();
        assert!(fed.join().unwrap() < PATIENCE);
        slow.set_read_timeout(Some(PATIENCE)).unwrap();
        match slow.read(&mut [0; 16]) {
            Ok(0) => {}
            Ok(_) => panic!("it was answered"),
            Err(error) => assert_eq!(error.kind(), ErrorKind::ConnectionReset),
        }
    });
}

/// One that is stopped and not dead: its kernel holds the connection.
#[test]
fn a_rank_that_stands_still_while_it_loads_is_lost() {
    let [leader, follower] = places();
    thread::scope(|scope| {
        let joined = scope.spawn(|| join(&follower));
        let leader = gather(&leader);
        let mut follower = joined.join().unwrap();
        leader.begin_load(0).unwrap();
        assert_eq!(follower.next(&RUNS).unwrap(), RunOrder::Load { schema: 0 });
        let words = leader.wait_for_loads(&RUNS, Duration::from_millis(300)).unwrap_err();
        let words = words.to_string();
        assert!(words.starts_with("rank 1 (") && words.contains("nothing was heard"), "{words}");
        // One that says each second that it is there is waited for.
        scope.spawn(move || {
            for _ in 0..15 {
                assert!(follower.is_wanted(&RUNS));
                thread::sleep(Duration::from_millis(200));
            }
            follower.loaded().unwrap();
        });
        leader.wait_for_loads(&RUNS, Duration::from_secs(20)).unwrap();
    });
}

#[test]
fn a_rank_that_cannot_load_says_why() {
    let [leader, follower] = places();
    thread::scope(|scope| {
        let joined = scope.spawn(|| join(&follower));
        let leader = gather(&leader);
        let mut follower = joined.join().unwrap();
        let [rank] = &leader.outcomes()[..] else { panic!("there is another rank") };
        assert!(rank.rank == 1 && !rank.host.is_empty(), "{rank:?}");
        leader.begin_load(0).unwrap();
        assert_eq!(follower.next(&RUNS).unwrap(), RunOrder::Load { schema: 0 });
        follower.fail("the disk is full");
        let words = leader.wait_for_loads(&RUNS, Duration::from_secs(20)).unwrap_err();
        let words = words.to_string();
        assert!(words.starts_with("rank 1 (") && words.contains("the disk is full"), "{words}");
        // The load was the first order.
        assert_eq!((leader.next_order(), leader.next_order()), (2, 3));
        // One that hears of the end wants nothing more.
        leader.end(0);
        let begun = Instant::now();
        while follower.is_wanted(&RUNS) {
            assert!(begun.elapsed() < Duration::from_secs(20));
            thread::sleep(Duration::from_millis(10));
        }
    });
}
