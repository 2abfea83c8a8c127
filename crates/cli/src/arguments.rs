//! The command line.

use crate::commands::compare::RunNames;
use crate::lab_arguments::LabArguments;
use crate::measuring_arguments::MeasuringArguments;
use crate::ramp_arguments::RampArguments;
use crate::schema_arguments::SchemaArguments;
use crate::server_arguments::ServerArguments;
use analyse::Aspect;
use base::limits;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use spec::{Length, Rate, Spacing, Style, Workload, defaults, parse_precision};
use std::net::{Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

/// A dynamometer for MySQL on storage: TPC-C throughput, response times and consistency, proven.
#[derive(Parser)]
#[command(name = "mydyno", version, max_term_width = 100)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    /// The main job on private servers: load, drive at 8 and 32 connections on four emulated devices, check, report
    Demo(DemoArguments),
    /// Create and populate a TPC-C database
    Load(LoadArguments),
    /// Warm up, drive, measure, print a summary
    Run(Box<RunArguments>),
    /// Raise connections until the target saturates, and say where and why
    Ramp(Box<RampArguments>),
    /// Prove a database consistent: the twelve conditions of TPC-C and six invariants
    Check(CheckArguments),
    /// Server engines: what there is, install, start, stop
    Server(ServerArguments),
    /// Storage devices: those that can be emulated; verify them, measure real ones
    Device(DeviceArguments),
    /// Experiments: a plan file with the matrix to measure
    Lab(LabArguments),
    /// Write a lab of the results file as one HTML page
    Report(ReportArguments),
    /// Compare two measurements: difference and ratio with confidence intervals, judged against chance
    Compare(CompareArguments),
    /// Write a lab of the results file as CSV files
    Export(ExportArguments),
}

const TARGET: &str = "Target";

/// Where the database is.
// Each with its heading: `next_help_heading` would go on to the arguments of the command that has these.
#[derive(Args, Clone)]
pub struct TargetArguments {
    /// Server and schema: mysql://user[:password]@host:3306/tpcc[?ssl-mode=REQUIRED&ssl-ca=FILE&socket=PATH];
    /// the password may come from MYDYNO_PASSWORD or an option file instead
    #[arg(help_heading = TARGET, long, value_name = "DSN", conflicts_with_all = ["engine", "server_binary", "set"])]
    pub dsn: Option<String>,
    /// MySQL option file with a [client] section, instead of ~/.my.cnf
    #[arg(help_heading = TARGET, long, value_name = "FILE", conflicts_with_all = ["engine", "server_binary", "set"])]
    pub defaults_file: Option<PathBuf>,
    /// A private server of this engine, on a clone of a populated image, ended with this command
    /// (see `mydyno server list`)
    #[arg(help_heading = TARGET, long, value_name = "ENGINE")]
    pub engine: Option<String>,
    /// The private server's binary (mysqld or mariadbd), instead of an installed engine
    #[arg(help_heading = TARGET, long, value_name = "FILE")]
    pub server_binary: Option<PathBuf>,
    /// A server variable of the private server; may be repeated
    #[arg(help_heading = TARGET, long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
}

impl TargetArguments {
    /// Is a server asked for that is started for this command?
    pub fn is_private(&self) -> bool {
        self.engine.is_some() || self.server_binary.is_some()
    }
}

#[derive(Args)]
pub struct ResultsArguments {
    /// The results file, a SQLite database
    #[arg(long, value_name = "FILE", default_value = "mydyno.db")]
    pub results: PathBuf,
}

