//! The state in the text format of Prometheus, version 0.0.4.

use crate::state::{QUANTILES, Stage, State, TypeState};
use std::fmt::Display;

/// The text of all metrics but the CPU time, which is read when it is asked for: see [`cpu_text`].
pub(crate) fn text(state: &State) -> String {
    let mut out = Exposition::default();
    out.begin("mydyno_run_info", "gauge", "What is run; always 1.");
    if let Some(warehouses) = state.warehouses {
        let about = &state.about;
        let [target, workload, style] =
            [&about.target, &about.workload, &about.style].map(|text| escaped(text));
        let (dilation, warehouses) = (about.dilation, warehouses.0);
        let labels = format_args!(
            "{{target=\"{target}\",workload=\"{workload}\",style=\"{style}\",\
             dilation=\"{dilation}\",warehouses=\"{warehouses}\"}}"
        );
        out.sample(labels, 1.0);
    }
    out.begin("mydyno_phase", "gauge", "Is the run in this phase? 1 or 0.");
    for stage in Stage::ALL {
        let is_now = u8::from(stage == state.stage);
        out.sample(format_args!("{{phase=\"{}\"}}", stage.name()), is_now.into());
    }
    out.begin("mydyno_connections", "gauge", "Connections that drive the server.");
    out.optional(state.connections.map(f64::from));
    out.begin("mydyno_nopm", "gauge", "New orders per minute in the last interval.");
    out.optional(state.nopm());
    let help = "How long no transaction has ended well, where that is longer than usual; else 0.";
    out.begin("mydyno_silence_seconds", "gauge", help);
    let silence_s = || state.silence().map_or(0.0, |of| of.busy_ns() as f64 / 1e9);
    out.optional(state.nopm().map(|_| silence_s()));
    // Its samples have the label `quantile`, which no other kind may have.
    let help = "Response times in the last interval, by quantile.";
    out.begin("mydyno_response_seconds", "summary", help);
    for of in &state.types {
        let name = of.name;
        for (quantile, ns) in QUANTILES.iter().zip(of.response_ns.iter().flatten()) {
            let labels = format_args!("{{type=\"{name}\",quantile=\"{quantile}\"}}");
            out.sample(labels, *ns as f64 / 1e9);
        }
    }
    let help = "Transactions that ended well since the start, warm-up included.";
    out.begin("mydyno_transactions_total", "counter", help);
    out.by_type(state, "outcome", &OUTCOMES);
    let help = "Tries of transactions that failed and were repeated.";
    out.begin("mydyno_retries_total", "counter", help);
    out.by_type(state, "cause", &CAUSES);
    out.begin("mydyno_errors_total", "counter", "Transactions that were given up.");
    for of in &state.types {
        out.sample(format_args!("{{type=\"{}\"}}", of.name), of.errors as f64);
    }
    out.text
}

/// The CPU time of this process, in the same format.
pub(crate) fn cpu_text(cpu_seconds: f64) -> String {
    let mut out = Exposition::default();
    out.begin("mydyno_cpu_seconds_total", "counter", "CPU time of mydyno itself.");
    out.sample("", cpu_seconds);
    out.text
}

