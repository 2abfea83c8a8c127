//! From a preset to the variables of the server at hand, and what became of each.

use super::part::{CHUNK, INSTANCES, POOL, PoolPart, chunk_for};
use super::sizes::{
    BACKOFF_BYTES_MIN, CHUNK_BYTES, INSTANCES_POOL_BYTES_MIN, Mib, POOL_BYTES_MIN,
    REDO_FILE_BYTES_MIN,
};
use super::{NamedPreset, PaperVariable, PresetScale, is_perconas_own};
use crate::ServerBuild;
use crate::release_facts::{
    CHECKSUMS_ALWAYS, REDO_CAPACITY as HAS_CAPACITY, SINGLE_REDO_FILE, has_fixed_chunks,
};
use base::{ServerFamily, ServerRelease, named, parse_size, size_text, variable_name};
use itertools::Itertools;

const CLEANERS: &str = "innodb_page_cleaners";
const REDO_FILE: &str = "innodb_log_file_size";
const REDO_FILES: &str = "innodb_log_files_in_group";
const REDO_CAPACITY: &str = "innodb_redo_log_capacity";
const CHECKSUM: &str = "innodb_checksum_algorithm";
const FREE_LIST: &str = "innodb_empty_free_list_algorithm";

named! {
    /// What became of a variable. The name is the word in results and tables, the title in notes.
    pub enum Fate {
        /// It has the value that was asked for.
        Kept = "kept" => "kept",
        /// Under another name.
        Renamed = "renamed" => "renamed",
        /// In another variable, together with others.
        Folded = "folded" => "folded",
        /// In the proportion to the database that it had in the papers.
        Scaled = "scaled" => "scaled",
        /// To what the server takes.
        Clamped = "clamped" => "clamped",
        /// Not of the papers, and needed for what is.
        Added = "added" => "added",
        /// A path: where files go is said by places.
        Placed = "placed" => "left to places (--redo, --undo, --temp, ...)",
        /// This server does not have it, or not this value.
        Unknown = "unknown" => "unknown here",
        /// The user set it otherwise.
        Overridden = "overridden" => "set otherwise",
    }
}

/// A variable of a preset on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VariableFate {
    /// In the papers' name.
    pub variable: String,
    /// The papers' value; empty where the papers have none.
    pub asked: String,
    pub fate: Fate,
    /// The server's variable and its value, where one is set.
    pub became: Option<(String, String)>,
    pub reason: Option<String>,
}

impl VariableFate {
    fn in_words(&self) -> String {
        let VariableFate { variable, asked, .. } = self;
        match &self.became {
            None => variable.clone(),
            Some((_, value)) if asked.is_empty() => format!("{variable}={value}"),
            Some((name, value)) if name == variable => format!("{variable} {asked} to {value}"),
            Some((name, value)) => format!("{variable} {asked} into {name}={value}"),
        }
    }
}

/// A preset on one server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Translated {
    pub preset: String,
    pub scale: PresetScale,
    /// The lines for the server's option file. None of them is a variable that the user set.
    pub set: Vec<(String, String)>,
    /// In the order of the papers; what was added comes last.
    pub fates: Vec<VariableFate>,
}

impl Translated {
    /// What is not as the preset asks, in one line for people; `None` where everything is.
    pub fn note(&self) -> Option<String> {
        let parts: Vec<String> =
            Fate::ALL.into_iter().filter_map(|fate| self.part_of_note(fate)).collect();
        let (preset, scale) = (&self.preset, self.scale);
        (!parts.is_empty()).then(|| format!("preset {preset}, {scale}: {}", parts.join("; ")))
    }

    fn part_of_note(&self, fate: Fate) -> Option<String> {
        let fates = self.fates.iter().filter(|one| one.fate == fate);
        // Of what is as expected, the number is enough.
        let (listed, counted): (Vec<_>, Vec<_>) = fates.partition(|one| match fate {
            Fate::Kept | Fate::Placed => false,
            Fate::Unknown => !is_perconas_own(&one.variable),
            _ => true,
        });
        let mut words: Vec<String> = listed.into_iter().map(VariableFate::in_words).collect();
        match (fate, counted.len()) {
            (Fate::Kept, _) => return None,
            (Fate::Placed, paths @ 1..) => words.push(format!("{paths} paths")),
            (Fate::Unknown, own @ 1..) => words.push(format!("{own} of Percona Server's own")),
            _ => {}
        }
        (!words.is_empty()).then(|| format!("{} {}", fate.title(), words.join(", ")))
    }
}