#[derive(Args)]
pub struct DemoArguments {
    /// Engine of the private server; installed where it is missing
    #[arg(long, default_value = defaults::ENGINE)]
    pub engine: String,
    /// Where the report goes
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct LoadArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    /// Warehouses, the size of the database: each about 100 MB on disk
    #[arg(short, long, default_value_t = defaults::WAREHOUSES.0, value_parser = warehouses())]
    pub warehouses: u32,
    /// Equal seeds give equal databases, byte for byte
    #[arg(long, default_value_t = defaults::POPULATION_SEED)]
    pub seed: u64,
    /// Connections that load at the same time [default: one per core, 2 to 8]
    #[arg(long, conflicts_with_all = ["engine", "server_binary"], value_parser = clap::value_parser!(u32).range(1..=256))]
    pub threads: Option<u32>,
    /// Load so many schemas, <schema>_0, <schema>_1 and so on, each with all warehouses
    #[arg(long, value_name = "K", value_parser = schemas())]
    pub schemas: Option<u32>,
    #[command(flatten)]
    pub schema: SchemaArguments,
    /// Give HISTORY a primary key, a column h_id that counts rows, which TPC-C does not have [default: where the server demands
    /// one: sql_require_primary_key, Group Replication, Galera (wsrep_on)]
    #[arg(long, conflicts_with_all = ["engine", "server_binary"])]
    pub history_key: bool,
    /// Load anew over what mydyno loaded here before, or beside other tables
    #[arg(long, conflicts_with_all = ["engine", "server_binary"])]
    pub force: bool,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct RunArguments {
    /// What is driven: tpcc (transactions by the clauses, no waits), tpcc-spec (terminals with keying and think times) or
    /// tpcc-mysql (the statements of that tool, with its deviations)
    #[arg(long, default_value = defaults::WORKLOAD.name(), value_parser = named(Workload::ALL, Workload::name))]
    pub workload: Workload,
    /// How statements travel: statements (one per round trip, as applications send them), pipelined (the same, sent
    /// together), batched (set-based, the fewest that do) or procedures (stored procedures)
    #[arg(long, default_value = defaults::STYLE.name(), value_parser = named(Style::ALL, Style::name))]
    pub style: Style,
    /// Connections: each a closed loop without think time or, with --rate and tpcc-spec, at the service of what comes
    /// [default: 8; with tpcc-spec one for each terminal]
    #[arg(short, long, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::CONNECTIONS_MAX)))]
    pub connections: Option<u32>,
    /// Open loop: transactions of all types per second (500 or 500/s), whether a connection is free or not, or a share of
    /// what a closed loop does (80%), which is measured first: behind a warm-up like --warmup, until its throughput is steady
    /// and known to 3 %, for 1 minute at most
    #[arg(long, value_name = "RATE")]
    pub rate: Option<Rate>,
    /// Time between arrivals: poisson (random, as many users come) or uniform [default: poisson]
    #[arg(long, requires = "rate", hide_possible_values = true, value_parser = named(Spacing::ALL, Spacing::name))]
    pub arrivals: Option<Spacing>,
    /// Warehouses to use [default: all of the database; 10 with --engine]; with tpcc-spec each has ten terminals
    #[arg(short, long, value_parser = warehouses())]
    pub warehouses: Option<u32>,
    /// Warehouses of those to use that have rows but no terminals, with tpcc-spec (clause 4.2.2) [default: 0]
    #[arg(long, value_name = "N", default_value_t = 0, hide_default_value = true)]
    pub inactive_warehouses: u32,
    /// Terminals, with tpcc-spec [default: ten for each active warehouse]; with another number some share a district, and
    /// clause 4.1.3 is not judged
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::TERMINALS_MAX)))]
    pub terminals: Option<u32>,
    /// Time before the window, not measured; auto ends when throughput, dirty pages and checkpoint age are steady, after 30 s
    /// and 30 intervals at least and 30 minutes at most, auto:10m after 10 minutes at most
    #[arg(long, value_name = "TIME", default_value_t = defaults::WARMUP, value_parser = warmup)]
    pub warmup: Length,
    /// Measured time; auto ends when the mean throughput is known to --precision, after 180 intervals at least and 1 hour at
    /// most, auto:10m after 10 minutes at most
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = window)]
    pub window: Length,
    /// What ends --window auto: half the width of the mean's 95 % confidence interval, as a share of the mean [default: 2%]
    #[arg(long, value_name = "SHARE", value_parser = precision)]
    pub precision: Option<f64>,
    /// Run the checks of `mydyno check` after the run
    #[arg(long)]
    pub check: bool,
    /// Drive so many private servers at once, each with a database of its own: they share this machine and its devices, and divide
    /// the buffer pool and the connections
    #[arg(long, value_name = "N", default_value_t = 1, hide_default_value = true,
          value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::INSTANCES_MAX)))]
    pub instances: u32,
    #[command(flatten)]
    pub measuring: MeasuringArguments,
    /// What is printed: words for people, or live what tpcc-mysql's tpcc_start prints, for scripts that read it
    #[arg(long, default_value = "words", conflicts_with = "json", value_parser = named(Format::ALL, Format::name))]
    pub format: Format,
    /// Watch the run: a dashboard on a terminal, else a line for each interval; the summary follows
    #[arg(long, conflicts_with = "json")]
    pub watch: bool,
    /// Answer Prometheus with mydyno's own metrics while the run goes on, at http://ADDRESS/metrics; 127.0.0.1:9187 for this
    /// machine only
    #[arg(long, value_name = "ADDRESS", value_parser = listen_address)]
    pub metrics_listen: Option<SocketAddr>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

