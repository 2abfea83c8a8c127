//! What a file is for.

use serde::{Deserialize, Serialize};

/// What a file of the server is for. Roles are placed on devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Data,
    Redo,
    Undo,
    Doublewrite,
    Binlog,
    Temp,
}

impl Role {
    pub const ALL: [Role; 6] =
        [Role::Data, Role::Redo, Role::Undo, Role::Doublewrite, Role::Binlog, Role::Temp];

    /// Its place in [`Role::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// The name on the command line, in setups and in results.
    pub fn name(self) -> &'static str {
        match self {
            Role::Data => "data",
            Role::Redo => "redo",
            Role::Undo => "undo",
            Role::Doublewrite => "doublewrite",
            Role::Binlog => "binlog",
            Role::Temp => "temp",
        }
    }
}