impl NamedPreset {
    /// The preset on this server, with sizes at `scale`, beside variables that the user sets, which
    /// win. Where several servers divide the pool, whoever asked for it, `part` is this one's.
    pub fn translate(
        &self,
        build: &ServerBuild,
        scale: PresetScale,
        set: &[(String, String)],
        part: Option<PoolPart>,
    ) -> Translated {
        let given = set.iter().map(|(name, value)| (variable_name(name), value.as_str()));
        let server = SizedServer {
            preset: self,
            release: build.release,
            scale,
            given: given.collect(),
            part_bytes: part.map(|part| part.bytes),
        };
        let variables = self.variables();
        let mut fates: Vec<VariableFate> =
            variables.map(|(variable, asked)| server.fate_of(variable, asked)).collect();
        fates.extend(server.chunk());
        let to_set = fates.iter().filter(|one| one.fate != Fate::Overridden);
        // What was folded comes more than once.
        let lines = to_set.filter_map(|one| one.became.as_ref()).unique().cloned().collect();
        Translated { preset: self.name.clone(), scale, set: lines, fates }
    }
}

/// Of a variable that the papers do not have, or whose name and value there are still to come.
impl VariableFate {
    fn set(fate: Fate, name: &str, value: impl Into<String>) -> VariableFate {
        let became = Some((name.to_owned(), value.into()));
        VariableFate { became, reason: None, ..VariableFate::not_set(fate, String::new()) }
    }

    fn not_set(fate: Fate, reason: String) -> VariableFate {
        let (variable, asked) = (String::new(), String::new());
        VariableFate { variable, asked, fate, became: None, reason: Some(reason) }
    }

    fn because(self, reason: String) -> VariableFate {
        VariableFate { reason: Some(reason), ..self }
    }
}

/// The server that a preset is translated for, with the sizes that variables depend on.
struct SizedServer<'a> {
    preset: &'a NamedPreset,
    release: ServerRelease,
    scale: PresetScale,
    /// The user's, under the names of the server.
    given: Vec<(String, &'a str)>,
    /// What this server has of a pool that several divide.
    part_bytes: Option<u64>,
}

