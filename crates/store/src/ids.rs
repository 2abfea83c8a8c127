//! The keys of tables that rows of others name.

use crate::values::id;

id!(
    /// One execution of a plan, or of one command that measures.
    LabId
);
id!(
    /// One combination of the matrix.
    CellId
);
id!(
    /// One measurement of a cell.
    RepeatId
);
id!(
    /// One population of a database.
    LoadId
);
id!(
    /// One rise of connections.
    RampId
);
