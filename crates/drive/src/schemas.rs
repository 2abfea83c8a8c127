//! The databases that the connections of a run are spread over: schemas of one server, a server
//! each, or servers that belong together.

use crate::client::{Failed, FailureKind, Opening};
use base::Connect;
use spec::Topology;

/// How to connect to each schema or server; at least one.
#[derive(Clone, Debug)]
pub struct Schemas<C> {
    first: C,
    others: Vec<C>,
    topology: Topology,
}

impl<C> Schemas<C> {
    /// `first` and `others`, in the order in which connections use them.
    pub fn new(first: C, others: Vec<C>, topology: Topology) -> Schemas<C> {
        Schemas { first, others, topology }
    }

    /// How they belong together.
    pub fn topology(&self) -> Topology {
        self.topology
    }

    /// What `make` makes of each of them.
    pub fn map<T>(&self, make: impl Fn(&C) -> T) -> Schemas<T> {
        let others = self.others.iter().map(&make).collect();
        Schemas::new(make(&self.first), others, self.topology)
    }

    /// The first one.
    pub fn first(&self) -> &C {
        &self.first
    }

    /// Those after the first.
    pub fn others(&self) -> &[C] {
        &self.others
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &C> {
        std::iter::once(&self.first).chain(&self.others)
    }

    /// Those that have rows of their own: of one database on several servers, the first.
    pub fn databases(&self) -> impl Iterator<Item = &C> {
        self.iter().take(if self.topology.is_one_database() { 1 } else { usize::MAX })
    }

    fn count(&self) -> u32 {
        self.others.len() as u32 + 1
    }

    /// Which of them this connection writes to, from 0. Of servers that all take writes it is
    /// another each time that it is opened.
    pub fn writes_to(&self, which: Opening) -> usize {
        let number = match self.topology {
            Topology::Apart | Topology::Shards => which.connection,
            Topology::MultiPrimary => which.connection.wrapping_add(which.earlier),
            Topology::PrimaryReplicas => 0,
        };
        (number % self.count()) as usize
    }

    /// Which of them this connection reads from, where that is another than it writes to.
    pub fn reads_from(&self, which: Opening) -> Option<usize> {
        let replicas = self.others.len() as u32;
        let is_apart = self.topology == Topology::PrimaryReplicas && replicas > 0;
        let number = which.connection.wrapping_add(which.earlier);
        is_apart.then(|| (number % replicas.max(1)) as usize + 1)
    }

    fn at(&self, number: usize) -> &C {
        number.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.first)
    }

    /// The place of a connection among those of its database, from 0: what it is bound to a
    /// warehouse by.
    pub fn place(&self, connection: u32) -> u32 {
        if self.topology.is_one_database() { connection } else { connection / self.count() }
    }
}

impl<C: Connect> Schemas<C> {
    /// Connects to one of them.
    ///
    /// # Errors
    /// Where the server is not reached or refuses; [`FailureKind::Lost`] where that may pass, as it
    /// may where another server takes its place.
    pub async fn connect(&self, number: usize) -> Result<C::Session, Failed> {
        let session = self.at(number).connect().await;
        session.map_err(|error| Failed {
            kind: match C::may_pass(&error) || self.topology.is_one_database() {
                true => FailureKind::Lost { in_doubt: false },
                false => FailureKind::Fatal,
            },
            code: "connect".into(),
            message: error.to_string(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Schemas;
    use crate::client::Opening;
    use spec::Topology;

    fn opening(connection: u32, earlier: u32) -> Opening {
        Opening { connection, earlier }
    }

    #[test]
    fn connections_go_round_the_schemas() {
        let schemas = Schemas::new("a", vec!["b", "c"], Topology::Apart);
        let name = |i| *schemas.at(schemas.writes_to(opening(i, 9)));
        let used: Vec<_> = (0..7).map(|i| (name(i), schemas.place(i))).collect();
        let wanted = [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1), ("a", 2)];
        assert_eq!(used, wanted);
        assert_eq!(schemas.databases().count(), 3);
        let one = Schemas::new("a", Vec::new(), Topology::Apart);
        assert_eq!((one.writes_to(opening(9, 0)), one.place(9)), (0, 9));
    }

    #[test]
    fn a_connection_goes_to_the_next_node_and_keeps_its_warehouse() {
        let nodes = Schemas::new("a", vec!["b", "c"], Topology::MultiPrimary);
        let of = |connection, earlier| nodes.writes_to(opening(connection, earlier));
        assert_eq!([of(0, 0), of(1, 0), of(2, 0), of(3, 0)], [0, 1, 2, 0]);
        assert_eq!([of(1, 1), of(1, 2), of(1, 3)], [2, 0, 1]);
        assert_eq!((nodes.place(7), nodes.databases().count()), (7, 1));
        assert_eq!(nodes.reads_from(opening(1, 0)), None);
    }

    #[test]
    fn only_replicas_are_read_from() {
        let nodes = Schemas::new("a", vec!["b", "c"], Topology::PrimaryReplicas);
        let of = |connection, earlier| {
            let which = opening(connection, earlier);
            (nodes.writes_to(which), nodes.reads_from(which))
        };
        assert_eq!([of(0, 0), of(1, 0), of(2, 0)], [(0, Some(1)), (0, Some(2)), (0, Some(1))]);
        assert_eq!(of(0, 1), (0, Some(2)));
        let alone = Schemas::new("a", Vec::new(), Topology::PrimaryReplicas);
        assert_eq!(alone.reads_from(opening(0, 0)), None);
    }
}
