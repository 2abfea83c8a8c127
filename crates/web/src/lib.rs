//! `mydyno serve`. An empty room.
