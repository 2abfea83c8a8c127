//! `mydyno server`.

use super::show;
use crate::arguments::{read_place, warehouses};
use crate::console::{Console, print, stop_flag, tell};
use crate::failure::{Failure, Outcome};
use ::server::{
    AfterStop, Ending, Home, Instance, ListedEngine, NamedInstance, Secret, ServerBuild, find,
    install, list, named, preset, render_dsn,
};
use analyse::Table;
use base::{Dilation, Warehouses, document};
use clap::{Args, Subcommand};
use lab::{Job, NamedSpec, PresetSpec, start_named_on, stop_named_on};
use plan::{CellOptions, Given, SetVariable, StorageOptions};
use serde::Serialize;
use spec::{PopulationSpec, Preset, Scale, parse_dilation};
use std::path::{Path, PathBuf};
use wire::ConnectOptions;

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
    Images(super::images::ImagesArguments),
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

/// Runs the command.
pub fn run(arguments: &ServerArguments) -> Outcome {
    let home = Home::from_env()?;
    match &arguments.command {
        ServerCommand::List { json } => list_all(&home, *json),
        ServerCommand::Install { engine, from } => install_one(&home, engine, from.as_deref()),
        ServerCommand::Start(start) => start_one(&home, start),
        ServerCommand::Stop { name, remove } => stop_one(&home, name, *remove),
        ServerCommand::Images(images) => super::images::run(&home, images),
    }
}

#[derive(Serialize)]
struct ServersDocument {
    engines: Vec<EngineDocument>,
    servers: Vec<ServerDocument>,
}

document! {
    struct EngineDocument from (listed: ListedEngine);
    let ListedEngine { engine, availability, build } = listed;
    {
        name: &'static str = &engine.name,
        about: &'static str = &engine.about,
        availability: &'static str = availability.name(),
        /// The one at hand, or the one that installing would bring.
        version: String = build.as_ref().map_or(&engine.version, |build| &build.version).clone(),
        binary: Option<String> = build.map(|build| build.binary.display().to_string()),
    }
}

document! {
    struct ServerDocument from (server: NamedInstance);
    let dsn = server.dsn();
    {
        name: String = server.name,
        engine: String = server.engine,
        version: String = server.version,
        running: bool = server.running,
        pid: u32 = server.pid,
        port: u16 = server.port,
        socket: String = server.socket.display().to_string(),
        dsn: String = dsn,
    }
}

fn list_all(home: &Home, json: bool) -> Outcome {
    let found = ServersDocument {
        engines: list(home)?.into_iter().map(EngineDocument::of).collect(),
        servers: named(home)?.into_iter().map(ServerDocument::of).collect(),
    };
    let table = Table::of(&found.engines)
        .words("engine", |engine| engine.name.to_owned())
        .words("availability", |engine| engine.availability.replace('_', " "))
        .words("version", |engine| engine.version.clone())
        .words("about", |engine| engine.about.to_owned());
    let servers = found.servers.iter().map(|of| {
        let ServerDocument { name, engine, version, running, dsn, .. } = of;
        let state = if *running { "running" } else { "stopped" };
        format!("\nserver {name:?} ({engine} {version}): {state}, {dsn}\n")
    });
    show(json, 1, &found, || table.text() + &servers.collect::<String>())
}

fn install_one(home: &Home, engine: &str, from: Option<&Path>) -> Outcome {
    let build = install(home, engine, from, &mut |what| tell(what))?;
    print(format_args!("{} {}: {}\n", build.engine, build.version, build.binary.display()))
}

document! {
    struct StartDocument<'a> from (
        arguments: &'a ServerStartArguments,
        build: &'a ServerBuild,
        instance: &Instance,
        connect: &ConnectOptions,
        notes: &[String]
    );
    {
        name: &'a str = &arguments.name,
        engine: &'a str = &build.engine,
        version: &'a str = &build.version,
        pid: u32 = instance.pid(),
        port: u16 = instance.port,
        socket: String = instance.socket().display().to_string(),
        /// With the password: this document is for programs.
        dsn: String = render_dsn(connect, Secret::Shown),
        notes: Vec<String> = notes.iter().chain(&instance.notes).cloned().collect(),
    }
}

