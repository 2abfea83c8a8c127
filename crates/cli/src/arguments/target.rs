//! Where the database is, and where results go.

use super::values::{named, setting};
use crate::failure::Failure;
use base::{Exit, limits};
use clap::Args;
use spec::{External, PopulationSpec, Private, Server, Topology};
use std::path::PathBuf;

const TARGET: &str = "Target";

/// Where the database is.
// Each with its heading: `next_help_heading` would go on to the arguments of the command that has
// these.
#[derive(Args, Clone)]
pub struct TargetArguments {
    /// Server and schema:
    /// mysql://user[:password]@host:3306/tpcc[?socket=PATH&ssl-mode=REQUIRED]; more options are
    /// ssl-ca, ssl-cert, ssl-key, server-public-key-path and get-server-public-key, as for `mysql`
    /// (docs/security.md); the password may come from MYDYNO_PASSWORD or an option file instead; of
    /// servers that belong together (--topology) all hosts: mysql://user@a:3306,b:3306/tpcc, or a
    /// DSN for each
    #[arg(
        help_heading = TARGET, long, value_name = "DSN",
        conflicts_with_all = ["engine", "server_binary", "set"]
    )]
    pub dsn: Vec<String>,
    /// How several servers belong together: multi-primary (Galera, Group Replication: connections
    /// go to all of them), primary-replicas (the first is written to, Order-Status and Stock-Level
    /// read from the others) or shards (each has a range of the warehouses)
    #[arg(
        help_heading = TARGET, long, value_name = "TOPOLOGY",
        value_parser = named(Topology::NAMED, Topology::name)
    )]
    pub topology: Option<Topology>,
    /// Number of private servers that belong together, each on a clone of one image
    #[arg(
        help_heading = TARGET, long, value_name = "N", requires = "topology",
        conflicts_with_all = ["dsn", "defaults_file"],
        value_parser = clap::value_parser!(u32).range(2..=i64::from(limits::INSTANCES_MAX))
    )]
    pub nodes: Option<u32>,
    /// MySQL option file with a [client] section, instead of ~/.my.cnf
    #[arg(
        help_heading = TARGET, long, value_name = "FILE",
        conflicts_with_all = ["engine", "server_binary", "set"]
    )]
    pub defaults_file: Option<PathBuf>,
    /// Engine of a private server, which starts on a clone of a populated image and ends with this
    /// command (see `mydyno server list`)
    #[arg(help_heading = TARGET, long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// Binary of the private server (mysqld or mariadbd), instead of an installed engine
    #[arg(help_heading = TARGET, long, value_name = "FILE")]
    pub server_binary: Option<PathBuf>,
    /// Server variable of the private server; may be repeated
    #[arg(help_heading = TARGET, long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
}

impl TargetArguments {
    /// Is a server asked for that is started for this command?
    pub fn is_private(&self) -> bool {
        self.engine.is_some() || self.server_binary.is_some()
    }

    /// A private server's image holds one schema.
    pub fn refuse_private_schemas(&self, schemas: Option<u32>) -> Result<(), Failure> {
        if schemas.is_none() || !self.is_private() {
            return Ok(());
        }
        Err(Failure::new(
            Exit::Usage,
            "--schemas is for servers that live on, and a private server has one schema; use \
             `mydyno server start`, then `mydyno load --schemas` and this command with --dsn",
        ))
    }

    /// The private server that is asked for, if one is.
    pub fn private(&self, population: PopulationSpec) -> Option<Private> {
        let engine = match (&self.engine, &self.server_binary) {
            (Some(engine), _) => engine,
            (None, Some(_)) => Private::OF_BINARY,
            (None, None) => return None,
        };
        Some(Private {
            binary: self.server_binary.clone(),
            set: self.set.clone(),
            population,
            instances: self.nodes.unwrap_or(1),
            topology: self.topology.unwrap_or_default(),
            ..Private::of_engine(engine)
        })
    }

    /// The server that is asked for: a private one, else that which DSN or option files name.
    pub fn server(
        &self,
        population: PopulationSpec,
        schemas: Option<u32>,
    ) -> Result<Server, Failure> {
        if let Some(private) = self.private(population) {
            return Ok(Server::Private(private));
        }
        if !self.set.is_empty() {
            return Err(Failure::new(
                Exit::Usage,
                "--set is for private servers; add --engine, or set the variable on the server",
            ));
        }
        Ok(Server::External(External {
            dsns: self.dsn.clone(),
            topology: self.topology.unwrap_or_default(),
            defaults_file: self.defaults_file.clone(),
            schemas,
            set: Vec::new(),
        }))
    }
}

#[derive(Args)]
pub struct ResultsArguments {
    /// Results file, a SQLite database
    #[arg(long, value_name = "FILE", default_value = "mydyno.db")]
    pub results: PathBuf,
}
