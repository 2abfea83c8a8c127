//! For how long work waited for what the machine had too little of, from /proc/pressure (Linux
//! 4.20; not where it was started without).

use crate::proc_file::{as_stored, each_line, number};
use crate::readings::Readings;
use store::MetricSource::Host;

/// What work can wait for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resource {
    pub(super) path: &'static str,
    /// This part of the host, for people.
    pub(super) title: &'static str,
    /// The metrics of its lines, by how these begin.
    metrics: &'static [(&'static str, &'static str)],
}

impl Resource {
    pub(super) const ALL: [Resource; 3] = [
        Resource {
            path: "/proc/pressure/cpu",
            title: "the host's pressure of CPU",
            // All of the machine cannot wait for cores: some of it has them. Newer kernels print a
            // line of zeros.
            metrics: &[("some ", "pressure_cpu_some_us")],
        },
        Resource {
            path: "/proc/pressure/io",
            title: "the host's pressure of I/O",
            metrics: &[("some ", "pressure_io_some_us"), ("full ", "pressure_io_full_us")],
        },
        Resource {
            path: "/proc/pressure/memory",
            title: "the host's pressure of memory",
            metrics: &[("some ", "pressure_memory_some_us"), ("full ", "pressure_memory_full_us")],
        },
    ];

    /// Reads the text of its file.
    pub(super) fn read(self, text: &str, into: &mut Readings) -> Result<(), String> {
        each_line(text, |line| {
            let metric = self.metrics.iter().find(|(kind, _)| line.starts_with(kind));
            if let Some((_, name)) = metric {
                let (_, total) = line.split_once(" total=").ok_or("it has no total=")?;
                let total_us = number(&mut total.split_ascii_whitespace(), "total")?;
                into.counter(Host, name, "", as_stored(total_us));
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::Resource;
    use crate::readings::Readings;

    const CPU: Resource = Resource::ALL[0];
    const IO: Resource = Resource::ALL[1];
    const MEMORY: Resource = Resource::ALL[2];

    fn read(resource: Resource, text: &str) -> Result<Readings, String> {
        let mut readings = Readings::default();
        resource.read(text, &mut readings)?;
        Ok(readings)
    }

    #[test]
    fn totals_are_taken() {
        let some = "some avg10=2.97 avg60=2.35 avg300=5.24 total=13170722485\n";
        let full = "full avg10=0.00 avg60=0.50 avg300=0.63 total=470556272\n";
        let both = format!("{some}{full}");
        let io = read(IO, &both).unwrap();
        assert_eq!(io.value("pressure_io_some_us", ""), Some(13_170_722_485));
        assert_eq!(io.value("pressure_io_full_us", ""), Some(470_556_272));
        let memory = read(MEMORY, &both).unwrap();
        let full_us = memory.value("pressure_memory_full_us", "");
        assert_eq!((full_us, memory.values().len()), (Some(470_556_272), 2));
        // 5.4 has one line, newer kernels two.
        for text in [some, &both] {
            let cpu = read(CPU, text).unwrap();
            let some_us = cpu.value("pressure_cpu_some_us", "");
            assert_eq!((some_us, cpu.values().len()), (Some(13_170_722_485), 1));
        }
    }

    #[test]
    fn other_forms_are_errors() {
        for (text, says) in [
            ("some avg10=2.97\n", "line 1: it has no total="),
            ("some total=x\n", "line 1: total is \"x\""),
            ("full avg10=0 total=\n", "line 1: it ends before total"),
        ] {
            let error = read(IO, text).unwrap_err();
            assert!(error.contains(says), "{error}");
        }
    }
}
