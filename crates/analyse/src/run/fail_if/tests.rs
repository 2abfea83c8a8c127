use super::{COUNTS, FailCondition, OF_RUN};
use crate::run::document::{RunDocument, measurement};
use crate::run::response_times::ResponseTime;
use store::IntervalRow;
use testkit::{SECOND_NS, Scratch};

/// 1,200 new orders of 40 ms in 2 s, and one Payment that was given up and tried three times.
fn done() -> RunDocument {
    let scratch = Scratch::default();
    let repeat = scratch.begin(&testkit::cell());
    let payment =
        IntervalRow { errors: 1, deadlocks: 2, ..testkit::window(2 * SECOND_NS, "payment", 0) };
    scratch.put(repeat, &[payment]).unwrap();
    testkit::measure(&scratch, repeat, 1_200);
    measurement(&scratch, repeat).unwrap()
}

/// What a condition finds, and whether it fails the run.
fn judged(text: &str, run: Option<&RunDocument>) -> (String, bool) {
    let judged = FailCondition::parse(text).unwrap().judge(run);
    (judged.found(), judged.failed)
}

#[test]
fn figures_are_those_of_the_run() {
    let run = done();
    for (condition, found, fails) in [
        ("nopm<10000", "nopm is 36000", false),
        ("nopm < 36000.5", "nopm is 36000", true),
        ("tps>=600", "tps is 600", true),
        ("tps>600", "tps is 600", false),
        ("p95_ms>39.5", "p95_ms is 40", true),
        ("p95_ms>50", "p95_ms is 40", false),
        ("p99_us<=39999.5", "p99_us is 400", false),
        ("mean_s>=0.04", "mean_s is 0.04", true),
        ("new_order.max_ms>40", "new_order.max_ms is 40", false),
        ("errors>0", "errors is 1", true),
        ("new_order.errors>0", "new_order.errors is 0", false),
        ("errors_share>0.1%", "errors_share is 0.000833", false),
        ("retries>=2", "retries is 2", true),
        ("retries_share>1%", "retries_share is 0.00166", false),
        // What nobody knows fails by its name.
        ("payment.p95_ms>50", "payment.p95_ms is not known", true),
        ("fidelity<0.9", "fidelity is not known", true),
        ("skipped>0", "skipped is not known", true),
    ] {
        let (is, failed) = judged(condition, Some(&run));
        assert!(is.starts_with(found), "{condition}: {is}");
        assert_eq!(failed, fails, "{condition}: {is}");
        assert!(judged(condition, None).1);
    }
}

#[test]
fn a_run_that_failed_has_no_figures() {
    let scratch = Scratch::default();
    let repeat = scratch.begin(&testkit::cell());
    testkit::fail(&scratch, repeat, "server_died");
    let run = measurement(&scratch, repeat).unwrap();
    let nothing = ("errors is not known".to_owned(), true);
    assert_eq!(judged("errors>0", Some(&run)), nothing);
}

#[test]
fn what_makes_no_sense_is_refused_with_what_would() {
    let refused = |text| FailCondition::parse(text).err().unwrap_or_default();
    for (text, word) in [
        ("p95>50", "p95_ms"),
        ("p95_min>50", "unknown figure \"p95_min\"; known are nopm, tpm, tpm_total, tps, "),
        ("payment.nopm<1", "unknown figure"),
        ("refund.p95_ms>1", "unknown figure"),
        ("p95_ms=50", "NAME<NUMBER"),
        ("p95_ms", "NAME<NUMBER"),
        ("p95_ms>fast", "\"fast\" is no number"),
        ("p95_ms>", "\"\" is no number"),
        ("p95_ms>inf", "\"inf\" is no number"),
        ("p95_ms==50", "NAME<NUMBER"),
        (">50", "unknown figure \"\""),
        ("nopm<90%", "nopm is no share"),
        ("p95_ms>1%", "p95_ms is no share"),
    ] {
        assert!(refused(text).contains(word), "{text}: {}", refused(text));
    }
    let misfit = |text, is_tpcc| FailCondition::parse(text).ok().unwrap().misfit(is_tpcc);
    assert_eq!(misfit("nopm<1", true), None);
    assert_eq!(misfit("tpm<1", false), None);
    assert!(misfit("tpm<1", true).unwrap().contains("nopm"));
    assert!(misfit("nopm<1", false).unwrap().contains("tpm"));
    assert!(misfit("payment.p95_ms>1", false).unwrap().contains("p95_ms"));
    assert_eq!(misfit("p95_ms>1", false), None);
}

/// The table of figures is made from the program. `UPDATE_DOCS=1 cargo test -p analyse --lib`
/// writes it anew.
#[test]
fn every_figure_is_described() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let text = std::fs::read_to_string(path).unwrap();
    let head = "<!-- figures -->\n| figure | meaning |\n|---|---|\n";
    let mut table = String::new();
    for (name, _, meaning) in OF_RUN {
        table += &format!("| `{name}` | {meaning} |\n");
    }
    let named = |names: Vec<String>| names.join(", ");
    table += &format!(
        "| {} | counts of the window, of all types; of one type as `payment.errors` |\n",
        named(COUNTS.iter().map(|(name, _)| format!("`{name}`")).collect())
    );
    table += &format!(
        "| {} | response times of new orders, or of what else throughput counts; of one type as \
         `payment.p95_ms`; in microseconds with `_us`, in seconds with `_s` |\n",
        named(ResponseTime::ALL.iter().map(|of| format!("`{}_ms`", of.name)).collect())
    );
    let (before, rest) = text.split_once(head).expect("docs/json.md has a table of figures");
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let made = format!("{before}{head}{table}\n{after}");
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(path, &made).unwrap();
    }
    assert!(
        made == text,
        "figures are not the program's; `UPDATE_DOCS=1 cargo test -p analyse --lib`"
    );
}
