//! CPUs by their numbers, as Linux lists them in /sys and /proc: `0-3,8`.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// More CPUs than any machine has.
const CPUS_MAX: u32 = 1 << 13;

/// Numbers of CPUs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuList(BTreeSet<u32>);

/// The text is no list of CPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoCpuList;

impl CpuList {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// In ascending order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().copied()
    }

    pub fn contains(&self, cpu: u32) -> bool {
        self.0.contains(&cpu)
    }

    /// Is there a CPU in both?
    pub fn overlaps(&self, other: &CpuList) -> bool {
        !self.0.is_disjoint(&other.0)
    }

    /// Those that are not in `other`.
    pub fn without(&self, other: &CpuList) -> CpuList {
        CpuList(self.0.difference(&other.0).copied().collect())
    }
}

impl FromIterator<u32> for CpuList {
    fn from_iter<I: IntoIterator<Item = u32>>(cpus: I) -> CpuList {
        CpuList(cpus.into_iter().collect())
    }
}

impl FromStr for CpuList {
    type Err = NoCpuList;

    fn from_str(text: &str) -> Result<CpuList, NoCpuList> {
        let number = |text: &str| text.parse::<u32>().map_err(|_| NoCpuList);
        let mut cpus = BTreeSet::new();
        for range in text.trim().split(',') {
            let (first, last) = range.split_once('-').unwrap_or((range, range));
            let (first, last) = (number(first)?, number(last)?);
            if first > last || last >= CPUS_MAX {
                return Err(NoCpuList);
            }
            cpus.extend(first..=last);
        }
        Ok(CpuList(cpus))
    }
}

impl fmt::Display for CpuList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut cpus = self.iter().peekable();
        let mut separator = "";
        while let Some(first) = cpus.next() {
            let mut last = first;
            while let Some(next) = cpus.next_if_eq(&(last + 1)) {
                last = next;
            }
            match last - first {
                0 => write!(f, "{separator}{first}")?,
                _ => write!(f, "{separator}{first}-{last}")?,
            }
            separator = ",";
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::{CpuList, NoCpuList};

    fn list(text: &str) -> CpuList {
        text.parse().unwrap()
    }

    #[test]
    fn lists_are_read_and_written_as_linux_writes_them() {
        for (text, cpus, written) in [
            ("0\n", &[0][..], "0"),
            ("0-2,8,10-11\n", &[0, 1, 2, 8, 10, 11], "0-2,8,10-11"),
            ("3,1,2", &[1, 2, 3], "1-3"),
        ] {
            assert_eq!(list(text).iter().collect::<Vec<_>>(), cpus);
            assert_eq!(list(text).to_string(), written);
        }
        for bad in ["", "a", "1-", "2-1", "0-4294967295", "-1", "0,,1"] {
            assert_eq!(bad.parse::<CpuList>(), Err(NoCpuList), "{bad:?}");
        }
        assert_eq!(CpuList::default().to_string(), "");
    }

    #[test]
    fn lists_are_sets() {
        let all = list("0-3");
        assert_eq!(all.without(&list("1,9")), list("0,2-3"));
        assert!(all.overlaps(&list("3-4")) && !all.overlaps(&list("4")));
        assert!(all.contains(2) && !all.contains(4) && !all.is_empty());
        assert_eq!(all.len(), 4);
    }
}
