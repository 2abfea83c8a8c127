//! Prepared statements by name.

use crate::schema::DISTRICTS;
use base::{Session, SessionResult, StatementId};

/// `Statements`: a prepared statement for each name, from SQL text. The names are in results: their
/// first word is the verb of the SQL, or `lock` where a SELECT locks.
macro_rules! statements {
    ($($field:ident: $sql:expr,)*) => {
        /// Prepared statements of one session, by what they do.
        pub(crate) struct Statements {
            $(pub(crate) $field: base::StatementId,)*
        }

        impl Statements {
            /// How many there are.
            pub(super) const COUNT: u32 = [$(stringify!($field)),*].len() as u32;

            /// Prepares all of them on `session`.
            pub(super) async fn prepare<S: base::Session>(
                session: &mut S,
            ) -> Result<Statements, base::SessionError> {
                Ok(Statements {
                    $($field: session
                        .prepare_kind(stringify!($field), AsRef::<str>::as_ref(&$sql))
                        .await?,)*
                })
            }
        }
    };
}
pub(crate) use statements;

/// Prepares N statements of one kind that differ by a number from 0.
pub(crate) async fn prepare_all<S: Session, const N: usize>(
    session: &mut S,
    kind: &'static str,
    sql: impl Fn(usize) -> String,
) -> SessionResult<[StatementId; N]> {
    let mut ids = [StatementId(0); N];
    for (index, id) in ids.iter_mut().enumerate() {
        *id = session.prepare_kind(kind, &sql(index)).await?;
    }
    Ok(ids)
}

/// A statement for each district.
pub(crate) struct DistrictStatements([StatementId; DISTRICTS as usize]);

impl DistrictStatements {
    /// Prepares the SQL of each district, 1..=10.
    pub(crate) async fn prepare<S: Session>(
        session: &mut S,
        kind: &'static str,
        sql: impl Fn(u32) -> String,
    ) -> SessionResult<DistrictStatements> {
        prepare_all(session, kind, |index| sql(index as u32 + 1)).await.map(DistrictStatements)
    }

    /// That of a district, 1..=10.
    pub(crate) fn of(&self, district: u32) -> StatementId {
        self.0[district as usize - 1]
    }
}
