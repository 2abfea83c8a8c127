//! The command line of `mydyno server`.

use super::place::PlaceArguments;
use super::preset::PresetArguments;
use super::values::{setting, size};
use clap::{Args, Subcommand};
use std::path::PathBuf;

#[derive(Args)]
pub struct ServerArguments {
    #[command(subcommand)]
    pub command: ServerCommand,
}

#[derive(Subcommand)]
pub enum ServerCommand {
    /// Engines that can be used or installed, and servers that run
    List {
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Install an engine into mydyno's own directory
    Install {
        engine: String,
        /// An official archive (.tar.gz, .tar.xz) that is here already
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Start a server that lives until `server stop`
    Start(Box<ServerStartArguments>),
    /// Stop a server that `server start` started
    Stop {
        #[arg(default_value = "default")]
        name: String,
        /// Remove its data too; else the next `server start` of that name goes on with it
        #[arg(long)]
        remove: bool,
    },
    /// Populated databases that private servers start on a clone of; they are made where they are missing
    Images(ImagesArguments),
}

#[derive(Args)]
pub struct ImagesArguments {
    /// Remove this image
    #[arg(long, value_name = "NAME")]
    pub remove: Vec<String>,
    /// Remove those that were not used for longest, until the others take this much room at most (20G)
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub keep: Option<u64>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ServerStartArguments {
    #[arg(long, required_unless_present = "server_binary")]
    pub engine: Option<String>,
    /// The server's binary (mysqld or mariadbd), instead of an installed engine
    #[arg(long, value_name = "FILE", conflicts_with = "engine")]
    pub server_binary: Option<PathBuf>,
    /// A name to stop it by
    #[arg(long, default_value = "default")]
    pub name: String,
    /// The loopback port [default: a free one]
    #[arg(long)]
    pub port: Option<u16>,
    #[command(flatten)]
    pub preset: PresetArguments,
    #[command(flatten)]
    pub places: PlaceArguments,
    /// A server variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    /// Print one JSON document on stdout, with the password in its `dsn`
    #[arg(long)]
    pub json: bool,
}
