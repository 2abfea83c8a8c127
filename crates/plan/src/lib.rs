//! The plan file: validation and expansion to cells. An empty room, built by the labs issue.
