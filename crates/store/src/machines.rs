//! The machines that measured a lab. A block is measured on one of them; which one is in its row.

use crate::row::{Keys, insert};
use crate::rows::Repeat;
use crate::values::{LabId, NamedTexts};
use crate::{Results, StoreResult};
use base::{by_key, value_of};
use rusqlite::Connection;

/// The name of the host, by which people know a machine.
const HOST_NAME: &str = "host_name";
/// Facts that change what a server delivers, and do not change while a machine is in use.
/// `file_system` is that of mydyno's directory, where files lie that have no place.
const LASTING: [&str; 4] = ["cpu_model", "cpu_cores", "kernel", "file_system"];
/// Before the directory, in the facts of a lab on real devices.
pub const FILE_SYSTEM_OF: &str = "file_system of ";
/// What a kernel keeps for itself differs from start to start by less.
const MEMORY_RATIO: f64 = 1.02;

/// A machine of a lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabMachine {
    /// The number of the machine in its lab, from 1.
    pub machine: u32,
    /// Hardware and system, by key.
    pub facts: NamedTexts,
}

impl LabMachine {
    /// The value of a fact that is known.
    pub fn fact(&self, key: &str) -> Option<&str> {
        value_of(&self.facts, key)
    }

    /// What people call it: its host's name, or its number where that is not known.
    pub fn name(&self) -> String {
        let name = self.fact(HOST_NAME);
        name.map_or_else(|| format!("machine {}", self.machine), str::to_owned)
    }

    /// The first fact that changes what a server delivers and is another one in `facts`: name, what
    /// it was, what it is there. What only one side knows is no difference.
    pub fn difference(&self, facts: &[(String, String)]) -> Option<(String, String, String)> {
        self.facts.iter().find_map(|(name, was)| {
            let is = value_of(facts, name)?;
            let differs = match name.as_str() {
                "memory_bytes" => is_other_size(was, is),
                key if LASTING.contains(&key) || key.starts_with(FILE_SYSTEM_OF) => was != is,
                _ => false,
            };
            differs.then(|| (name.clone(), was.clone(), is.to_owned()))
        })
    }

    /// Are these facts of this machine? Its name tells it from others of its kind.
    pub(crate) fn has(&self, facts: &[(String, String)]) -> bool {
        let is_other = |(was, is): (&str, &str)| was != is;
        let names = self.fact(HOST_NAME).zip(value_of(facts, HOST_NAME));
        !names.is_some_and(is_other) && self.difference(facts).is_none()
    }
}

fn is_other_size(was: &str, is: &str) -> bool {
    let (Ok(was), Ok(is)) = (was.parse::<f64>(), is.parse::<f64>()) else {
        return was != is;
    };
    was.max(is) > was.min(is) * MEMORY_RATIO
}

impl Results {
    /// Machines of a lab, in the order in which they came to it.
    pub fn machines(&self, lab: LabId) -> StoreResult<Vec<LabMachine>> {
        let sql = "SELECT machine, key, value FROM host_fact WHERE lab_id = ?1 \
                   ORDER BY machine, key";
        let facts = self.all(sql, [lab], |row| Ok((row.get(0)?, (row.get(1)?, row.get(2)?))))?;
        let machines = by_key(facts).into_iter();
        Ok(machines.map(|(machine, facts)| LabMachine { machine, facts }).collect())
    }

    /// Facts on the machine that measured a repeat, by key.
    pub fn host_facts(&self, repeat: &Repeat) -> StoreResult<NamedTexts> {
        // Outside of blocks a lab has one machine.
        let sql = "SELECT f.key, f.value FROM cell AS c \
                   LEFT JOIN block AS b ON b.lab_id = c.lab_id AND b.block = ?2 \
                   JOIN host_fact AS f ON f.lab_id = c.lab_id \
                   AND f.machine = coalesce(b.machine, 1) \
                   WHERE c.id = ?1 ORDER BY f.key";
        self.pairs(sql, (repeat.cell, repeat.block))
    }
}

/// Stores what is known of a machine.
pub(crate) fn insert_machine(
    connection: &Connection,
    lab: i64,
    machine: u32,
    facts: &[(String, String)],
) -> rusqlite::Result<()> {
    for (key, value) in facts {
        let fact: Keys<'_> =
            &[("lab_id", &lab), ("machine", &machine), ("key", key), ("value", value)];
        insert(connection, "INSERT OR REPLACE INTO host_fact", fact, &())?;
    }
    Ok(())
}

/// The number of the machine with these facts among those of a lab; where it is new, it has the
/// next one and is added.
pub(crate) fn number_of(
    connection: &Connection,
    lab: i64,
    machines: &mut Vec<LabMachine>,
    facts: &[(String, String)],
) -> rusqlite::Result<u32> {
    if let Some(known) = machines.iter().find(|known| known.has(facts)) {
        return Ok(known.machine);
    }
    let machine = machines.iter().map(|known| known.machine).max().unwrap_or(0) + 1;
    insert_machine(connection, lab, machine, facts)?;
    machines.push(LabMachine { machine, facts: facts.to_vec() });
    Ok(machine)
}

#[cfg(test)]
mod tests {
    use super::LabMachine;

    fn facts(changed: (&str, &str)) -> Vec<(String, String)> {
        let all = [
            ("host_name", "node-1"),
            ("cpu_model", "EPYC 9654"),
            ("cpu_cores", "2"),
            ("kernel", "6.1"),
            ("memory_bytes", "25000000000"),
            ("file_system of /mnt/nvme0", "ext4 on /dev/nvme0n1"),
            ("free_bytes", "1000"),
        ];
        let value = |(name, value): (&str, &str)| {
            let value = if name == changed.0 { changed.1 } else { value };
            (name.to_owned(), value.to_owned())
        };
        all.map(value).to_vec()
    }

    #[test]
    fn machines_are_compared_by_what_changes_results() {
        let was = LabMachine { machine: 1, facts: facts(("", "")) };
        for same in [("", ""), ("free_bytes", "5"), ("memory_bytes", "25100000000")] {
            assert!(was.has(&facts(same)), "{same:?}");
        }
        for other in [
            ("cpu_cores", "8"),
            ("kernel", "6.12"),
            ("memory_bytes", "50000000000"),
            ("file_system of /mnt/nvme0", "xfs on /dev/nvme0n1"),
        ] {
            let (name, _, is) = was.difference(&facts(other)).unwrap();
            assert_eq!((name.as_str(), is.as_str()), other);
            assert!(!was.has(&facts(other)));
        }
        // One of the same kind is another machine, and no difference to results.
        let twin = facts(("host_name", "node-2"));
        assert_eq!((was.difference(&twin), was.has(&twin)), (None, false));
        // Some processors do not say what they are.
        let silent = LabMachine { machine: 1, facts: facts(("", ""))[2..].to_vec() };
        assert!(silent.has(&facts(("cpu_model", "Xeon"))));
        assert_eq!(silent.name(), "machine 1");
    }
}
