//! What `mydyno run` and `mydyno ramp` begin and end with.

use super::{PRIVATE_WAREHOUSES, begin_lab, start_private};
use crate::arguments::ResultsArguments;
use crate::console::Console;
use crate::failure::Failure;
use crate::measuring_arguments::MeasuringArguments;
use ::server::Home;
use base::{Exit, Warehouses};
use lab::{Meters, PrivateSpec, Subject, reach, record_load};
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, Load, Results};

impl MeasuringArguments {
    /// Refuses to ask of a server what that kind of server cannot give.
    ///
    /// # Errors
    /// Says what to do.
    pub fn validate(&self) -> Result<(), Failure> {
        self.target.refuse_private_schemas(self.schemas)?;
        self.places.validate(&self.target)?;
        self.preset.validate(&self.target)?;
        self.schema.validate(&self.target)
    }

    /// The private server that is asked for, if one is.
    pub fn private(&self, warehouses: Option<Warehouses>) -> Option<PrivateSpec> {
        let warehouses = warehouses.map_or(PRIVATE_WAREHOUSES, |named| named.0);
        let spec = self
            .target
            .private(warehouses, self.population_seed, self.schema)?;
        Some(PrivateSpec {
            preset: self.preset.for_warehouses(spec.warehouses),
            placement: self.places.placement(),
            ..spec
        })
    }

    pub fn meters(&self) -> Meters {
        Meters {
            power_command: self.power_command.clone(),
            host_metrics: self.host_metrics.clone(),
        }
    }

    /// What else names the cell that is measured.
    pub fn settings(&self) -> Vec<(String, String)> {
        let page_cache = self.places.page_cache;
        let page_cache = page_cache.map(|bytes| ("page_cache_bytes".to_owned(), bytes.to_string()));
        self.target.set.iter().cloned().chain(page_cache).collect()
    }
}

/// All that a measurement needs.
// The server ends first.
pub struct Begun {
    pub subject: Subject,
    /// Of the private server's image, where it was made just now.
    load: Option<Load>,
    pub console: Console,
    pub results: Results,
}

impl Begun {
    /// Reaches the target: `private`, or the one that is named.
    ///
    /// # Errors
    /// What cannot be had is an error of the command and no lab.
    pub fn of(
        arguments: &MeasuringArguments,
        private: Option<PrivateSpec>,
        results: &ResultsArguments,
        stop: &AtomicBool,
    ) -> Result<Begun, Failure> {
        // A meter that says nothing is told before anything is started.
        lab::check_meters(&arguments.meters(), stop)?;
        let private = match private {
            Some(spec) => Some((Home::from_env()?, spec)),
            None => None,
        };
        let results = Results::create_or_open(&results.results)?;
        let mut console = Console::new()?;
        let (subject, load) = match private {
            Some((home, spec)) => start_private(&home, &spec, stop, &mut console)?,
            None => {
                let target = &arguments.target;
                let subject = target.external(arguments.schemas, &mut console)?;
                (subject, None)
            }
        };
        reach(&subject)?;
        Ok(Begun {
            subject,
            load,
            console,
            results,
        })
    }

    /// Begins the command's lab.
    ///
    /// # Errors
    /// The results file cannot be written.
    pub fn lab(&self, name: &str) -> Result<LabId, Failure> {
        let lab = begin_lab(&self.results, name, self.subject.data_directory())?;
        if let Some(load) = &self.load {
            record_load(&self.results, Some(lab), load)?;
        }
        Ok(lab)
    }
}

/// How the lab ended, and why where it failed without a repeat.
pub fn ending(ended: Result<Exit, &Failure>) -> (LabStatus, Option<String>) {
    match ended {
        Ok(Exit::Ok) => (LabStatus::Done, None),
        Ok(Exit::Interrupted) => (LabStatus::Interrupted, None),
        Ok(_) => (LabStatus::Failed, None),
        Err(failure) => (LabStatus::Failed, Some(format!("{:#}", failure.error))),
    }
}
