//! Nothing yet.

fn main() {}
