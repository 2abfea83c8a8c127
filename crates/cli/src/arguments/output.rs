//! The command lines of `mydyno report`, `export` and `demo`, and of what an installation needs.

use super::results::ResultsArguments;
use base::Dilation;
use clap::{Args, ValueEnum};
use clap_complete::Shell;
use spec::{defaults, parse_dilation};
use std::path::PathBuf;

#[derive(Args)]
pub struct ReportArguments {
    /// Number of the lab [default: the last one]
    pub lab: Option<i64>,
    /// Write one chart instead, as SVG or, where FILE ends in .png, as PNG:
    /// throughput-by-connections and others, which a wrong name lists
    #[arg(long, value_name = "NAME", requires = "output")]
    pub figure: Option<String>,
    /// HTML page [default: report.html]; of --figure the chart
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub results: ResultsArguments,
}

/// What `mydyno export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ExportFormat {
    Csv,
    Hlog,
    Markdown,
}

#[derive(Args)]
pub struct ExportArguments {
    /// Number of the lab [default: the last one]
    pub lab: Option<i64>,
    /// What to write: csv (all numbers), hlog (response times, interval logs of HdrHistogram) or
    /// markdown (the answer and a table, for a ticket)
    #[arg(long, value_enum, default_value_t = ExportFormat::Csv)]
    pub format: ExportFormat,
    /// Directory for the files [default: mydyno-csv, mydyno-hlog]; of markdown the file [default:
    /// stdout]
    #[arg(long, value_name = "PATH")]
    pub to: Option<PathBuf>,
    #[command(flatten)]
    pub results: ResultsArguments,
}

#[derive(Args)]
pub struct DemoArguments {
    /// Engine of the private servers; installed where it is missing
    #[arg(long, default_value = defaults::ENGINE)]
    pub engine: String,
    /// Run clocks and devices K times slower than real ones, 1/32 to 100, so that this machine
    /// measures as one with cores K times as fast; the demo takes as many times as long. Those of
    /// the disk, which leaves cores idle, run a twentieth of that
    #[arg(
        long, value_name = "K", default_value_t = lab::DEMO_DILATION, value_parser = parse_dilation
    )]
    pub dilate: Dilation,
    /// HTML report
    #[arg(short, long, value_name = "FILE", default_value = "report.html")]
    pub output: PathBuf,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Args)]
pub struct CompletionsArguments {
    /// Shell that completes the command line
    pub shell: Shell,
}

#[derive(Args)]
pub struct ManArguments {
    /// Directory for the pages, one for each command; made where it is missing
    pub directory: PathBuf,
}
