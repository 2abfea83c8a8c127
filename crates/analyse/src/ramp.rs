//! Ramps: what their points are, where they stop, and what they say.

pub(crate) mod bend;
pub(crate) mod ramp_cpu;
pub(crate) mod ramp_point;
pub(crate) mod ramps;
pub(crate) mod saturation;
