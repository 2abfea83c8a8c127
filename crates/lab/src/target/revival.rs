//! Nodes of a private cluster that end are started again, as their supervisor would elsewhere.
//!
//! A node comes back in a thread of its own, because it may take as long as the recovery of its
//! data. Who measures looks now and then and is told what happened.

use crate::error::{LabError, LabResult, unfit};
use crate::target::membership::{JOIN_PATIENCE, LOOK_EVERY, wait_for_member};
use base::{clock, counted, lock};
use server::{Instance, received_write_sets};
use spec::Topology;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use wire::Connector;

/// A node that ends as often as this is left as it is.
const RETURNS_MAX: u32 = 3;

/// A node that is watched.
pub(crate) struct WatchedNode {
    pub(crate) instance: Arc<Instance>,
    pub(crate) connector: Connector,
    pub(crate) topology: Topology,
    /// From 1.
    pub(crate) number: usize,
}

/// Starts the nodes of one cluster again. The end of a primary with replicas ends the run.
#[derive(Default)]
pub(crate) struct Supervisor {
    /// Of all nodes, also those that are not watched.
    nodes: u32,
    watched: Vec<(Arc<WatchedNode>, Mutex<Return>)>,
}

/// The way back of a node.
#[derive(Default)]
struct Return {
    /// How often it was begun.
    begun: u32,
    under_way: Option<ComingBack>,
    /// Why it will not come back.
    failed: Option<String>,
}

struct ComingBack {
    /// How and when it ended, for people.
    ended: String,
    at: clock::Instant,
    thread: JoinHandle<LabResult<Option<u64>>>,
}

impl WatchedNode {
    /// Starts it again and waits until it is a member; of Galera's tells how many write sets it
    /// received, where it knows.
    fn come_back(&self) -> LabResult<Option<u64>> {
        self.instance.start_again()?;
        wait_for_member(self.topology, &self.connector, || self.instance.exited().is_some())?;
        let is_galera = self.topology == Topology::MultiPrimary;
        Ok(received_write_sets(&self.instance.log_tail()).filter(|_| is_galera))
    }
}

impl Supervisor {
    pub(crate) fn of(nodes: u32, watched: Vec<WatchedNode>) -> Supervisor {
        let with_state = |node| (Arc::new(node), Mutex::new(Return::default()));
        Supervisor { nodes, watched: watched.into_iter().map(with_state).collect() }
    }

    /// Looks at all nodes, begins to start again those that have ended, and tells of those that are
    /// back. Cheap where nothing has ended; does not wait for any. `into_run` is the time of the
    /// run, for people.
    pub(crate) fn look(&self, into_run: Duration) -> Vec<String> {
        let looked = self.nodes().filter_map(|(node, mut state)| {
            if let Some(way) = state.under_way.take_if(|way| way.thread.is_finished()) {
                return Some(self.arrived(node, &mut state, way));
            }
            if state.under_way.is_some() || state.failed.is_some() {
                return None;
            }
            let how = node.instance.exited()?;
            let ended = format!(
                "node {} of {} ended ({}) {:.1} s into the run",
                node.number,
                self.nodes,
                how.trim_start_matches("it ended with "),
                into_run.as_secs_f64()
            );
            if state.begun == RETURNS_MAX {
                let why =
                    format!("{ended}; it was started again {RETURNS_MAX} times and is left now");
                return Some(state.failed.insert(why).clone());
            }
            state.begun += 1;
            let returning = Arc::clone(node);
            let name = format!("node-{}", node.number);
            match thread::Builder::new().name(name).spawn(move || returning.come_back()) {
                Ok(thread) => {
                    let at = clock::Instant::now();
                    state.under_way = Some(ComingBack { ended, at, thread });
                    None
                }
                Err(error) => {
                    let why = format!("{ended}; there is no thread to start it again: {error}");
                    Some(state.failed.insert(why).clone())
                }
            }
        });
        looked.collect()
    }

    fn nodes(&self) -> impl Iterator<Item = (&Arc<WatchedNode>, MutexGuard<'_, Return>)> {
        let each = self.watched.iter();
        each.map(|(node, state)| (node, lock(state)))
    }

    /// A node whose way back has come to its end.
    fn arrived(&self, node: &WatchedNode, state: &mut Return, way: ComingBack) -> String {
        let ComingBack { ended, at, thread } = way;
        let after_s = at.elapsed().as_secs_f64();
        let returned =
            thread.join().unwrap_or_else(|_| Err(unfit("the thread that started it panicked")));
        match returned {
            Ok(write_sets) => {
                let by = match write_sets {
                    Some(count) => {
                        format!(" (IST, {})", counted(count as usize, "write set", "write sets"))
                    }
                    None if node.topology == Topology::MultiPrimary => String::new(),
                    None => " and replicates".to_owned(),
                };
                format!("{ended}; it was started again and is back{by} {after_s:.1} s later")
            }
            Err(error) => {
                let why = format!("{ended}; it was started again and did not come back: {error}");
                state.failed.insert(why).clone()
            }
        }
    }

    /// Waits until no node is on its way, and tells of those that came back.
    ///
    /// # Errors
    /// [`LabError::ServerDied`] with the first node that is not there, [`LabError::Interrupted`].
    pub(crate) fn wait(&self, into_run: Duration, stop: &AtomicBool) -> LabResult<Vec<String>> {
        let begun = std::time::Instant::now();
        let mut notes = Vec::new();
        loop {
            notes.extend(self.look(into_run));
            let is_missing = |state: &Return| state.under_way.is_some() || state.failed.is_some();
            let Some((node, state)) = self.nodes().find(|(_, state)| is_missing(state)) else {
                return Ok(notes);
            };
            if stop.load(Ordering::Relaxed) {
                return Err(LabError::Interrupted);
            }
            let is_over = begun.elapsed() >= JOIN_PATIENCE;
            let reason = match (&state.failed, &state.under_way) {
                (Some(why), _) => why.clone(),
                (None, Some(way)) if is_over => format!(
                    "{}; it was started again and has not joined within {} s",
                    way.ended,
                    JOIN_PATIENCE.as_secs()
                ),
                _ => {
                    drop(state);
                    thread::sleep(LOOK_EVERY);
                    continue;
                }
            };
            return Err(LabError::ServerDied { reason, log_tail: Some(node.instance.log_tail()) });
        }
    }
}

impl Drop for Supervisor {
    /// Nobody comes back any more.
    fn drop(&mut self) {
        for (node, state) in self.nodes() {
            while state.under_way.as_ref().is_some_and(|way| !way.thread.is_finished()) {
                // Between the recovery of its data and its start there is another process.
                let _ = node.instance.kill();
                thread::sleep(LOOK_EVERY);
            }
        }
    }
}
