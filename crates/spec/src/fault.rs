//! What becomes of a server at the end of a window, so that it is seen what survives.

use std::fmt;

/// A fault that ends the servers of a measurement: a drill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The server is killed (SIGKILL); its machine goes on and keeps every byte that it wrote.
    Kill,
    /// The devices lose their power: they keep what they had promised, and of the rest any part.
    PowerCut,
}

impl Fault {
    pub const ALL: [Fault; 2] = [Fault::PowerCut, Fault::Kill];

    /// The name on the command line, in plans and in results.
    pub const fn name(self) -> &'static str {
        match self {
            Fault::Kill => "kill",
            Fault::PowerCut => "power-cut",
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
