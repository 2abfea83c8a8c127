//! What is shown of a lab beside the repeat that is measured now: which one it is, what goes on before and after its load, and what
//! came of the last ones.

use super::state::{About, Stage, State};
use lab::Progress;
use plan::{Cell, Connections};
use std::collections::VecDeque;

/// How many of the last results are kept.
const RESULTS_MAX: usize = 3;

/// The lab around a run.
#[derive(Debug, Default)]
pub struct StudyState {
    /// `3 of 8: cell 2 (data=hdd-15k connections=8), repeat 1 of 3; about 12 min left`
    pub title: String,
    /// While there is no load: `checking: 5 of 18`.
    pub doing: String,
    /// Of the last repeats, the newest one last.
    pub results: VecDeque<String>,
}

impl StudyState {
    /// Takes what goes on before and after a load.
    pub fn take(&mut self, progress: &Progress<'_>) {
        match progress {
            Progress::Step(step) => (*step).clone_into(&mut self.doing),
            Progress::Load(load) => {
                let percent = load.bytes * 100 / load.bytes_total.max(1);
                self.doing = format!(
                    "loading: {percent} %, indexes {}/{}",
                    load.steps, load.steps_total
                );
            }
            Progress::Checks { done, total } => {
                self.doing = format!("checking: {done} of {total}");
            }
            _ => {}
        }
    }

    /// Keeps what came of a repeat.
    pub fn ended(&mut self, result: &str) {
        self.results.push_back(result.to_owned());
        if self.results.len() > RESULTS_MAX {
            self.results.pop_front();
        }
    }
}

impl State {
    /// Another repeat: of the one before, its result and the notes stay.
    pub fn next_turn(&mut self, title: &str, cell: &Cell) {
        let before = std::mem::take(self);
        let results = before.study.map(|study| study.results);
        self.about = About {
            target: cell.engine.clone(),
            workload: cell.workload.clone(),
            style: cell.style.clone(),
            connections: match cell.connections {
                Connections::Fixed(count) => Some(count),
                Connections::Ramp(_) => None,
            },
            terminals: None,
        };
        self.study = Some(StudyState {
            title: title.to_owned(),
            doing: "starting a server".to_owned(),
            results: results.unwrap_or_default(),
        });
        self.is_ending = before.is_ending;
        self.notes = before.notes;
    }

    /// What goes on where there is no load, of a lab.
    pub fn doing(&self) -> Option<&str> {
        let study = self.study.as_ref()?;
        let has_load = !matches!(self.stage, Stage::Starting | Stage::Finished);
        (!has_load).then_some(study.doing.as_str())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use crate::live::state::{Stage, State};
    use base::Warehouses;
    use lab::Progress;
    use plan::{Cell, Known, Plan};
    use storage::Place;

    const PLAN: &str =
        "[lab]\nname = 'x'\n[server]\nengine = ['mysql-5.7']\n[load]\nconnections = [4]\n";

    pub(crate) fn cell() -> Cell {
        let all = |name: &str| vec![name.to_owned()];
        let known = Known {
            engines: all("mysql-5.7"),
            presets: all("default"),
            workloads: all("tpcc"),
            styles: all("statements"),
            place: &|text| Place::parse(text).map_err(|error| error.to_string()),
        };
        let plan = Plan::parse(PLAN, "p.toml").unwrap();
        plan.cells(&known).unwrap().remove(0)
    }

    #[test]
    fn each_turn_begins_anew_and_keeps_results() {
        let cell = cell();
        let mut state = State::default();
        let turn = |state: &mut State, title: &str| {
            state.take(&Progress::TurnStarts { title, cell: &cell });
        };
        turn(&mut state, "1 of 9");
        state.take(&Progress::Step("populating"));
        assert_eq!(state.doing(), Some("populating"));
        state.take(&Progress::RunStarts(Warehouses(2)));
        assert_eq!((state.stage, state.doing()), (Stage::Warmup, None));
        assert_eq!(state.connections, Some(4));
        state.take(&Progress::Checks { done: 5, total: 18 });
        assert_eq!(state.doing(), Some("checking: 5 of 18"));
        state.take(&Progress::Note("told"));
        for number in 1..=5 {
            let study = state.study.as_mut().unwrap();
            study.ended(&format!("result {number}"));
        }
        turn(&mut state, "2 of 9");
        assert_eq!((state.stage, state.connections), (Stage::Starting, None));
        let study = state.study.as_ref().unwrap();
        assert_eq!(study.title, "2 of 9");
        assert_eq!(study.results, ["result 3", "result 4", "result 5"]);
        assert_eq!(state.notes, ["told"]);
    }
}
