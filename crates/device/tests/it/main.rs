//! What devices do with requests and what a loss of power leaves, on a virtual clock; and profiles
//! as people write them.

mod behaviour;
mod cut;
mod profile_text;
mod profiles;
mod sheets;
mod simulator;
