//! The schemas, of one server or of a server each, that the connections of a run are spread over:
//! connection i uses schema i mod K.

use crate::client::{Failed, FailureKind};
use base::Connect;

/// How to connect to each schema; at least one.
#[derive(Clone, Debug)]
pub struct Schemas<C> {
    first: C,
    others: Vec<C>,
}

impl<C> Schemas<C> {
    /// `first` and `others`, in the order in which connections use them.
    pub fn new(first: C, others: Vec<C>) -> Schemas<C> {
        Schemas { first, others }
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

    fn count(&self) -> u32 {
        self.others.len() as u32 + 1
    }

    /// Which of them a connection uses, from 0.
    pub fn number(&self, connection: u32) -> usize {
        (connection % self.count()) as usize
    }

    /// What a connection uses.
    fn of(&self, connection: u32) -> &C {
        match self.number(connection) {
            0 => &self.first,
            other => &self.others[other - 1],
        }
    }

    /// The place of a connection among those of its schema, from 0: what it is bound to a warehouse
    /// by.
    pub fn place(&self, connection: u32) -> u32 {
        connection / self.count()
    }
}

impl<C: Connect> Schemas<C> {
    /// Connects to the schema of this connection.
    ///
    /// # Errors
    /// Where the server is not reached or refuses; [`FailureKind::Lost`] where that may pass.
    pub async fn connect(&self, connection: u32) -> Result<C::Session, Failed> {
        let session = self.of(connection).connect().await;
        session.map_err(|error| Failed {
            kind: match C::may_pass(&error) {
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

    #[test]
    fn connections_go_round_the_schemas() {
        let schemas = Schemas::new("a", vec!["b", "c"]);
        let used: Vec<_> = (0..7).map(|i| (*schemas.of(i), schemas.place(i))).collect();
        let wanted = [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1), ("a", 2)];
        assert_eq!(used, wanted);
        let one = Schemas::new("a", Vec::new());
        assert_eq!((*one.of(9), one.place(9)), ("a", 9));
    }
}
