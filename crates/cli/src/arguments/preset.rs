//! Configurations of the white papers, as the command line names them.

use super::target::TargetArguments;
use crate::failure::Failure;
use base::{Exit, Warehouses, limits};
use clap::Args;
use lab::PresetSpec;
use server::ServerError;
use server::preset::{self, NamedPreset};
use spec::Scale;

/// A preset and its sizes.
// Without a heading of their own: they stand with the variables that they set.
#[derive(Args, Clone)]
pub struct PresetArguments {
    /// Server variables of the white papers, translated for this server: config-1, config-2,
    /// config-3, config-a or default; --set overrides them (docs/presets.md)
    #[arg(help_heading = "Target", long, value_name = "NAME", value_parser = named)]
    pub preset: Option<&'static NamedPreset>,
    /// Sizes of the preset's buffer pool and redo log: auto (in the papers' proportion to the
    /// warehouses of -w), papers (as they are there) or a number of warehouses (in that proportion
    /// to it) [default: auto; required with `server start`]
    #[arg(
        help_heading = "Target", long, value_name = "SCALE", requires = "preset",
        value_parser = sizes
    )]
    pub scale: Option<Scale>,
}

fn named(name: &str) -> Result<&'static NamedPreset, ServerError> {
    preset::find(name)
}

fn sizes(text: &str) -> Result<Scale, String> {
    let warehouses = text.parse::<u32>().ok();
    match (text, warehouses) {
        ("auto", _) => Ok(Scale::Auto),
        ("papers", _) => Ok(Scale::Papers),
        (_, Some(warehouses @ 1..=limits::WAREHOUSES_MAX)) => {
            Ok(Scale::For(Warehouses(warehouses)))
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
        let message = "--preset is for servers that mydyno starts: use --engine, or give it to \
            `mydyno server start`";
        Err(Failure::new(Exit::Usage, message))
    }

    /// The preset of private servers.
    pub fn asked(&self) -> Option<spec::Preset> {
        let preset = self.preset?;
        Some(spec::Preset { name: preset.name.clone(), scale: self.scale.unwrap_or(Scale::Auto) })
    }

    /// The preset for a server whose database is not known yet.
    ///
    /// # Errors
    /// Where the preset has sizes and nothing says what they are for.
    pub fn for_unknown(&self) -> Result<Option<PresetSpec>, Failure> {
        let is_told = matches!(self.scale, Some(Scale::Papers | Scale::For(_)));
        match self.preset {
            Some(preset) if !preset.is_empty() && !is_told => Err(Failure::new(
                Exit::Usage,
                format!(
                    "--preset {} has sizes, and what will be loaded is not known: add --scale and \
                     the number of warehouses (--scale 10), or --scale papers for the papers' own",
                    preset.name
                ),
            )),
            // It has no sizes, or they are told.
            _ => Ok(PresetSpec::of(self.asked().as_ref(), Warehouses(1))?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Scale, sizes};
    use crate::arguments::measuring::MeasuringArguments;
    use crate::arguments::server::ServerCommand;
    use crate::arguments::{Arguments, Command};
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
        assert_eq!(sizes("auto"), Ok(Scale::Auto));
        assert_eq!(sizes("papers"), Ok(Scale::Papers));
        assert_eq!(sizes("500"), Ok(Scale::For(Warehouses(500))));
        for bad in ["", "0", "-1", "big", "99999999999"] {
            assert!(sizes(bad).unwrap_err().contains("papers"), "{bad:?}");
        }
    }

    #[test]
    fn sizes_are_in_the_papers_proportion_where_nothing_is_said() {
        let preset = ["--engine", "mysql-5.7", "--preset", "config-1"];
        let scale = |more: &[&str]| {
            let arguments = run(&[&preset[..], more].concat());
            let asked = arguments.preset.asked().unwrap();
            assert_eq!(asked.name, "config-1");
            asked.scale
        };
        assert_eq!(scale(&[]), Scale::Auto);
        assert_eq!(scale(&["--scale", "papers"]), Scale::Papers);
        assert_eq!(scale(&["--scale", "20"]), Scale::For(Warehouses(20)));
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
            let Command::Server(server) = command else { panic!("it is `server`") };
            let ServerCommand::Start(start) = server.command else {
                panic!("it is `server start`")
            };
            start.preset.for_unknown()
        };
        assert!(named(&["--preset", "config-1"]).is_err());
        assert!(named(&["--preset", "config-1", "--scale", "auto"]).is_err());
        let told = named(&["--preset", "config-1", "--scale", "10"]).ok().unwrap();
        assert_eq!(told.unwrap().scale, server::preset::PresetScale::To(Warehouses(10)));
        assert!(named(&["--preset", "default"]).ok().unwrap().is_some());
        assert!(named(&[]).ok().unwrap().is_none());
    }
}
