//! Which connections of a connector are open, for who asks the server about them.

use base::lock;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

/// The server's ids of the connections that are open. Clones are one list.
#[derive(Clone, Debug, Default)]
pub struct OpenConnections(Arc<Mutex<BTreeSet<u32>>>);

impl OpenConnections {
    pub fn ids(&self) -> Vec<u32> {
        lock(&self.0).iter().copied().collect()
    }

    pub(crate) fn with(&self, id: u32) -> OpenConnection {
        lock(&self.0).insert(id);
        OpenConnection { all: self.clone(), id }
    }
}

/// One that is on the list for as long as this is there.
pub(crate) struct OpenConnection {
    all: OpenConnections,
    id: u32,
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        lock(&self.all.0).remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::OpenConnections;

    #[test]
    fn what_was_dropped_is_open_no_longer() {
        let all = OpenConnections::default();
        let first = all.with(7);
        let _second = all.clone().with(8);
        assert_eq!(all.ids(), [7, 8]);
        drop(first);
        assert_eq!(all.ids(), [8]);
    }
}