/// How `mydyno run` prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Words,
    TpccMysql,
}

impl Format {
    pub const ALL: [Format; 2] = [Format::Words, Format::TpccMysql];

    pub fn name(self) -> &'static str {
        match self {
            Format::Words => "words",
            Format::TpccMysql => "tpcc-mysql",
        }
    }
}

#[derive(Args)]
pub struct CheckArguments {
    #[command(flatten)]
    pub target: TargetArguments,
    /// Check so many schemas, <schema>_0, <schema>_1 and so on, together
    #[arg(long, value_name = "K", value_parser = schemas())]
    pub schemas: Option<u32>,
    /// Warehouses of the private server's image
    #[arg(short, long, default_value_t = defaults::WAREHOUSES.0, value_parser = warehouses(), conflicts_with_all = ["dsn", "defaults_file"])]
    pub warehouses: u32,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DeviceArguments {
    #[command(subcommand)]
    pub command: DeviceCommand,
}

#[derive(Subcommand)]
pub enum DeviceCommand {
    /// Devices that can be emulated, with what their sheets promise
    List {
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// A profile with the source of each figure, as a file to start one's own from
    Show {
        /// A name of `device list`, or a file that ends in .toml
        profile: String,
        /// Print one JSON document on stdout
        #[arg(long)]
        json: bool,
    },
    /// Measure emulated devices with fio, and compare with their sheets
    Verify(DeviceVerifyArguments),
    /// Measure the storage of a directory with fio, and make a profile of it
    Probe(DeviceProbeArguments),
}

#[derive(Args)]
pub struct DeviceVerifyArguments {
    /// Names of `device list`, or files that end in .toml
    #[arg(required_unless_present = "all", value_name = "PROFILE")]
    pub profiles: Vec<String>,
    /// Every device of `device list`
    #[arg(long, conflicts_with = "profiles")]
    pub all: bool,
    /// Where fio's file goes [default: memory where it has room, else mydyno's own directory]
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Measured time of each figure
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct DeviceProbeArguments {
    /// A directory of the storage; a file of up to 1 GiB is made there, and removed
    pub directory: PathBuf,
    /// The profile's file, which ends in .toml; must not exist yet [default: print it]
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Measured time of each of about ten jobs
    #[arg(long, default_value = "5", value_parser = job_duration)]
    pub seconds: Duration,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ReportArguments {
    /// The lab's number [default: the last one]
    pub lab: Option<i64>,
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
}

#[derive(Args)]
pub struct CompareArguments {
    /// What to compare with: the number of a lab (3), of a cell in it (3.2) or of a repeat of that (3.2.1); several runs of the
    /// same with commas (3,5,7)
    #[arg(value_name = "A")]
    pub base: RunNames,
    /// What is compared, named in the same way; 7 is the exit code where it is slower by more than --at-least
    #[arg(value_name = "B")]
    pub other: RunNames,
    /// Slowdown that matters: the interval of the ratio has to exclude a smaller one
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = slowdown)]
    pub at_least: f64,
    /// What the two may differ in, with commas; any other difference is refused
    #[arg(long, value_name = "ASPECTS", value_delimiter = ',', value_parser = named(Aspect::NAMED, Aspect::name))]
    pub across: Vec<Aspect>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct ExportArguments {
    /// The lab's number [default: the last one]
    pub lab: Option<i64>,
    /// Directory for the CSV files
    #[arg(short, long, value_name = "DIRECTORY", default_value = "mydyno-csv")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
}

/// One of a few names.
pub fn named<T: Copy + Send + Sync + 'static, const N: usize>(
    all: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(all.map(name)).map(move |given| {
        let found = all.into_iter().find(|one| name(*one) == given);
        found.expect("clap lets only the names of `all` pass")
    })
}

pub fn warehouses() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::WAREHOUSES_MAX))
}