fn start_one(home: &Home, arguments: &ServerStartArguments) -> Outcome {
    let build = match (&arguments.server_binary, &arguments.engine) {
        (Some(binary), _) => ServerBuild::from_binary(binary)?,
        (None, Some(engine)) => find(home, engine)?,
        (None, None) => return Err(Failure::usage("name an --engine or --server-binary")),
    };
    let storage = CellOptions { storage: arguments.storage.clone(), ..CellOptions::default() };
    let placement = storage.placement(&read_place)?;
    placement.validate(arguments.preset.as_deref())?;
    let spec = NamedSpec {
        name: arguments.name.clone(),
        preset: preset_of(arguments)?,
        set: arguments.set.iter().map(|Given(set)| set.clone()).collect(),
        placement,
        port: arguments.port,
        population: arguments.warehouses.map(|warehouses| PopulationSpec {
            warehouses: Warehouses(warehouses),
            ..PopulationSpec::default()
        }),
        dilation: arguments.dilate,
    };
    let stop = stop_flag();
    let mut console = Console::new()?;
    let (instance, notes) =
        start_named_on(home, &build, &spec, &Job::new(&stop, &mut |p| console.show(p)))?;
    console.done();
    let connect =
        ConnectOptions { schema: Some(lab::SCHEMA.to_owned()), ..instance.connect_options() };
    let found = StartDocument::of(arguments, &build, &instance, &connect, &notes);
    show(arguments.json, 1, &found, || {
        let StartDocument { name, engine, version, pid, socket, notes, .. } = &found;
        for note in notes {
            tell(format_args!("note: {note}"));
        }
        format!(
            "server {name:?}: {engine} {version}, process {pid}\n  {}\n  socket {socket}\n\
             `mydyno server start --json` prints the DSN with its password; `mydyno server stop \
             {name}` ends it\n",
            render_dsn(&connect, Secret::Hidden)
        )
    })
}

/// The preset of a server, whose database may be loaded later.
///
/// # Errors
/// Where the preset has sizes and nothing says what they are for.
pub(super) fn preset_of(arguments: &ServerStartArguments) -> Result<Option<PresetSpec>, Failure> {
    let Some(name) = &arguments.preset else { return Ok(None) };
    let scale = arguments.scale.as_ref().map_or(Scale::Auto, |Given(scale)| *scale);
    let is_of_database = matches!(scale, Scale::Auto | Scale::Of(_));
    let warehouses = arguments.warehouses.map(Warehouses);
    let is_unknown = is_of_database && warehouses.is_none() && !preset::find(name)?.is_empty();
    let words = format!(
        "--preset {name} has sizes, and what will be loaded is not known: load it at once \
         (--warehouses 10), or add --scale and the number of warehouses (--scale 10), or --scale \
         papers for the papers' own"
    );
    Failure::usage_if(is_unknown, words)?;
    // Else it has no sizes, or they are told.
    let preset = Preset { name: name.clone(), scale };
    Ok(PresetSpec::of(Some(&preset), warehouses.unwrap_or(Warehouses(1)))?)
}

fn stop_one(home: &Home, name: &str, remove: bool) -> Outcome {
    let after = if remove { AfterStop::RemoveData } else { AfterStop::KeepData };
    let (ending, note) = stop_named_on(home, name, after)?;
    if let Some(note) = note {
        tell(format_args!("note: {note}"));
    }
    let what = match ending {
        Ending::Clean | Ending::Killed if remove => "and its data are gone".to_owned(),
        Ending::Clean => "has stopped".to_owned(),
        Ending::Killed => "did not stop in time and was killed".to_owned(),
        Ending::Died(how) if remove => format!("had ended before ({how}), and its data are gone"),
        Ending::Died(how) => format!("had ended before: {how}"),
    };
    print(format_args!("server {name:?} {what}\n"))
}
