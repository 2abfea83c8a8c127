//! Our own figures and those of peers, interleaved with the floor of the same round.

use crate::bed::Bed;
use crate::command::Ended;
use crate::floor;
use crate::meter::{Span, median};
use crate::table::{Table, number};
use anyhow::{Context, Result, anyhow, ensure};
use base::Random;
use serde_json::Value;
use spec::Style;
use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

const FLOOR_SPAN: Span =
    Span { warmup: Duration::from_millis(200), window: Duration::from_secs(1) };

/// A peer's command line, and the table of its districts.
#[derive(Clone, Debug)]
pub struct Peer {
    pub command: String,
    pub districts: String,
}

pub struct Options {
    pub rounds: u32,
    pub connections: Vec<u32>,
    pub warmup_s: u32,
    pub window_s: u32,
    pub peers: Vec<Peer>,
}

/// What is run once a round. Ordered as the tables are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Who {
    Floor,
    /// By its place in [`Style::ALL`].
    Ours(usize),
    /// By its place in [`Options::peers`].
    Peer(usize),
}

type Key = (Who, u32);

/// One run, as its own program and as the bench saw it. What is not known is none.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    cpu_us_per_statement: Option<f64>,
    ratio_to_floor: Option<f64>,
    cpu_s_per_1000_new_orders: Option<f64>,
    nopm: Option<f64>,
    p95_ms: Option<f64>,
    whole: Whole,
}

/// A run from its start to its end, seen from outside: the same for everybody.
#[derive(Clone, Copy, Debug, Default)]
struct Whole {
    wall_s: f64,
    cpu_s: f64,
    statements: f64,
    new_orders: f64,
}

impl Whole {
    fn cpu_us_per_statement(&self) -> f64 {
        self.cpu_s * 1e6 / self.statements
    }

    fn cpu_s_per_1000_new_orders(&self) -> f64 {
        self.cpu_s * 1e3 / self.new_orders
    }

    fn nopm(&self) -> f64 {
        self.new_orders * 60.0 / self.wall_s
    }
}

#[derive(Default)]
struct Results {
    samples: BTreeMap<Key, Vec<Sample>>,
    failed: BTreeMap<Key, String>,
}

/// Runs everybody once a round and prints the tables.
pub fn compare(bed: &mut Bed, options: &Options) -> Result<()> {
    let mut keys: Vec<Key> = Vec::new();
    for &connections in &options.connections {
        keys.extend((0..Style::ALL.len()).map(|style| (Who::Ours(style), connections)));
        keys.extend((0..options.peers.len()).map(|peer| (Who::Peer(peer), connections)));
    }
    let mut results = Results::default();
    for round in 0..options.rounds {
        let mut floors: BTreeMap<u32, f64> = BTreeMap::new();
        let mut order = keys.clone();
        Random::new(round.into(), &[]).shuffle(&mut order);
        for (index, &key) in order.iter().enumerate() {
            if results.failed.contains_key(&key) {
                continue;
            }
            let (who, connections) = key;
            let (round, place) = (round + 1, index + 1);
            eprintln!(
                "drivers: round {round} of {}, {place} of {}: {}, {connections} connections",
                options.rounds,
                order.len(),
                name(who, options)
            );
            let floor = match floors.get(&connections) {
                Some(&floor) => floor,
                None => {
                    let floor = floor_us(bed, connections, &mut results)?;
                    floors.insert(connections, floor);
                    floor
                }
            };
            let sample = match who {
                Who::Ours(style) => ours(bed, Style::ALL[style], connections, options)?,
                Who::Peer(peer) => theirs(bed, &options.peers[peer], connections, options)?,
                Who::Floor => continue,
            };
            match sample {
                Ok(mut sample) => {
                    sample.ratio_to_floor = sample.cpu_us_per_statement.map(|us| us / floor);
                    results.samples.entry(key).or_default().push(sample);
                }
                Err(why) => {
                    eprintln!("  n/a: {why}");
                    results.failed.insert(key, why);
                }
            }
        }
    }
    results.print(options, &keys);
    Ok(())
}

