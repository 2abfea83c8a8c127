//! What every other room speaks: the words of the design, units, seeded random numbers, limits,
//! exit codes, and the [`Session`] through which transactions reach a database.
//!
//! Nothing here opens a file or a socket, knows more of MySQL than names and numbers, or has a
//! dependency that has one itself.

pub mod clock;
mod counted;
mod cpu_list;
mod dilation;
mod document;
mod encoded;
pub mod errors;
mod exit;
pub mod limits;
mod lock;
mod named;
mod nearest;
mod percent;
mod position;
mod random;
mod server_release;
mod session;
mod sql_pieces;
mod time_functions;
mod units;
mod variables;
mod wait_cause;

pub use clock::{DateTime, Instant, now_utc_ns};
pub use counted::{by_key, counted, first_of, grouped, joined, truncated, value_of};
pub use cpu_list::{CpuList, NoCpuList};
pub use dilation::{CLOCK_VARIABLE, DilatedClock, Dilation};
pub use encoded::percent_encoded;
pub use exit::Exit;
pub use lock::lock;
pub use nearest::nearest;
pub use percent::{percent, percent_at_most, trimmed};
pub use position::line_and_column;
pub use random::Random;
pub use server_release::{NoRelease, ServerFamily, ServerRelease, Since, VersionNumbers};
pub use session::{
    Answer, Connect, OWN_SETTINGS, Param, Row, RowSource, Session, SessionError, SessionResult,
    SqlValue, StatementId, USERS_SETTINGS,
};
pub use sql_pieces::{SqlPiece, sql_pieces};
pub use time_functions::{CLOCK_FUNCTIONS, UNDILATED_FUNCTIONS};
pub use units::{
    Cents, WarehouseRange, Warehouses, parse_decimal, parse_share, parse_size, size_text,
};
pub use variables::{given_in, is_secret, redo_log_bytes, variable_name};
pub use wait_cause::WaitCause;
