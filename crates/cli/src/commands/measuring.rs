//! What `mydyno run` and `mydyno ramp` begin and end with.

use super::{begin_lab, external, start_private};
use crate::arguments::measuring::MeasuringArguments;
use crate::arguments::target::ResultsArguments;
use crate::console::Console;
use crate::failure::Failure;
use ::server::Home;
use base::Exit;
use lab::{Subject, reach, record_load};
use spec::{Cell, Field, Lengths, Load as CellLoad, Meters, Private, Server, defaults};
use std::sync::atomic::AtomicBool;
use store::{LabId, LabStatus, Load, Results};

impl MeasuringArguments {
    /// Refuses to ask of a server what that kind of server cannot give.
    ///
    /// # Errors
    /// Says what to do.
    fn validate(&self) -> Result<(), Failure> {
        self.target.refuse_private_schemas(self.schemas)?;
        self.places.validate(&self.target)?;
        self.preset.validate(&self.target)?;
        self.schema.validate(&self.target)
    }

    /// What is measured: this load, for so long, on the server that is asked for.
    ///
    /// # Errors
    /// Options for private servers of one that is not, and what contradicts itself.
    pub fn cell(&self, load: CellLoad, lengths: Lengths, instances: u32) -> Result<Cell, Failure> {
        self.validate()?;
        let warehouses = load.warehouses.unwrap_or(defaults::WAREHOUSES);
        let population = self.schema.population(warehouses.0, self.population_seed);
        let server = match self.target.server(population, self.schemas)? {
            Server::Private(private) => Server::Private(Private {
                preset: self.preset.asked(),
                placement: self.places.placement(),
                instances,
                ..private
            }),
            external => external,
        };
        let cell = Cell {
            server,
            load: CellLoad {
                isolation: self.isolation,
                home: self.home,
                threads: self.threads,
                ..load
            },
            lengths: Lengths {
                interval: self.interval,
                ..lengths
            },
            checks: false,
            lock_wait_timeouts_max_share: None,
            meters: Meters {
                power_command: self.power_command.clone(),
                host_metrics: self.host_metrics.clone(),
            },
        };
        match cell.validate() {
            Ok(()) => Ok(cell),
            Err(problem) => {
                let option = problem.field.name().replace('_', "-");
                let words = match problem.field {
                    // Its limits are options of their own, which the reason names.
                    Field::Ramp => problem.why,
                    _ => format!("--{option}: {}", problem.why),
                };
                Err(Failure::new(Exit::Usage, words))
            }
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
    /// Reaches the server of the cell.
    ///
    /// # Errors
    /// What contradicts itself, and what cannot be had, which is an error of the command and no lab.
    pub fn of(
        cell: &Cell,
        results: &ResultsArguments,
        stop: &AtomicBool,
    ) -> Result<Begun, Failure> {
        // A meter that says nothing is told before anything is started.
        lab::check_meters(&cell.meters, stop)?;
        let open = || Results::create_or_open(&results.results);
        let mut console = Console::new()?;
        let (results, subject, load) = match &cell.server {
            Server::Private(private) => {
                let home = Home::from_env()?;
                let results = open()?;
                let warehouses = private.population.warehouses;
                let connections = lab::connections_most(&cell.load, warehouses)?;
                let started = start_private(&home, private, connections, stop, &mut console);
                let (subject, load) = started?;
                (results, subject, load)
            }
            Server::External(server) => (open()?, external(server, &mut console)?, None),
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
