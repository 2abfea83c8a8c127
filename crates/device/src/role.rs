//! What a file is for.

use serde::{Deserialize, Serialize};

base::named! {
    /// What a file of the server is for. Roles are placed on devices.
    #[derive(Hash, PartialOrd, Ord, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum Role {
        Data = "data",
        Redo = "redo",
        Undo = "undo",
        Doublewrite = "doublewrite",
        Binlog = "binlog",
        Temp = "temp",
    }
}

impl Role {
    /// Its place in [`Role::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }
}
