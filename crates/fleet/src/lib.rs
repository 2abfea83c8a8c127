//! A fleet: one measurement that several processes drive, each on a machine of its own, started by
//! a scheduler that is there already.
//!
//! Rank 0 leads ([`Leader`]): it owns the results, says what is driven and when, and merges what
//! comes back. Every other rank is a [`Follower`], which joins the leader over TCP, proves that it
//! knows the fleet's token, drives its share of the connections, and reports each interval. The
//! leader's [`drive::run`] knows a follower as a [`drive::Partner`], which reports like one of its
//! own workers: so merging is what it is between threads, exact to each count.
//!
//! What is driven is not known here: followers find that out from the same command line.

mod auth;
mod clock;
mod error;
mod follower;
mod frame;
mod launcher;
mod leader;
mod link;
mod messages;
mod partner;

pub use auth::Token;
pub use error::{FleetError, FleetResult};
pub use follower::{Follower, RankTurn};
pub use launcher::{FleetPlace, Launched, RankOptions};
pub use leader::{DividedWorkers, Leader};
pub use messages::{Agreement, RankUsage, RunJob, RunOrder};
