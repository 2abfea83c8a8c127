//! What `mydyno run` and `mydyno ramp` measure, as far as they have it in common.

use crate::arguments::measuring::MeasuringArguments;
use crate::failure::Failure;
use base::Exit;
use spec::{Cell, Field, Lengths, Load, Meters, Private, Server, defaults};

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
    pub fn cell(&self, load: Load, lengths: Lengths, instances: u32) -> Result<Cell, Failure> {
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
        // A private database has as many warehouses as are asked for, and all are used.
        let used = load.warehouses.filter(|_| server.private().is_none());
        let cell = Cell {
            server,
            load: Load {
                warehouses: used,
                isolation: self.isolation,
                home: self.home,
                threads: self.threads,
                ..load
            },
            lengths: Lengths { interval: self.interval, ..lengths },
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
