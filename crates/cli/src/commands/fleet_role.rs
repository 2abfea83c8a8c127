//! What a process of a fleet does: rank 0 is the command that was typed, every other rank works
//! for it.

use crate::arguments::fleet::FleetArguments;
use crate::console::Console;
use crate::failure::{Failure, Outcome};
use fleet::Leader;
use lab::FleetWork;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// The part of this process.
pub enum FleetRole {
    /// No fleet is asked for.
    Alone,
    Leads(Arc<Leader>),
    /// It has followed rank 0, and ended as that did.
    Followed(Outcome),
}

impl FleetRole {
    /// Gathers the fleet as rank 0, or does what rank 0 wants until that ends.
    pub fn take(
        arguments: &FleetArguments,
        command: &'static str,
        work: &FleetWork<'_>,
        stop: &AtomicBool,
    ) -> Result<FleetRole, Failure> {
        let Some(asked) = arguments.asked(command)? else {
            return Ok(FleetRole::Alone);
        };
        let mut console = Console::new()?;
        let role = if asked.place.rank == 0 {
            let leader = asked.lead(work, stop, &mut |progress| console.show(progress));
            leader.map(|leader| FleetRole::Leads(Arc::new(leader)))
        } else {
            let followed = asked.follow(work, stop, &mut |progress| console.show(progress));
            Ok(FleetRole::Followed(followed.map_err(Failure::from)))
        };
        console.done();
        Ok(role?)
    }

    /// Tells the other ranks how the command ended.
    pub fn end(leader: Option<&Leader>, ended: &Outcome) {
        if let Some(leader) = leader {
            let exit = ended.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
            leader.end(exit.code());
        }
    }
}
