//! Does a run with keying and think times meet clauses 2.7, 4.1.3 and 5? Each requirement with its
//! value, what the clause allows, and what chance gives a right run of that length.

use crate::counters::{InputCounters, SKIPPED_DELIVERIES, SPREAD};
use crate::input::{DECK_CARDS, DECK_SIZE, Transaction};
use crate::terminal_times::{
    Ceiling, KEYING, NOPM_PER_WAREHOUSE_MAX, NOPM_PER_WAREHOUSE_MIN, TERMINALS_PER_WAREHOUSE,
    THINK_MEAN,
};
use base::Warehouses;
use std::time::Duration;
use store::{InputCounter, JudgedNumber, JudgedUnit, StoredBand, StoredRequirement};

/// Shortest window that the standard takes for a result (clause 5.5.2.1).
pub const WINDOW_MIN: Duration = Duration::from_secs(120 * 60);
/// Differences below this count as none where percentile and average are compared (clause 5.2.5.6).
const TOLERANCE_S: f64 = 0.1;
/// The 90th percentile of response times may be so long, in s (table 5.2.5.7); that of a Delivery
/// is its acknowledgement.
const P90_MAX_S: [f64; 5] = [5.0, 5.0, 5.0, 5.0, 20.0];
/// And that of a Delivery from its queueing to its end (the same table). A shorter window has seen
/// none that took longer.
pub const DEFERRED_P90_MAX_S: f64 = 80.0;
/// Least shares of the mix (the same table); New-Order has none.
const SHARE_MIN: [Option<f64>; 5] = [None, Some(0.43), Some(0.04), Some(0.04), Some(0.04)];

/// Some times: how many, their mean, and what nine of ten did not exceed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TimeSummary {
    pub count: u64,
    pub mean_s: f64,
    pub p90_s: f64,
}

/// What was measured in the window, by [`Transaction::index`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeasuredRun<'a> {
    pub new_orders_per_minute: f64,
    /// Of the terminals that ran.
    pub ceiling: Ceiling,
    pub terminals: u32,
    /// Active ones: those that terminals and transactions are for.
    pub warehouses: Warehouses,
    /// All that the database has, inactive ones too (clause 4.2.2).
    pub configured: Warehouses,
    /// Of a Delivery: from its queueing to its end.
    pub response: [TimeSummary; 5],
    /// From the queueing of a Delivery to its end or, where it was pending at the end of the
    /// window, to that; `None` where the window is shorter than they may take.
    pub deferred: Option<TimeSummary>,
    pub acknowledgement: TimeSummary,
    pub keying: [TimeSummary; 5],
    pub think: [TimeSummary; 5],
    pub inputs: &'a InputCounters,
}

impl TimeSummary {
    fn p90(&self) -> Option<f64> {
        (self.count > 0).then_some(self.p90_s)
    }

    fn mean(&self) -> Option<f64> {
        (self.count > 0).then_some(self.mean_s)
    }
}

/// What a clause asks, by its name and for people.
fn requirement(
    clause: &str,
    (name, title): (impl Into<String>, impl Into<String>),
    judged: JudgedNumber,
) -> StoredRequirement {
    let (name, title) = (name.into(), title.into());
    StoredRequirement { name, title, clause: clause.to_owned(), judged }
}

/// A time in which chance plays no part.
fn in_s(value: Option<f64>, allowed: StoredBand) -> JudgedNumber {
    JudgedNumber::of(JudgedUnit::Seconds, value, allowed, allowed)
}

fn at_least(low: f64) -> StoredBand {
    StoredBand { low: Some(low), high: None }
}

fn at_most(high: f64) -> StoredBand {
    StoredBand { low: None, high: Some(high) }
}

