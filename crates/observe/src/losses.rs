//! What of one source is lost, since when, and how often it was: so that people are told of it, and
//! not again and again.

use crate::error::ObserveError;
use crate::readings::Sampled;
use std::collections::BTreeMap;

/// The losses of a source and its parts, by their titles.
#[derive(Default)]
pub(crate) struct Losses {
    parts: BTreeMap<&'static str, LostPart>,
}

/// A source or a part of it that was lost at least once.
#[derive(Default)]
struct LostPart {
    /// Since when it is lost, where it is.
    since_ns: Option<u64>,
    times: u64,
    /// Without the time since `since_ns`.
    lost_ns: u64,
    /// Has a return been told?
    came_back: bool,
}

impl Losses {
    /// The source `title` could be read, but for its parts in `lost`. Returns what is to be told.
    pub(crate) fn read(
        &mut self,
        title: &'static str,
        at_ns: u64,
        lost: &[(&'static str, ObserveError)],
    ) -> Vec<Sampled> {
        let is_lost = |part: &str| lost.iter().any(|(other, _)| *other == part);
        let back = self.parts.iter_mut().filter(|(part, _)| **part == title || !is_lost(part));
        let back = back.filter_map(|(&part, known)| known.is_back(part, at_ns));
        let mut told: Vec<Sampled> = back.collect();
        for (part, error) in lost {
            told.extend(self.lose(part, at_ns, error));
        }
        told
    }

    /// The part `part`, or the source of that title, could not be read. Returns what is to be told.
    pub(crate) fn lose(
        &mut self,
        part: &'static str,
        at_ns: u64,
        error: &ObserveError,
    ) -> Option<Sampled> {
        let known = self.parts.entry(part).or_default();
        if known.since_ns.is_some() {
            return None;
        }
        known.since_ns = Some(at_ns);
        known.times += 1;
        (known.times == 1).then(|| lost(part, at_ns, error))
    }

    /// The source is lost and will not be asked again, which is told however often it was lost
    /// before.
    pub(crate) fn end(&mut self, title: &'static str, at_ns: u64, error: &ObserveError) -> Sampled {
        self.lose(title, at_ns, error).unwrap_or_else(|| lost(title, at_ns, error))
    }

    /// All losses, at the end.
    pub(crate) fn in_all(&self, at_ns: u64) -> impl Iterator<Item = Sampled> {
        self.parts.iter().map(move |(&part, known)| Sampled::LostInAll {
            source: part,
            times: known.times,
            lost_ns: known.lost_ns + known.open_ns(at_ns),
        })
    }
}

fn lost(source: &'static str, at_offset_ns: u64, error: &ObserveError) -> Sampled {
    Sampled::Lost { source, at_offset_ns, reason: error.to_string() }
}

impl LostPart {
    /// It can be read. Returns what is to be told, where it could not be.
    fn is_back(&mut self, title: &'static str, at_ns: u64) -> Option<Sampled> {
        let open_ns = self.open_ns(at_ns);
        self.since_ns.take()?;
        self.lost_ns += open_ns;
        let is_first = !std::mem::replace(&mut self.came_back, true);
        is_first.then_some(Sampled::Back { source: title, at_offset_ns: at_ns, lost_ns: open_ns })
    }

    fn open_ns(&self, at_ns: u64) -> u64 {
        self.since_ns.map_or(0, |since_ns| at_ns.saturating_sub(since_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::Losses;
    use crate::error::ObserveError;

    fn error(text: &str) -> ObserveError {
        ObserveError::Server(text.to_owned())
    }

    #[test]
    fn the_first_loss_the_first_return_and_the_sum_are_told() {
        let mut losses = Losses::default();
        let mut told = Vec::new();
        for round in 0..100_u64 {
            let at_ns = round * 10;
            // Lost for 20 of each 50 ns.
            if round % 5 >= 3 {
                told.extend(losses.lose("the host", at_ns, &error("gone")));
            } else {
                told.extend(losses.read("the host", at_ns, &[]));
            }
        }
        told.extend(losses.in_all(1000));
        let told = format!("{told:?}");
        let expected = format!(
            "[Lost {{ source: \"the host\", at_offset_ns: 30, reason: \"{}\" }}, \
             Back {{ source: \"the host\", at_offset_ns: 50, lost_ns: 20 }}, \
             LostInAll {{ source: \"the host\", times: 20, lost_ns: 400 }}]",
            error("gone")
        );
        assert_eq!(told, expected);
    }

    #[test]
    fn parts_are_lost_on_their_own() {
        let mut losses = Losses::default();
        let disks = |text| [("its disks", error(text))];
        assert!(losses.read("the host", 0, &[]).is_empty());
        assert_eq!(losses.read("the host", 10, &disks("a")).len(), 1);
        assert!(losses.read("the host", 20, &disks("b")).is_empty());
        // The whole source: of the part nothing is known then.
        assert!(losses.lose("the host", 30, &error("c")).is_some());
        let told = format!("{:?}", losses.read("the host", 40, &disks("d")));
        assert!(
            told.starts_with("[Back { source: \"the host\"") && !told.contains("disks"),
            "{told}"
        );
        assert_eq!(losses.read("the host", 50, &[]).len(), 1);
        let all: Vec<String> = losses.in_all(90).map(|one| format!("{one:?}")).collect();
        assert_eq!(
            all,
            [
                "LostInAll { source: \"its disks\", times: 1, lost_ns: 40 }",
                "LostInAll { source: \"the host\", times: 1, lost_ns: 10 }"
            ]
        );
    }

    #[test]
    fn an_end_is_told_whatever_was_told_before() {
        let mut losses = Losses::default();
        assert!(losses.lose("the host", 0, &error("a")).is_some());
        losses.read("the host", 10, &[]);
        let told = format!("{:?}", losses.end("the host", 20, &error("b")));
        assert!(told.starts_with("Lost ") && told.contains("b;"), "{told}");
        let all: Vec<String> = losses.in_all(90).map(|one| format!("{one:?}")).collect();
        assert_eq!(all, ["LostInAll { source: \"the host\", times: 2, lost_ns: 80 }"]);
    }
}