pub fn schemas() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=i64::from(limits::SCHEMAS_MAX))
}

pub fn setting(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("the form is NAME=VALUE")?;
    if name.trim().is_empty() {
        return Err("the name is empty; the form is NAME=VALUE".to_owned());
    }
    Ok((name.trim().to_owned(), value.trim().to_owned()))
}

/// `90s`, `2m`, `500ms`, or a bare number of seconds as sysbench and tpcc-mysql take it.
pub fn duration(text: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(30 * 24 * 3600);
    let parsed = match text.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => humantime::parse_duration(text)
            .map_err(|error| format!("{error}; write 30s, 5m or a number of seconds"))?,
    };
    if parsed > LONGEST {
        return Err("at most 30 days".to_owned());
    }
    Ok(parsed)
}

pub fn warmup(text: &str) -> Result<Length, String> {
    Length::parse(text, defaults::WARMUP_AUTO_MOST, duration)
}

pub fn window(text: &str) -> Result<Length, String> {
    Length::parse(text, defaults::WINDOW_AUTO_MOST, positive_duration)
}

pub fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be longer than 0".to_owned()),
        positive => Ok(positive),
    }
}

fn slowdown(text: &str) -> Result<f64, String> {
    let share = base::parse_share(text).filter(|share| *share < 1.0);
    share.ok_or_else(|| "write 2% or 0.02, above 0 and below 100%".to_owned())
}

fn precision(text: &str) -> Result<f64, String> {
    parse_precision(text).ok_or_else(|| "write 2% or 0.02, from 0.01% to 50%".to_owned())
}

pub fn shell_command(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("it is empty; write a command that prints watts".to_owned()),
        _ => Ok(text.to_owned()),
    }
}

/// Of an exporter: Prometheus reads plain HTTP too.
pub fn exporter(text: &str) -> Result<String, String> {
    const FORM: &str = "an address like http://db:9100/metrics";
    if text.starts_with("https://") {
        return Err(format!(
            "exporters are asked over plain HTTP only; write {FORM}, of a tunnel where it has to be encrypted"
        ));
    }
    let rest = text.strip_prefix("http://").ok_or(FORM)?;
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let (_, host_port) = authority.rsplit_once('@').unwrap_or(("", authority));
    let is_bracketed = host_port.ends_with(']');
    let (host, port) = match host_port.rsplit_once(':') {
        Some((host, port)) if !is_bracketed => (host, Some(port)),
        _ => (host_port, None),
    };
    let is_number = |port: &str| port.parse::<u16>().is_ok_and(|port| port > 0);
    let is_host = match host.strip_prefix('[') {
        Some(ip) => ip
            .strip_suffix(']')
            .is_some_and(|ip| ip.parse::<Ipv6Addr>().is_ok()),
        None => !host.is_empty() && !host.contains(':'),
    };
    let is_written_plainly = !text.contains(char::is_whitespace);
    if !is_host || !is_written_plainly || !port.is_none_or(is_number) {
        return Err(format!("no host and port in it; write {FORM}"));
    }
    Ok(text.to_owned())
}

/// With a port that Prometheus can be told.
pub fn listen_address(text: &str) -> Result<SocketAddr, String> {
    match text.parse::<SocketAddr>() {
        Ok(address) if address.port() > 0 => Ok(address),
        _ => Err("an address and a port like 127.0.0.1:9187 or [::1]:9187".to_owned()),
    }
}