impl MeasuredRun<'_> {
    /// All requirements, in the order to show them in.
    pub fn requirements(&self) -> Vec<StoredRequirement> {
        let mut all: Vec<StoredRequirement> = self.throughput().into_iter().collect();
        all.extend(Transaction::ALL.map(|transaction| self.p90(transaction)));
        all.push(self.deferred());
        all.extend(Transaction::ALL.map(|transaction| self.above_mean(transaction)));
        all.extend(Transaction::ALL.into_iter().filter_map(|t| self.share(t)));
        all.extend(Transaction::ALL.map(|transaction| self.keying(transaction)));
        all.extend(Transaction::ALL.map(|transaction| self.think(transaction)));
        all.extend(self.inputs());
        all
    }

    /// Has each active warehouse its ten terminals, each with a district of its own (clauses
    /// 2.8.1.1, 4.2.2)?
    pub fn has_terminals_of_the_clause(&self) -> bool {
        let wanted = u64::from(self.warehouses.0) * u64::from(TERMINALS_PER_WAREHOUSE);
        u64::from(self.terminals) == wanted
    }

    /// New orders per minute over 12.86 for each active warehouse: the share of the standard's
    /// bound that was reached. `None` where other terminals drive them than the standard's.
    pub fn efficiency(&self) -> Option<f64> {
        let most = NOPM_PER_WAREHOUSE_MAX * f64::from(self.warehouses.0);
        self.has_terminals_of_the_clause().then(|| self.new_orders_per_minute / most)
    }

    /// The most is for each active warehouse, because its terminals can do no more; the least is
    /// for each configured one, so that a database is not larger than its load.
    fn throughput(&self) -> Option<StoredRequirement> {
        if !self.has_terminals_of_the_clause() {
            return None;
        }
        let each = 1.0 / f64::from(self.warehouses.0);
        let least = NOPM_PER_WAREHOUSE_MIN * f64::from(self.configured.0) * each;
        let (ceiling, spread) =
            (self.ceiling.nopm * each, SPREAD * self.ceiling.nopm_deviation * each);
        let judged = JudgedNumber::of(
            JudgedUnit::NopmPerWarehouse,
            Some(self.new_orders_per_minute * each),
            StoredBand::between(least..=NOPM_PER_WAREHOUSE_MAX),
            StoredBand::between(ceiling - spread..=ceiling + spread),
        );
        let words = ("nopm_per_warehouse", "new orders per minute and active warehouse");
        Some(requirement("4.1.3", words, judged))
    }

    /// Response times as the user sees them: of a Delivery, the word that it has been queued.
    fn seen(&self, transaction: Transaction) -> (TimeSummary, String, String) {
        let (name, title) = (transaction.name(), title(transaction));
        if transaction == Transaction::Delivery {
            let title = format!("{title} acknowledgements");
            return (self.acknowledgement, format!("{name}_acknowledgement"), title);
        }
        let times = self.response[transaction.index()];
        (times, name.to_owned(), format!("{title} response times"))
    }

    fn p90(&self, transaction: Transaction) -> StoredRequirement {
        let (times, name, title) = self.seen(transaction);
        let words = (format!("{name}_p90"), format!("90th percentile of {title}"));
        let allowed = at_most(P90_MAX_S[transaction.index()]);
        requirement("5.2.5.3", words, in_s(times.p90(), allowed))
    }

    fn deferred(&self) -> StoredRequirement {
        let words = ("deferred_delivery_p90", "90th percentile of deferred deliveries");
        let value = self.deferred.and_then(|times| times.p90());
        requirement("2.7.2.2", words, in_s(value, at_most(DEFERRED_P90_MAX_S)))
    }

    fn above_mean(&self, transaction: Transaction) -> StoredRequirement {
        let (times, name, title) = self.seen(transaction);
        let name = format!("{name}_p90_above_mean");
        let words = (name, format!("the same against the mean of {title}"));
        let allowed = at_least((times.mean_s - TOLERANCE_S).max(0.0));
        requirement("5.2.5.6", words, in_s(times.p90(), allowed))
    }

    fn share(&self, transaction: Transaction) -> Option<StoredRequirement> {
        let index = transaction.index();
        let least = SHARE_MIN[index]?;
        let all: u64 = self.response.iter().map(|times| times.count).sum();
        let dealt = f64::from(DECK_CARDS[index]) / f64::from(DECK_SIZE);
        // A deck deals each type more evenly than independent draws would.
        let spread = SPREAD * (dealt * (1.0 - dealt) / all.max(1) as f64).sqrt();
        let value = (all > 0).then(|| self.response[index].count as f64 / all as f64);
        let chance = at_least((dealt - spread).max(0.0));
        let judged = JudgedNumber::of(JudgedUnit::Share, value, at_least(least), chance);
        let name = format!("{}_share", transaction.name());
        let title = format!("share of {} in the mix", title(transaction));
        Some(requirement("5.2.3", (name, title), judged))
    }

    fn keying(&self, transaction: Transaction) -> StoredRequirement {
        let index = transaction.index();
        let name = format!("{}_keying_mean", transaction.name());
        let title = format!("mean keying time of {}", title(transaction));
        let allowed = at_least(KEYING[index].as_secs_f64());
        requirement("5.2.5.2", (name, title), in_s(self.keying[index].mean(), allowed))
    }

    fn think(&self, transaction: Transaction) -> StoredRequirement {
        let index = transaction.index();
        let name = format!("{}_think_mean", transaction.name());
        let title = format!("mean think time of {}", title(transaction));
        let (times, mean_s) = (self.think[index], THINK_MEAN[index].as_secs_f64());
        // The standard deviation of an exponential is its mean.
        let spread = SPREAD / (times.count.max(1) as f64).sqrt();
        let chance = at_least((mean_s * (1.0 - spread)).max(0.0));
        let (value, allowed) = (times.mean(), at_least(mean_s));
        let judged = JudgedNumber::of(JudgedUnit::Seconds, value, allowed, chance);
        requirement("5.2.5.4", (name, title), judged)
    }

    /// The clause-5 counters.
    fn inputs(&self) -> impl Iterator<Item = StoredRequirement> {
        let shares = self.inputs.shares(self.warehouses).into_iter();
        shares.map(|InputCounter { name, title, judged, .. }| {
            let clause = if name == SKIPPED_DELIVERIES { "5.5.1.6" } else { "5.5.1.5" };
            requirement(clause, (name, title), judged)
        })
    }
}