impl SizedServer<'_> {
    /// The size that the preset asks for, of a variable that the server has.
    fn asked(&self, name: &str) -> Option<u64> {
        let mut variables = self.preset.variables();
        let (variable, value) = variables.find(|(variable, _)| variable.name == name)?;
        parse_size(value).filter(|_| variable.lacks(self.release).is_none())
    }

    /// The pool's size and the number of its instances; `None` where the preset asks for nothing.
    fn pool(&self) -> Option<(u64, u64)> {
        let asked = self.asked(POOL)?;
        let instances = self.given_number(INSTANCES).or_else(|| self.asked(INSTANCES)).unwrap_or(1);
        let scaled = self.scale.bytes(asked, Mib(1)).max(POOL_BYTES_MIN);
        let given = self.part_bytes.or_else(|| self.given_number(POOL));
        let bytes = given.unwrap_or_else(|| match scaled < INSTANCES_POOL_BYTES_MIN {
            true => scaled,
            // Instances are of equal size, in whole MiB.
            false => self.scale.bytes(asked, Mib(instances)),
        });
        Some(if bytes < INSTANCES_POOL_BYTES_MIN { (bytes, 1) } else { (bytes, instances) })
    }

    /// What the user sets, by a name of this server. Where redo is one size, older names set it
    /// too.
    fn given(&self, name: &str) -> Option<(&str, &str)> {
        let is_it = |given: &str| {
            given == name || (name == REDO_CAPACITY && (given == REDO_FILE || given == REDO_FILES))
        };
        let mut all = self.given.iter().rev();
        let found = all.find(|(given, _)| is_it(given.trim_start_matches("loose_")));
        found.map(|(name, value)| (name.as_str(), *value))
    }

    fn given_number(&self, name: &str) -> Option<u64> {
        parse_size(self.given(name)?.1)
    }

    fn fate_of(&self, variable: &PaperVariable, asked: &str) -> VariableFate {
        let mut outcome = self.outcome(variable, asked);
        let name = match &outcome.became {
            Some((name, _)) => name.as_str(),
            None => variable.name.as_str(),
        };
        let is_free = matches!(outcome.fate, Fate::Placed | Fate::Unknown);
        if !is_free && let Some((name, value)) = self.given(name) {
            let part = self.part_bytes.filter(|_| name == POOL).map(size_text);
            let value = part.unwrap_or_else(|| value.to_owned());
            outcome = VariableFate::set(Fate::Overridden, name, value);
        }
        VariableFate { variable: variable.name.clone(), asked: asked.to_owned(), ..outcome }
    }

    fn outcome(&self, variable: &PaperVariable, asked: &str) -> VariableFate {
        let name = variable.name.as_str();
        if let Some(role) = &variable.role {
            return VariableFate::not_set(Fate::Placed, format!("--{role} says where"));
        }
        if let Some(lacks) = variable.lacks(self.release) {
            return VariableFate::not_set(Fate::Unknown, self.why_unknown(variable, lacks));
        }
        if asked.is_empty() {
            return VariableFate::not_set(Fate::Kept, "empty, as it is anyway".to_owned());
        }
        if let Some(renamed) = &variable.renamed
            && self.release.family == ServerFamily::Percona
            && renamed.percona.lacks(self.release).is_none()
        {
            return VariableFate::set(Fate::Renamed, &renamed.to, asked);
        }
        match name {
            POOL => self.pool_size(asked),
            REDO_FILE | REDO_FILES => self.redo(name, asked),
            CHECKSUM
                if asked.eq_ignore_ascii_case("none") && self.release.has(CHECKSUMS_ALWAYS) =>
            {
                let why = "gone since MariaDB 10.6.0: pages always have checksums";
                VariableFate::not_set(Fate::Unknown, why.to_owned())
            }
            _ => match self.clamped(variable, asked) {
                Some((value, why)) => VariableFate::set(Fate::Clamped, name, value).because(why),
                None => VariableFate::set(Fate::Kept, name, asked),
            },
        }
    }

    /// What the server takes instead, and why; `None` where it takes what is asked for.
    fn clamped(&self, variable: &PaperVariable, asked: &str) -> Option<(String, String)> {
        let value = parse_size(asked);
        Some(match (variable.name.as_str(), self.pool()) {
            (INSTANCES, Some((bytes, _))) if bytes < INSTANCES_POOL_BYTES_MIN => {
                ("1".to_owned(), "a pool below 1G is one instance".to_owned())
            }
            (CLEANERS, Some((_, instances))) if value > Some(instances) => {
                (instances.to_string(), "each has a pool instance of its own".to_owned())
            }
            (FREE_LIST, Some((bytes, instances)))
                if bytes / instances.max(1) < BACKOFF_BYTES_MIN =>
            {
                ("legacy".to_owned(), format!("{asked} needs 20M in each pool instance"))
            }
            _ => {
                let most = variable.most.filter(|most| value > Some(*most))?;
                (most.to_string(), format!("servers take {most} at most"))
            }
        })
    }

    fn why_unknown(&self, variable: &PaperVariable, lacks: String) -> String {
        let is_mysql = self.release.family == ServerFamily::Mysql;
        let is_anothers = is_mysql && variable.is_perconas_own();
        let reason = if is_anothers { "Percona Server's own".to_owned() } else { lacks };
        match &variable.without {
            Some(without) => format!("{reason}: {without}"),
            None => reason,
        }
    }

    /// What would be asked at this scale, in whole MiB, if servers took any size.
    fn exact(&self, asked: &str) -> u64 {
        self.scale.bytes(parse_size(asked).unwrap_or(0), Mib(1))
    }

    fn pool_size(&self, asked: &str) -> VariableFate {
        let (bytes, _) = self.pool().unwrap_or_default();
        let outcome = |fate| VariableFate::set(fate, POOL, size_text(bytes));
        if parse_size(asked) == Some(bytes) {
            VariableFate::set(Fate::Kept, POOL, asked)
        } else if self.part_bytes.is_some() {
            outcome(Fate::Scaled).because("one of several servers that divide the pool".to_owned())
        } else if self.exact(asked) < POOL_BYTES_MIN {
            outcome(Fate::Clamped).because("no server takes a smaller pool".to_owned())
        } else {
            outcome(Fate::Scaled).because(self.scale.to_string())
        }
    }

    /// The size of redo files and their number.
    fn redo(&self, name: &str, asked: &str) -> VariableFate {
        let file_bytes = self.scale.bytes(self.asked(REDO_FILE).unwrap_or(0), Mib(1));
        let file_bytes = file_bytes.max(REDO_FILE_BYTES_MIN);
        let files = self.asked(REDO_FILES).unwrap_or(1);
        let all_bytes = file_bytes.saturating_mul(files);
        let folded = |into: &str| {
            VariableFate::set(Fate::Folded, into, size_text(all_bytes))
                .because(format!("{files} files of {}, as one size", size_text(file_bytes)))
        };
        if self.release.has(HAS_CAPACITY) {
            return folded(REDO_CAPACITY);
        }
        if self.release.has(SINGLE_REDO_FILE) {
            return folded(REDO_FILE);
        }
        if name == REDO_FILES || parse_size(asked) == Some(file_bytes) {
            return VariableFate::set(Fate::Kept, name, asked);
        }
        let outcome = |fate| VariableFate::set(fate, name, size_text(file_bytes));
        if self.exact(asked) < REDO_FILE_BYTES_MIN {
            outcome(Fate::Clamped).because("no server takes a smaller file".to_owned())
        } else {
            outcome(Fate::Scaled).because(self.scale.to_string())
        }
    }

    /// Servers round a pool up to whole chunks, which would bend its proportion.
    fn chunk(&self) -> Option<VariableFate> {
        let pool @ (_, instances) = self.pool()?;
        let pool_is_given = self.part_bytes.is_none() && self.given(POOL).is_some();
        if !has_fixed_chunks(self.release) || pool_is_given || self.given(CHUNK).is_some() {
            return None;
        }
        let chunk_bytes = chunk_for(pool)?;
        let added = VariableFate::set(Fate::Added, CHUNK, size_text(chunk_bytes)).because(format!(
            "else the server rounds the pool up to a multiple of {}",
            size_text(CHUNK_BYTES.saturating_mul(instances))
        ));
        Some(VariableFate { variable: CHUNK.to_owned(), ..added })
    }
}

#[cfg(test)]
mod tests;