/// A count of a transaction type, with its label.
type TypeCount = (&'static str, fn(&TypeState) -> u64);

const OUTCOMES: [TypeCount; 2] =
    [("committed", |of| of.committed), ("rolled_back", |of| of.rolled_back)];
const CAUSES: [TypeCount; 3] = [
    ("deadlock", |of| of.deadlocks),
    ("lock_wait_timeout", |of| of.lock_wait_timeouts),
    ("other", |of| of.other_retries),
];

#[derive(Default)]
struct Exposition {
    text: String,
    /// The metric that has begun.
    name: &'static str,
}

impl Exposition {
    /// Begins a metric of this type; its samples follow.
    fn begin(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        self.text += &format!("# HELP {name} {help}\n# TYPE {name} {kind}\n");
    }

    fn sample(&mut self, labels: impl Display, value: f64) {
        self.text += &format!("{}{labels} {value}\n", self.name);
    }

    /// Nothing where the value is not known: to Prometheus that is a gap.
    fn optional(&mut self, value: Option<f64>) {
        if let Some(value) = value {
            self.sample("", value);
        }
    }

    /// The counts of each transaction type by one more label.
    fn by_type(&mut self, state: &State, label: &str, counts: &[TypeCount]) {
        for of in &state.types {
            let name = of.name;
            for (text, count) in counts {
                let labels = format_args!("{{type=\"{name}\",{label}=\"{text}\"}}");
                self.sample(labels, count(of) as f64);
            }
        }
    }
}

/// The value of a label as the format has it.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

#[cfg(test)]
mod tests {
    use super::{cpu_text, escaped, text};
    use crate::state::State;
    use crate::testkit::in_window;
    use serde_json::Value;
    use std::collections::{BTreeMap, BTreeSet};

    #[track_caller]
    fn value(text: &str, sample: &str) -> f64 {
        let mut found =
            text.lines().filter_map(|line| line.strip_prefix(sample)?.strip_prefix(' '));
        let value = found.next().unwrap_or_else(|| panic!("no {sample} in {text}"));
        assert_eq!(found.next(), None, "{sample} is there twice");
        value.parse().unwrap()
    }

    #[test]
    fn a_run_in_its_window() {
        let text = text(&in_window());
        for (sample, expected) in [
            ("mydyno_nopm", 12_000.0),
            ("mydyno_silence_seconds", 0.0),
            ("mydyno_connections", 8.0),
            ("mydyno_phase{phase=\"window\"}", 1.0),
            ("mydyno_phase{phase=\"warmup\"}", 0.0),
            ("mydyno_transactions_total{type=\"new_order\",outcome=\"committed\"}", 6_000.0),
            ("mydyno_transactions_total{type=\"new_order\",outcome=\"rolled_back\"}", 0.0),
            ("mydyno_retries_total{type=\"payment\",cause=\"deadlock\"}", 30.0),
            ("mydyno_errors_total{type=\"delivery\"}", 0.0),
            (
                "mydyno_run_info{target=\"mysql-5.7\",workload=\"tpcc\",style=\"statements\",\
                 dilation=\"1\",warehouses=\"10\"}",
                1.0,
            ),
        ] {
            assert_eq!(value(&text, sample), expected, "{sample}");
        }
        for quantile in ["0.5", "0.9", "0.95", "0.99"] {
            let sample =
                format!("mydyno_response_seconds{{type=\"new_order\",quantile=\"{quantile}\"}}");
            let seconds = value(&text, &sample);
            assert!((seconds - 0.010).abs() < 0.000_1, "{sample} {seconds}");
        }
        // No Delivery has ended: it has no response time.
        assert!(!text.contains("mydyno_response_seconds{type=\"delivery\""));
    }

    #[test]
    fn what_is_not_known_has_no_sample() {
        let text = text(&State::default());
        let samples = |name: &str| text.lines().any(|line| line.starts_with(name));
        assert!(!samples("mydyno_nopm") && !samples("mydyno_run_info"));
        assert!(!samples("mydyno_connections"));
        assert_eq!(value(&text, "mydyno_phase{phase=\"starting\"}"), 1.0);
    }

    /// A sample's labels with their values.
    type Labels = BTreeMap<String, String>;

    /// `{a="b",c="d"}` or nothing. None of the values that are tested holds a comma or a quote.
    fn labels(text: &str) -> Labels {
        let inside = text.strip_prefix('{').map_or("", |rest| rest.strip_suffix('}').unwrap());
        let pairs = inside.split(',').filter(|pair| !pair.is_empty());
        pairs
            .map(|pair| {
                let (label, value) = pair.split_once('=').unwrap();
                (label.to_owned(), value.trim_matches('"').to_owned())
            })
            .collect()
    }

    /// The samples of the exporter, by metric, each metric once told and typed before them and all
    /// of them together.
    fn exported() -> BTreeMap<String, Vec<Labels>> {
        let all = text(&in_window()) + &cpu_text(1.25);
        let mut exported: BTreeMap<String, Vec<Labels>> = BTreeMap::new();
        let mut helped = String::new();
        let mut typed = ("", "");
        for line in all.lines() {
            match line.split(' ').collect::<Vec<_>>()[..] {
                ["#", "HELP", name, _, ..] => {
                    assert!(!exported.contains_key(name), "{name} is told twice");
                    helped = name.to_owned();
                }
                ["#", "TYPE", name, kind] => {
                    assert_eq!(helped, name, "it is told before it is typed");
                    assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
                    assert!(matches!(kind, "counter" | "gauge" | "summary"), "{line}");
                    let twice = exported.insert(name.to_owned(), Vec::new());
                    assert_eq!(twice, None, "{name} is typed twice");
                    typed = (name, kind);
                }
                [sample, value] => {
                    let (name, rest) = sample.split_at(sample.find('{').unwrap_or(sample.len()));
                    assert_eq!(name, typed.0, "it stands with the others of its metric");
                    let has_quantile = labels(rest).contains_key("quantile");
                    assert_eq!(has_quantile, typed.1 == "summary", "{line}");
                    assert!(value.parse::<f64>().is_ok(), "{line}");
                    let samples = exported.get_mut(name).unwrap();
                    assert!(!samples.contains(&labels(rest)), "{line} is there twice");
                    samples.push(labels(rest));
                }
                _ => panic!("{line}"),
            }
        }
        exported
    }

    #[test]
    fn the_format_is_kept() {
        let exported = exported();
        assert_eq!(exported.len(), 10);
        assert!(exported.values().all(|samples| !samples.is_empty()));
        assert!(cpu_text(1.25).ends_with("mydyno_cpu_seconds_total 1.25\n"));
        assert_eq!(escaped("a\"b\\c\nd"), "a\\\"b\\\\c\\nd");
    }

    /// Is this label given by Prometheus, or one that a sample of the metric has?
    fn has(samples: &[Labels], label: &str) -> bool {
        label == "instance" || samples.iter().any(|sample| sample.contains_key(label))
    }

    /// The one metric that an expression names, where its selector, its `by (...)` and the legend
    /// name labels that the metric has, with values that it has.
    #[track_caller]
    fn checked(expression: &str, legend: &str) -> String {
        let exported = exported();
        let start = expression.find("mydyno_").unwrap();
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let (name, rest) = expression[start..].split_at(
            expression[start..].find(|c: char| !is_name(c)).unwrap_or(expression.len() - start),
        );
        assert!(!rest.contains("mydyno_"), "one metric: {expression}");
        let samples = exported.get(name).unwrap_or_else(|| panic!("{name} is not exported"));
        let selector = rest.strip_prefix('{').unwrap().split('}').next().unwrap();
        let mut literals = Labels::new();
        for matcher in selector.split(',') {
            match matcher.split_once("=~") {
                // A variable of the dashboard.
                Some((label, value)) => {
                    assert!(has(samples, label), "{label} in {expression}");
                    assert_eq!(value, format!("\"${label}\""), "{expression}");
                }
                None => {
                    let (label, value) = matcher.split_once('=').unwrap();
                    literals.insert(label.to_owned(), value.trim_matches('"').to_owned());
                }
            }
        }
        let fits = |sample: &&Labels| literals.iter().all(|(k, v)| sample.get(k) == Some(v));
        assert!(samples.iter().any(|sample| fits(&sample)), "no sample of {expression}");
        let by = expression.split_once("by (").map(|(_, rest)| rest.split(')').next().unwrap());
        let by: Option<Vec<&str>> = by.map(|by| by.split(',').map(str::trim).collect());
        for label in by.iter().flatten() {
            assert!(has(samples, label), "by {label} in {expression}");
        }
        for part in legend.split("{{").skip(1) {
            let label = part.split("}}").next().unwrap();
            let is_left = by.as_ref().is_none_or(|by| by.contains(&label));
            assert!(has(samples, label) && is_left, "{label} in {legend:?} of {expression}");
        }
        // Several runs may be shown at one time.
        assert!(selector.contains("instance=~"), "{expression}");
        assert!(legend.contains("{{instance}}"), "{legend:?} of {expression}");
        name.to_owned()
    }

    #[test]
    fn the_dashboard_for_grafana_shows_what_is_exported() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contrib/grafana-mydyno.json");
        let dashboard: Value =
            serde_json::from_str(&std::fs::read_to_string(file).unwrap()).unwrap();
        for key in ["uid", "title"] {
            assert!(dashboard[key].as_str().is_some_and(|text| !text.is_empty()), "{key}");
        }
        assert_eq!(dashboard["schemaVersion"], 39);
        let variables = dashboard["templating"]["list"].as_array().unwrap();
        let is_source = |variable: &&Value| {
            variable["type"] == "datasource" && variable["query"] == "prometheus"
        };
        let source = variables.iter().find(is_source).expect("a variable for the data source");
        let uid = format!("${{{}}}", source["name"].as_str().unwrap());
        let mut shown = BTreeSet::new();
        let mut ids = BTreeSet::new();
        for panel in dashboard["panels"].as_array().unwrap() {
            let title = panel["title"].as_str().unwrap();
            assert!(ids.insert(panel["id"].as_u64().unwrap()), "{title}: its id is not its own");
            assert_eq!(panel["datasource"]["uid"], uid, "{title}");
            for key in ["x", "y", "w", "h"] {
                assert!(panel["gridPos"][key].is_u64(), "{title}: {key}");
            }
            let targets = panel["targets"].as_array().unwrap();
            assert!(!targets.is_empty(), "{title}");
            for target in targets {
                assert!(target["refId"].is_string(), "{title}");
                let expression = target["expr"].as_str().unwrap();
                let legend = target["legendFormat"].as_str().unwrap();
                shown.insert(checked(expression, legend));
                // Else a rate is taken over the data source's interval, which is longer than a
                // short run.
                let is_rate = expression.contains("rate(");
                assert_eq!(target["interval"] == "1s", is_rate, "{title}");
            }
        }
        assert_eq!(shown, exported().into_keys().collect());
    }
}