fn title(transaction: Transaction) -> String {
    transaction.name().replace('_', " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::terminal_times::ceiling;
    use store::Verdict;

    fn times(count: u64, mean_s: f64, p90_s: f64) -> TimeSummary {
        TimeSummary { count, mean_s, p90_s }
    }

    fn measured(inputs: &InputCounters) -> MeasuredRun<'_> {
        let think = [12.0, 12.0, 10.0, 5.0, 5.0].map(|mean_s| times(10_000, mean_s, 2.3 * mean_s));
        MeasuredRun {
            new_orders_per_minute: 125.0,
            ceiling: ceiling(100, 7_200.0),
            terminals: 100,
            warehouses: Warehouses(10),
            configured: Warehouses(10),
            response: [1_000, 1_000, 100, 100, 100].map(|count| times(count, 0.01, 0.02)),
            deferred: Some(times(100, 0.01, 0.02)),
            acknowledgement: times(100, 1e-6, 1e-6),
            keying: [18.0, 3.0, 2.0, 2.0, 2.0].map(|mean_s| times(10_000, mean_s, mean_s)),
            think,
            inputs,
        }
    }

    fn outside(measured: &MeasuredRun<'_>) -> Vec<String> {
        let all = measured.requirements().into_iter();
        all.filter(|r| r.judged.verdict == Verdict::Outside).map(|r| r.name).collect()
    }

    #[test]
    fn a_right_run_meets_all() {
        let inputs = InputCounters::default();
        let measured = measured(&inputs);
        assert_eq!(outside(&measured), Vec::<String>::new());
        assert!((measured.efficiency().unwrap() - 0.972).abs() < 0.0005);
        let names: Vec<String> = measured.requirements().into_iter().map(|r| r.name).collect();
        let mut unique = names.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!((names.len(), unique.len()), (33, 33), "{names:?}");
    }

    #[test]
    fn terminals_without_rows_of_their_own_prove_nothing_of_throughput() {
        // 10,000 terminals on 10 warehouses: 1,254 new orders per minute for each, which is not
        // 12.54 for each of 1,000.
        let inputs = InputCounters::default();
        for terminals in [10_000, 99] {
            let judged = MeasuredRun {
                terminals,
                new_orders_per_minute: 12_540.0,
                ceiling: ceiling(terminals, 7_200.0),
                ..measured(&inputs)
            };
            let all = judged.requirements();
            assert_eq!(all.len(), 32);
            assert!(all.iter().all(|one| one.clause != "4.1.3"));
            assert_eq!(judged.efficiency(), None);
        }
    }

    /// On each side as wide as 3.29 standard deviations of what a right run gives.
    #[test]
    fn chance_is_narrower_the_longer_the_run() {
        assert_eq!(WINDOW_MIN, Duration::from_secs(7_200));
        let inputs = InputCounters::default();
        let run = measured(&inputs);
        let is_near = |band: Option<f64>, wanted: f64| (band.unwrap() - wanted).abs() < 1e-9;
        let throughput = run.throughput().unwrap().judged;
        let spread = 3.29 * run.ceiling.nopm_deviation;
        assert!(is_near(throughput.chance_low, (run.ceiling.nopm - spread) / 10.0));
        assert!(is_near(throughput.chance_high, (run.ceiling.nopm + spread) / 10.0));
        let bounds = (throughput.allowed_low, throughput.allowed_high);
        assert_eq!(bounds, (Some(9.0), Some(12.86)));
        let dealt = 10.0 / 23.0;
        let share = run.share(Transaction::Payment).unwrap().judged;
        let spread = 3.29 * (dealt * (1.0 - dealt) / 2_300.0f64).sqrt();
        assert!(is_near(share.chance_low, dealt - spread));
        assert!(is_near(share.value, 1_000.0 / 2_300.0));
        assert!(run.share(Transaction::NewOrder).is_none());
        // 10,000 times, so a standard error of a hundredth.
        let think = run.think(Transaction::OrderStatus).judged;
        assert!(is_near(think.chance_low, 10.0 * (1.0 - 0.0329)));
    }

    #[test]
    fn a_percentile_may_lie_a_little_below_the_mean() {
        let inputs = InputCounters::default();
        let mut run = measured(&inputs);
        for (mean_s, least) in [(0.05, 0.0), (2.0, 1.9)] {
            run.response[1].mean_s = mean_s;
            let judged = run.above_mean(Transaction::Payment).judged;
            assert!((judged.allowed_low.unwrap() - least).abs() < 1e-9, "{mean_s}");
        }
    }

    #[test]
    fn inactive_warehouses_raise_what_the_active_ones_have_to_do() {
        let inputs = InputCounters::default();
        let with =
            |configured| MeasuredRun { configured: Warehouses(configured), ..measured(&inputs) };
        // 125 new orders per minute are 12.5 for each of 10 active warehouses, 9.6 for each of 13
        // configured and 8.9 of 14.
        assert_eq!(with(13).throughput().unwrap().judged.value, Some(12.5));
        assert_eq!(outside(&with(13)), Vec::<String>::new());
        let least = with(14).throughput().unwrap().judged.allowed_low.unwrap();
        assert!((least - 12.6).abs() < 1e-9, "{least}");
    }

    #[test]
    fn each_violation_is_seen_by_its_requirement() {
        let inputs = InputCounters::default();
        type Change = fn(&mut MeasuredRun<'_>);
        let cases: [(&str, Change); 10] = [
            ("nopm_per_warehouse", |m| m.new_orders_per_minute = 89.0),
            ("nopm_per_warehouse", |m| m.new_orders_per_minute = 135.0),
            ("payment_p90", |m| m.response[1].p90_s = 5.01),
            ("stock_level_p90", |m| m.response[4].p90_s = 20.1),
            ("delivery_acknowledgement_p90", |m| {
                m.acknowledgement.p90_s = 5.1;
            }),
            ("deferred_delivery_p90", |m| {
                m.deferred = Some(times(100, 20.0, 80.5));
            }),
            ("order_status_p90_above_mean", |m| {
                m.response[2].mean_s = 0.13;
            }),
            ("delivery_share", |m| m.response[3].count = 60),
            ("stock_level_keying_mean", |m| m.keying[4].mean_s = 1.999),
            // Four standard errors of 10,000 times.
            ("new_order_think_mean", |m| m.think[0].mean_s = 12.0 * 0.96),
        ];
        for (name, change) in cases {
            let mut measured = measured(&inputs);
            change(&mut measured);
            assert_eq!(outside(&measured), [name]);
        }
        let mut late = measured(&inputs);
        late.response[4].p90_s = 19.0;
        assert_eq!(outside(&late), Vec::<String>::new());
    }

    #[test]
    fn short_runs_may_miss_by_chance_and_empty_ones_have_no_value() {
        let inputs = InputCounters::default();
        let mut short = measured(&inputs);
        short.response = [10, 9, 1, 0, 1].map(|count| times(count, 0.01, 0.02));
        short.deferred = None;
        short.think[1] = times(9, 9.0, 20.0);
        assert_eq!(outside(&short), Vec::<String>::new());
        let deferred = short.deferred();
        assert_eq!(deferred.judged.value, None);
    }
}
