//! Configurations of the white papers, as the command line names them.

use crate::arguments::TargetArguments;
use crate::failure::Failure;
use base::{Exit, Warehouses, limits};
use clap::Args;
use lab::PresetSpec;
use server::ServerError;
use server::preset::{self, Preset, Scale};

/// A preset and its sizes.
// Without a heading of their own: they stand with the variables that they set.
#[derive(Args, Clone)]
pub struct PresetArguments {
    /// Server variables of the white papers, translated for this server: config-1, config-2, config-3, config-a or default;
    /// what --set says wins (docs/presets.md)
    #[arg(help_heading = "Target", long, value_name = "NAME", value_parser = named)]
    pub preset: Option<&'static Preset>,
    /// Sizes of the preset's buffer pool and redo: auto (in the proportion to the warehouses of -w that the papers had), papers
    /// (as they are there), or in that proportion to so many warehouses [default: auto; `server start` has to be told]
    #[arg(help_heading = "Target", long, value_name = "SCALE", requires = "preset", value_parser = sizes)]
    pub scale: Option<Sizes>,
}

/// What the sizes of a preset are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    Auto,
    Papers,
    For(Warehouses),
}

fn named(name: &str) -> Result<&'static Preset, ServerError> {
    preset::find(name)
}

fn sizes(text: &str) -> Result<Sizes, String> {
    let warehouses = text.parse::<u32>().ok();
    match (text, warehouses) {
        ("auto", _) => Ok(Sizes::Auto),
        ("papers", _) => Ok(Sizes::Papers),
        (_, Some(warehouses @ 1..=limits::WAREHOUSES_MAX)) => {
            Ok(Sizes::For(Warehouses(warehouses)))
        }
        _ => Err(format!(
            "write auto, papers, or a number of warehouses up to {}",
            limits::WAREHOUSES_MAX
        )),
    }
}

impl PresetArguments {
    /// Refuses a preset for a server that is configured already.
    ///
    /// # Errors
    /// Says what to do.
    pub fn validate(&self, target: &TargetArguments) -> Result<(), Failure> {
        if self.preset.is_none() || target.is_private() {
            return Ok(());
        }
        let words = "--preset is for servers that mydyno starts: use --engine, or give it to `mydyno server start`";
        Err(Failure::new(Exit::Usage, words))
    }

    /// The preset for a server with so many warehouses.
    pub fn for_warehouses(&self, warehouses: Warehouses) -> Option<PresetSpec> {
        let preset = self.preset?;
        let scale = match self.scale.unwrap_or(Sizes::Auto) {
            Sizes::Auto => Scale::To(warehouses),
            Sizes::Papers => Scale::Papers,
            Sizes::For(others) => Scale::To(others),
        };
        Some(PresetSpec { preset, scale })
    }

    /// The preset for a server whose database is not known yet.
    ///
    /// # Errors
    /// Where the preset has sizes and nothing says what they are for.
    pub fn for_unknown(&self) -> Result<Option<PresetSpec>, Failure> {
        let is_told = matches!(self.scale, Some(Sizes::Papers | Sizes::For(_)));
        match self.preset {
            Some(preset) if !preset.is_empty() && !is_told => Err(Failure::new(
                Exit::Usage,
                format!(
                    "--preset {} has sizes, and what will be loaded is not known: add --scale and the number of warehouses \
                     (--scale 10), or --scale papers for the papers' own",
                    preset.name
                ),
            )),
            // It has no sizes, or they are told.
            _ => Ok(self.for_warehouses(Warehouses(1))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, Sizes, sizes};
    use crate::arguments::{Arguments, Command};
    use crate::measuring_arguments::MeasuringArguments;
    use crate::server_arguments::ServerCommand;
    use base::Warehouses;
    use clap::Parser;

    fn parsed(arguments: &[&str]) -> Result<Command, clap::Error> {
        let all = ["mydyno"].iter().chain(arguments);
        Ok(Arguments::try_parse_from(all)?.command)
    }

    fn run(arguments: &[&str]) -> MeasuringArguments {
        match parsed(&[&["run"], arguments].concat()) {
            Ok(Command::Run(run)) => run.measuring,
            Ok(_) => panic!("it is `run`"),
            Err(error) => panic!("{error}"),
        }
    }

    #[test]
    fn scales_as_people_write_them() {
        assert_eq!(sizes("auto"), Ok(Sizes::Auto));
        assert_eq!(sizes("papers"), Ok(Sizes::Papers));
        assert_eq!(sizes("500"), Ok(Sizes::For(Warehouses(500))));
        for bad in ["", "0", "-1", "big", "99999999999"] {
            assert!(sizes(bad).unwrap_err().contains("papers"), "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_for_the_warehouses_of_the_run() {
        let preset = ["--engine", "mysql-5.7", "--preset", "config-1"];
        let scale = |more: &[&str]| {
            let arguments = run(&[&preset[..], more].concat());
            let spec = arguments.preset.for_warehouses(Warehouses(10)).unwrap();
            assert_eq!(spec.preset.name, "config-1");
            spec.scale
        };
        assert_eq!(scale(&[]), Scale::To(Warehouses(10)));
        assert_eq!(scale(&["--scale", "papers"]), Scale::Papers);
        assert_eq!(scale(&["--scale", "20"]), Scale::To(Warehouses(20)));
    }

    #[test]
    fn presets_are_for_servers_that_mydyno_starts() {
        let private = run(&["--engine", "mysql-5.7", "--preset", "config-1"]);
        assert!(private.preset.validate(&private.target).is_ok());
        for target in [&["--dsn", "mysql://h/s"][..], &[]] {
            let arguments = run(&[target, &["--preset", "config-1"]].concat());
            assert!(arguments.preset.validate(&arguments.target).is_err());
        }
        let named = |more: &[&str]| {
            let start = ["server", "start", "--engine", "mysql-5.7"];
            let command = parsed(&[&start[..], more].concat()).ok().unwrap();
            let Command::Server(server) = command else {
                panic!("it is `server`")
            };
            let ServerCommand::Start(start) = server.command else {
                panic!("it is `server start`")
            };
            start.preset.for_unknown()
        };
        assert!(named(&["--preset", "config-1"]).is_err());
        assert!(named(&["--preset", "config-1", "--scale", "auto"]).is_err());
        let told = named(&["--preset", "config-1", "--scale", "10"])
            .ok()
            .unwrap();
        assert_eq!(told.unwrap().scale, Scale::To(Warehouses(10)));
        assert!(named(&["--preset", "default"]).ok().unwrap().is_some());
        assert!(named(&[]).ok().unwrap().is_none());
    }
}
