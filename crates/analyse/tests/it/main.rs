//! Statistics and verdicts: on series and labs of which the truth is known, and on labs in results
//! files.

mod blocks;
mod judged;
mod matrix;
mod papers;
mod resources;
mod simulated;
