//! What a process of a fleet does: rank 0 is the command that was typed, every other rank works
//! for it.

use crate::arguments::fleet::FleetArguments;
use crate::console::Console;
use crate::failure::Outcome;
use crate::json;
use fleet::Leader;
use lab::{FleetWork, Job};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Runs `command` alone where no fleet is asked for, together with the other ranks as rank 0, and
/// else does what rank 0 wants until that ends.
pub fn as_rank(
    arguments: &FleetArguments,
    (name, work): (&'static str, &FleetWork<'_>),
    stop: &AtomicBool,
    command: impl FnOnce(Option<Arc<Leader>>) -> Outcome,
) -> Outcome {
    let Some(asked) = arguments.asked(name)? else {
        return command(None);
    };
    let mut console = Console::new()?;
    if asked.place.rank > 0 {
        json::leave_to_rank_zero();
        let followed = asked.follow(work, &Job::new(stop, &mut |progress| console.show(progress)));
        console.done();
        return Ok(followed?);
    }
    let leader = asked.lead(work, &Job::new(stop, &mut |progress| console.show(progress)));
    console.done();
    let leader = Arc::new(leader?);
    let ended = command(Some(Arc::clone(&leader)));
    let exit = ended.as_ref().map_or_else(|failure| failure.exit, |exit| *exit);
    leader.end(exit.code());
    ended
}
