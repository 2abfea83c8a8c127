//! Engines, instances, images and targets: everything about servers but what is sent to them.
//!
//! - [`find`], [`list`] and [`install`] give a [`ServerBuild`]: a server binary with a known
//!   version.
//! - [`Instance`] is a running server of mydyno's own, private to this process or named;
//!   [`stop_named`] ends the latter.
//! - [`Image`] is a data directory, populated or just initialised, that instances start on a clone
//!   of.
//! - [`preset`] holds the configurations of the white papers, translated for a build.
//! - [`Target`] is a server that somebody else runs, named by a DSN or by MySQL option files.
//!
//! All files lie under [`Home`]. This crate knows nothing of workloads and sends no statement to a
//! running server: accounts come from an init file that the server itself runs.

mod builds;
mod catalogue;
mod copy;
mod cpus;
mod dsn;
mod error;
mod galera;
mod home;
mod image;
mod initialise;
mod initialised;
mod install;
mod instance;
mod instance_dir;
mod journal;
mod kept_images;
mod launch;
mod made_with;
mod named;
mod option_file;
mod option_text;
mod pages;
pub mod preset;
mod process;
mod record;
mod release_facts;
mod settings;
mod start;
mod target;

pub use builds::{Availability, ListedEngine, ServerBuild, find, list};
pub use catalogue::{Engine, engine, engines};
pub use copy::Storage;
pub use cpus::{DividedCpus, KeptToCpus, allowed_cpus};
pub use dsn::{Secret, dsn_has_password, dsn_of_each_host, render as render_dsn};
pub use error::{ServerError, ServerResult};
pub use galera::{GaleraNode, received_write_sets, refuse_own_settings, require_provider};
pub use home::Home;
pub use image::{Image, ImageContents, ImageKey};
pub use install::install;
pub use instance::{Instance, InstanceOptions, Lifetime};
pub use instance_dir::{require_apart, sweep};
pub use journal::{ChangeJournal, NamedVariables, ServerChange};
pub use kept_images::{
    IMAGES_VARIABLE, images_max_bytes, kept_images, remove_image, shrink_images,
};
pub use made_with::{acts_on_new_data_only, kept_settings, made_with, without_effect};
pub use named::{AfterStop, named, stop_named};
pub use pages::{CorruptPages, corrupt_pages};
pub use process::{Ending, errors_in};
pub use record::NamedInstance;
pub use settings::{
    CONNECTIONS_BASE, PREPARED_STATEMENTS_BASE, REDO_BYTES_BASE, redo_bytes,
    validate as validate_settings,
};
pub use start::require_startable;
pub use target::{Target, TargetRequest};
