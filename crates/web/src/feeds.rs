//! Labs that somebody watches. One thread reads each, whoever watches; it takes at most a hundredth
//! of a core, and ends when nobody watches any more.

use base::lock;
use report::LabFollower;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread;
use std::time::{Duration, Instant};
use store::{LabId, Results, StoreError};
use tokio::sync::watch;

/// Labs that are watched at one time; of more, the page says so.
const FEEDS_MAX: usize = 32;
/// How often a file is looked at, at most.
const PAUSE: Duration = Duration::from_secs(1);
/// Reading has a hundredth of a core: after some time of it, so many times that is rest.
const REST: u32 = 100;

/// A JSON document of a lab, the newest.
pub type Feed = watch::Receiver<Arc<str>>;

/// What tells the watchers of one.
type Told = watch::Sender<Arc<str>>;

/// Which lab of which file.
type Watched = (PathBuf, i64);

/// All that are watched.
#[derive(Clone, Debug, Default)]
pub struct Feeds(Arc<Mutex<HashMap<Watched, Told>>>);

impl Feeds {
    fn all(&self) -> MutexGuard<'_, HashMap<Watched, Told>> {
        lock(&self.0)
    }

    /// The feed of a lab; `None` where too many are watched.
    pub fn watch(&self, file: &Path, lab: LabId) -> Option<Feed> {
        let mut all = self.all();
        let which = (file.to_owned(), lab.0);
        if let Some(feed) = all.get(&which) {
            return Some(feed.subscribe());
        }
        if all.len() >= FEEDS_MAX {
            return None;
        }
        let (sender, receiver) = watch::channel(Arc::from(""));
        let (feeds, of, told) = (self.clone(), which.clone(), sender.clone());
        let thread = thread::Builder::new().name("feed".to_owned());
        thread.spawn(move || follow(&feeds, &of, &told)).ok()?;
        all.insert(which, sender);
        Some(receiver)
    }

    /// Does anybody watch it? What nobody does is forgotten, while nobody can begin to.
    fn is_watched(&self, which: &Watched, told: &Told) -> bool {
        let mut all = self.all();
        if told.is_closed() {
            all.remove(which);
        }
        !told.is_closed()
    }
}

fn follow(feeds: &Feeds, which: &Watched, told: &Told) {
    let (file, lab) = which;
    let mut follower = LabFollower::of(LabId(*lab));
    let mut opened = None;
    while feeds.is_watched(which, told) {
        let began = Instant::now();
        // A file that cannot be read now may be there again later.
        let said = step(file, &mut follower, &mut opened).unwrap_or_else(|error| {
            opened = None;
            let words = serde_json::json!({ "problem": error.to_string() });
            Some(words.to_string())
        });
        if let Some(said) = said {
            told.send_if_modified(|now| {
                let is_new = **now != *said;
                *now = Arc::from(said);
                is_new
            });
        }
        thread::sleep(PAUSE.max(began.elapsed() * REST));
    }
}

/// What is new; `None` where nothing was written since the last look.
fn step(
    file: &Path,
    follower: &mut LabFollower,
    opened: &mut Option<(Results, Option<i64>)>,
) -> Result<Option<String>, StoreError> {
    let (results, version) = match opened {
        Some(opened) => opened,
        None => opened.insert((Results::open(file)?, None)),
    };
    let now = Some(results.data_version()?);
    if *version == now {
        return Ok(None);
    }
    let lab = follower.read(results)?;
    *version = now;
    // Numbers and texts of the file are JSON.
    Ok(serde_json::to_string(&lab).ok())
}
