//! The command line of `mydyno compare`.

use super::results::ResultsArguments;
use super::values::one_of;
use clap::Args;
use std::str::FromStr;
use store::Aspect;

#[derive(Args)]
pub struct CompareArguments {
    /// Baseline: the number of a lab (3), of a cell in it (3.2) or of a repeat of that (3.2.1);
    /// several runs of one configuration with commas (3,5,7)
    #[arg(value_name = "A")]
    pub base: RunNames,
    /// Measurement to compare with the baseline, named in the same way; the exit code is 7 where it
    /// is slower by more than --at-least
    #[arg(value_name = "B")]
    pub other: RunNames,
    /// Smallest slowdown that matters: the confidence interval of the ratio must exclude any
    /// smaller one
    #[arg(long, value_name = "SHARE", default_value = "2%", value_parser = slowdown)]
    pub at_least: f64,
    /// Aspects that the two may differ in, with commas; any other difference is refused
    #[arg(
        long, value_name = "ASPECTS", value_delimiter = ',',
        value_parser = one_of(Aspect::NAMED, Aspect::name)
    )]
    pub across: Vec<Aspect>,
    #[command(flatten)]
    pub results: ResultsArguments,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

fn slowdown(text: &str) -> Result<f64, String> {
    let share = base::parse_share(text).filter(|share| *share < 1.0);
    share.ok_or_else(|| "write 2% or 0.02, above 0 and below 100%".to_owned())
}

/// Runs as they are named on the command line: `3`, `3.2`, `3.2.1`, several with commas.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunNames {
    pub text: String,
    pub names: Vec<RunName>,
}

/// Numbers of a lab, of a cell in it and of a repeat of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunName {
    pub lab: i64,
    pub cell: Option<u32>,
    pub repeat: Option<u32>,
}

impl FromStr for RunNames {
    type Err = String;

    fn from_str(text: &str) -> Result<RunNames, String> {
        let names: Option<Vec<RunName>> = text.split(',').map(RunName::parse).collect();
        let names = names.ok_or(
            "use the number of a lab (3), of a cell in it (3.2) or of a repeat of that (3.2.1), or \
             several with commas (3,5,7)",
        )?;
        Ok(RunNames { text: text.to_owned(), names })
    }
}

impl RunName {
    fn parse(text: &str) -> Option<RunName> {
        let numbers: Vec<u32> =
            text.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
        let (lab, cell, repeat) = match numbers[..] {
            [lab] => (lab, None, None),
            [lab, cell] => (lab, Some(cell), None),
            [lab, cell, repeat] => (lab, Some(cell), Some(repeat)),
            _ => return None,
        };
        Some(RunName { lab: i64::from(lab), cell, repeat })
    }
}