fn name(who: Who, options: &Options) -> String {
    match who {
        Who::Floor => "floor: epoll, one in flight".to_owned(),
        Who::Ours(style) => format!("mydyno, {}", Style::ALL[style].name()),
        Who::Peer(peer) => format!("`{}`", options.peers[peer].command),
    }
}

/// The floor of this round, over the transport that the drivers take.
fn floor_us(bed: &Bed, connections: u32, results: &mut Results) -> Result<f64> {
    let cpu_us_per_statement =
        floor::cpu_us_per_statement(&bed.login, connections, FLOOR_SPAN).context("the floor")?;
    let sample = Sample {
        cpu_us_per_statement: Some(cpu_us_per_statement),
        ratio_to_floor: Some(1.0),
        ..Sample::default()
    };
    let key = (Who::Floor, connections);
    results.samples.entry(key).or_default().push(sample);
    Ok(cpu_us_per_statement)
}

type Outcome = std::result::Result<Sample, String>;

/// One run of the binary of this tree.
fn ours(bed: &mut Bed, style: Style, connections: u32, options: &Options) -> Result<Outcome> {
    let arguments = format!(
        "run --style {} -c {connections} --warmup {}s --window {}s --json --results bench.db",
        style.name(),
        options.warmup_s,
        options.window_s
    );
    let arguments: Vec<String> = arguments.split(' ').map(str::to_owned).collect();
    let command = bed.mydyno(&arguments);
    let schema = bed.login.schema.clone().unwrap_or_default();
    let (ended, whole) = watched(bed, command, &format!("`{schema}`.district"))?;
    if !ended.status.success() {
        return Ok(Err(ended.why()));
    }
    let document: Value = serde_json::from_str(&ended.stdout)
        .context("`mydyno run --json` printed something else than a JSON document")?;
    if document["status"] != "done" {
        return Ok(Err(document["reason"].to_string()));
    }
    let float = |pointer: &str| document.pointer(pointer).and_then(Value::as_f64);
    Ok(Ok(Sample {
        cpu_us_per_statement: float("/client_cpu_us_per_statement"),
        ratio_to_floor: None,
        cpu_s_per_1000_new_orders: float("/client_cpu_s_per_1000_new_orders"),
        nopm: float("/nopm"),
        p95_ms: float("/transactions/new_order/p95_us").map(|us| us / 1e3),
        whole,
    }))
}

/// One run of a peer, of which only what is seen from outside is known.
fn theirs(bed: &mut Bed, peer: &Peer, connections: u32, options: &Options) -> Result<Outcome> {
    let line = filled(&peer.command, bed, connections, options)?;
    let mut command = Command::new("sh");
    command.args(["-c", &line]);
    let (ended, whole) = watched(bed, command, &peer.districts)?;
    if !ended.status.success() {
        // A peer may repeat its command line.
        let why = match bed.login.password.reveal() {
            "" => ended.why(),
            password => ended.why().replace(password, "***"),
        };
        return Ok(Err(why));
    }
    if whole.statements < 1.0 {
        return Ok(Err("it sent no statement to this server".to_owned()));
    }
    let has_orders = whole.new_orders >= 1.0;
    Ok(Ok(Sample {
        cpu_us_per_statement: Some(whole.cpu_us_per_statement()),
        ratio_to_floor: None,
        cpu_s_per_1000_new_orders: has_orders.then(|| whole.cpu_s_per_1000_new_orders()),
        nopm: has_orders.then(|| whole.nopm()),
        p95_ms: None,
        whole,
    }))
}

/// The command with what the placeholders stand for.
fn filled(command: &str, bed: &Bed, connections: u32, options: &Options) -> Result<String> {
    let mut line = command
        .replace("{user}", &bed.login.user)
        .replace("{password}", bed.login.password.reveal())
        .replace("{connections}", &connections.to_string())
        .replace("{seconds}", &(options.warmup_s + options.window_s).to_string());
    if let Some((host, port)) = bed.host_and_port() {
        line = line.replace("{host}", &host).replace("{port}", &port.to_string());
    }
    if let Some(wire::Address::Unix(socket)) = bed.socket_login.as_ref().map(|l| &l.address) {
        line = line.replace("{socket}", &socket.display().to_string());
    }
    for unknown in ["{host}", "{port}", "{socket}"] {
        ensure!(
            !line.contains(unknown),
            "--against uses {unknown}, which this server does not have"
        );
    }
    Ok(line)
}

