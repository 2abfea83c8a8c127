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

/// A statement for each district, from the first.
pub(crate) type DistrictStatements = [StatementId; DISTRICTS as usize];

/// Prepares N statements of one kind that differ by a number from 1.
pub(crate) async fn prepare_all<S: Session, const N: usize>(
    session: &mut S,
    kind: &'static str,
    sql: impl Fn(usize) -> String,
) -> SessionResult<[StatementId; N]> {
    let mut ids = [StatementId(0); N];
    for (id, number) in ids.iter_mut().zip(1..) {
        *id = session.prepare_kind(kind, &sql(number)).await?;
    }
    Ok(ids)
}