/// Of a job of fio: shorter ones measure its start.
fn job_duration(text: &str) -> Result<Duration, String> {
    const SHORTEST: Duration = Duration::from_secs(1);
    const LONGEST: Duration = Duration::from_secs(3600);
    match duration(text)? {
        fits if (SHORTEST..=LONGEST).contains(&fits) => Ok(fits),
        _ => Err("from 1 s to 1 h".to_owned()),
    }
}

pub fn interval(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        short if short < limits::INTERVAL_MIN => {
            Err(format!("at least {} ms", limits::INTERVAL_MIN.as_millis()))
        }
        long => Ok(long),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations_as_people_write_them() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert!(duration("-1").is_err());
        assert!(duration("60d").is_err());
        assert!(window("0").is_err() && window("auto:0").is_err());
        assert_eq!(warmup("0"), Ok(Length::fixed(Duration::ZERO)));
        let ten_minutes = Length::auto(Duration::from_secs(600));
        assert_eq!(warmup("auto:10m"), Ok(ten_minutes));
        assert_eq!(window("auto:600"), Ok(ten_minutes));
        assert_eq!(window("auto"), Ok(Length::auto(defaults::WINDOW_AUTO_MOST)));
        assert_eq!(precision("2%"), Ok(0.02));
        assert!(interval("1ms").is_err() && interval("100ms").is_ok());
    }

    #[test]
    fn addresses_of_exporters() {
        for good in [
            "http://db:9100/metrics",
            "http://db",
            "http://127.0.0.1:9100/metrics?collect=cpu",
            "http://[::1]:9100/metrics",
            "http://[::1]/metrics",
            "http://user:pass@word@db:9100/metrics",
        ] {
            assert_eq!(exporter(good), Ok(good.to_owned()));
        }
        for bad in [
            "",
            "db:9100",
            "http://",
            "http:///metrics",
            "http://:9100/metrics",
            "http://?x",
            "http://user@/metrics",
            "http://db:0/metrics",
            "http://db:99999/metrics",
            "http://db:/metrics",
            "http://::1/metrics",
            "http://[::1/metrics",
            "http://[db]:9100",
            "http://d b/metrics",
        ] {
            assert!(exporter(bad).is_err(), "{bad:?}");
        }
        let words = exporter("https://db:9100/metrics").unwrap_err();
        assert!(words.contains("plain HTTP only"), "{words}");
        assert!(shell_command(" \t").is_err() && shell_command("echo 1").is_ok());
    }

    #[test]
    fn absurd_numbers_are_usage_errors() {
        for arguments in [
            &["mydyno", "load", "--warehouses", "0"][..],
            &["mydyno", "load", "--warehouses", "-3"],
            &["mydyno", "load", "--warehouses", "99999999999"],
            &["mydyno", "run", "--connections", "0"],
            &["mydyno", "run", "--window", "0"],
            &["mydyno", "run", "--window", "auto:60d"],
            &["mydyno", "run", "--window", "auto", "--precision", "0"],
            &["mydyno", "run", "--rate", "fast"],
            &["mydyno", "run", "--rate", "0"],
            &["mydyno", "run", "--arrivals", "uniform"],
            &["mydyno", "run", "--terminals", "0"],
            &["mydyno", "load", "--partitions", "8"],
            &[
                "mydyno",
                "load",
                "--no-foreign-keys",
                "--partitions",
                "1025",
            ],
            &["mydyno", "run", "--watch", "--json"],
            &["mydyno", "run", "--metrics-listen", "9187"],
            &["mydyno", "run", "--metrics-listen", "127.0.0.1:0"],
            &[
                "mydyno",
                "run",
                "--engine",
                "mysql-5.7",
                "--dsn",
                "mysql://root@localhost/tpcc",
            ],
            &["mydyno", "run", "--set", "novalue", "--engine", "mysql-5.7"],
        ] {
            let error = Arguments::try_parse_from(arguments).err().unwrap();
            assert_eq!(error.exit_code(), 2, "{arguments:?}");
        }
    }
}