/// Runs a command and looks at the server before and after.
fn watched(bed: &mut Bed, command: Command, districts: &str) -> Result<(Ended, Whole)> {
    const QUESTIONS: &str = "SHOW GLOBAL STATUS LIKE 'Questions'";
    let orders = format!("SELECT CAST(SUM(d_next_o_id) AS CHAR) FROM {districts}");
    let orders_before = bed.count(&orders)?;
    let questions_before = bed.count(QUESTIONS)?;
    let ended = bed.run(command)?;
    // Between the two readings the bench itself sends one statement: the second reading.
    let questions = bed.count(QUESTIONS)? - questions_before - 1;
    let new_orders = bed
        .count(&orders)?
        .checked_sub(orders_before)
        .ok_or_else(|| anyhow!("{districts} went back: was it loaded anew by the command?"))?;
    let whole = Whole {
        wall_s: ended.wall_s,
        cpu_s: ended.cpu_s,
        statements: questions as f64,
        new_orders: new_orders as f64,
    };
    Ok((ended, whole))
}

impl Results {
    fn print(&self, options: &Options, keys: &[Key]) {
        let columns = [
            "driver",
            "connections",
            "client CPU us/statement",
            "ratio to floor",
            "client CPU s/1000 new orders",
            "NOPM",
            "p95 ms, New-Order",
        ];
        let mut keys = keys.to_vec();
        keys.extend(options.connections.iter().map(|&n| (Who::Floor, n)));
        keys.sort_unstable();
        let title = format!(
            "Drivers (median of {}; ours over a window of {} s, peers over their whole run)",
            options.rounds, options.window_s
        );
        let mut table = Table::new(&title, &columns);
        for &key in &keys {
            let median = |value: fn(&Sample) -> Option<f64>, decimals| {
                let samples = self.samples.get(&key).into_iter().flatten();
                number(median(samples.filter_map(value)), decimals)
            };
            table.row(&self.row(
                key,
                options,
                [
                    median(|s| s.cpu_us_per_statement, 2),
                    median(|s| s.ratio_to_floor, 2),
                    median(|s| s.cpu_s_per_1000_new_orders, 3),
                    median(|s| s.nopm, 0),
                    median(|s| s.p95_ms, 2),
                ],
            ));
        }
        table.print();
        if !options.peers.is_empty() {
            self.print_whole(options, &keys);
        }
    }

    fn print_whole(&self, options: &Options, keys: &[Key]) {
        let columns = [
            "driver",
            "connections",
            "client CPU us/statement",
            "client CPU s/1000 new orders",
            "NOPM",
            "statements/new order",
        ];
        let title = format!(
            "The same runs from start to end, seen from outside in one way (median of {})",
            options.rounds
        );
        let mut table = Table::new(&title, &columns);
        for &key in keys.iter().filter(|(who, _)| *who != Who::Floor) {
            let median = |value: fn(&Whole) -> f64, decimals| {
                let samples = self.samples.get(&key).into_iter().flatten();
                let values = samples.map(|sample| value(&sample.whole));
                number(median(values.filter(|value| value.is_finite())), decimals)
            };
            table.row(&self.row(
                key,
                options,
                [
                    median(Whole::cpu_us_per_statement, 2),
                    median(Whole::cpu_s_per_1000_new_orders, 3),
                    median(Whole::nopm, 0),
                    median(|whole| whole.statements / whole.new_orders, 1),
                ],
            ));
        }
        table.print();
    }

    fn row<const N: usize>(
        &self,
        key: Key,
        options: &Options,
        numbers: [String; N],
    ) -> Vec<String> {
        let (who, connections) = key;
        let mut row = vec![name(who, options), connections.to_string()];
        match self.failed.get(&key) {
            Some(why) => row.push(format!("n/a: {why}")),
            None => row.extend(numbers),
        }
        row
    }
}
