//! The command line of `mydyno server`.

use super::values::{size, warehouses};
use base::Dilation;
use clap::{Args, Subcommand};
use plan::{Given, SetVariable, StorageOptions};
use spec::{Scale, parse_dilation};
use std::path::PathBuf;

#[derive(Args)]
pub struct ServerArguments {
    #[command(subcommand)]
    pub command: ServerCommand,
}

#[derive(Subcommand)]
pub enum ServerCommand {
    /// List the engines that can be used or installed, and the named servers
    List {
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Install an engine into mydyno's own directory
    Install {
        /// Name of `server list`
        engine: String,
        /// Official archive (.tar.gz, .tar.xz) that is on this machine already
        #[arg(long, value_name = "FILE")]
        from: Option<PathBuf>,
    },
    /// Start a server that runs until `server stop`
    Start(Box<ServerStartArguments>),
    /// Stop a server that `server start` started
    Stop {
        /// Name of the server
        #[arg(default_value = "default")]
        name: String,
        /// Remove its data too; else the next `server start` of that name continues with them
        #[arg(long)]
        remove: bool,
    },
    /// List the populated databases that private servers are cloned from, and remove them; missing
    /// ones are made when they are needed
    Images(ImagesArguments),
}

#[derive(Args)]
pub struct ImagesArguments {
    /// Name of an image to remove; may be repeated
    #[arg(long, value_name = "NAME")]
    pub remove: Vec<String>,
    /// Size that the images may take (20G): remove the least recently used ones until the others
    /// fit
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub keep: Option<u64>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ServerStartArguments {
    /// Engine of the server (see `mydyno server list`)
    #[arg(long, required_unless_present = "server_binary")]
    pub engine: Option<String>,
    /// Binary of the server (mysqld or mariadbd), instead of an installed engine
    #[arg(long, value_name = "FILE", conflicts_with = "engine")]
    pub server_binary: Option<PathBuf>,
    /// Name of the server, by which it is stopped
    #[arg(long, default_value = "default")]
    pub name: String,
    /// Loopback port [default: a free one]
    #[arg(long)]
    pub port: Option<u16>,
    /// Server variables of the white papers, translated for this server; see `mydyno run --help`
    #[arg(long, value_name = "NAME")]
    pub preset: Option<String>,
    /// Sizes of the preset's buffer pool and redo log: papers (as they are there), the number of
    /// warehouses that will be loaded, or as `mydyno run` has them; required where the preset has
    /// sizes and no warehouses are named [default: auto, for the named warehouses]
    #[arg(long, value_name = "SCALE", requires = "preset")]
    pub scale: Option<Given<Scale>>,
    /// Number of warehouses of a TPC-C database that a new server begins with, cloned from an image
    /// as those of private servers are [default: no database]
    #[arg(short, long, value_name = "N", value_parser = warehouses())]
    pub warehouses: Option<u32>,
    /// Run the clock and the emulated devices of the server K times slower than real ones, 1/32 to
    /// 100 (faster below 1), until it is stopped; `mydyno run --dsn` tells results in its seconds
    #[arg(long, value_name = "K", default_value = "1", value_parser = parse_dilation)]
    pub dilate: Dilation,
    /// Server variable; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<Given<SetVariable>>,
    /// Print one JSON document on stdout, with the password in its `dsn`
    #[arg(long)]
    pub json: bool,
    // Last, as its section of the help is.
    #[command(flatten)]
    pub storage: StorageOptions,
}
