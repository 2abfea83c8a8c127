use super::redact_plan;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::TestRunner;

const SECRET: &str = "geheim";

#[test]
fn only_secrets_change() {
    for (given, kept) in [
        ("dsn = 'mysql://root:geheim@db/tpcc'", "dsn = \"mysql://root:***@db/tpcc\""),
        (
            "dsn = [\"mysql://u@a/x\", \"mysql://u:ge heim@b/x\"] # two",
            "dsn = [\"mysql://u@a/x\", \"mysql://u:***@b/x\"] # two",
        ),
        ("power_command = 'ipmitool -P geheim'\nx = 1", "power_command = \"ipmitool ***\"\nx = 1"),
        ("power_command = '/opt/watts'", "power_command = '/opt/watts'"),
        (
            "meters = { power_command = \"\"\"\nipmitool\n -P geheim\"\"\" }\n",
            "meters = { power_command = \"ipmitool ***\" }\n",
        ),
        ("\"power_command\" = [\"x geheim\"]", "\"power_command\" = [\"x ***\"]"),
        ("server.set.'x_password' = 12 # n", "server.set.'x_password' = \"***\" # n"),
        (
            "[server]\nset = { wsrep_sst_auth = 'a:geheim', b = '#1' }",
            "[server]\nset = { wsrep_sst_auth = \"***\", b = '#1' }",
        ),
        (
            "host_metrics = \"http://u:geheim@h:9100/m\"\n# plain\nx = '''\n# 'no' comment'''",
            "host_metrics = \"http://u:***@h:9100/m\"\n# plain\nx = '''\n# 'no' comment'''",
        ),
        (
            "# a\n\n# power_command = '''\n#  geheim\n# '''\nx = 1 # b",
            "# ***\n\n# ***\n# ***\n# ***\nx = 1 # b",
        ),
        ("# dsn = 'mysql://u:ge heim@h'\n", "# ***\n"),
        ("x = 'no plan", "x = 'no plan"),
        ("x = 'mysql://u:geheim@h", "***"),
        ("power_command = 'a geheim", "***"),
    ] {
        assert_eq!(redact_plan(given), kept);
        assert_eq!(redact_plan(kept), kept, "again");
    }
}

/// A text as TOML may write it, in any of its four forms that has room for it.
fn written(text: &str, form: u8) -> String {
    let escaped: String = text.chars().map(|c| format!("\\U{:08X}", c as u32)).collect();
    let is_literal = text.chars().all(|c| c != '\'' && (c == '\t' || !c.is_control()));
    match form % 5 {
        0 if is_literal => format!("'{text}'"),
        1 if is_literal => format!("'''\n{text}'''"),
        2 => format!("\"\"\"\\\n   {escaped}\"\"\""),
        _ => format!("\"{escaped}\""),
    }
}

/// A plan with the secret in the place that `place` says, written as `form` says, among noise.
fn plan_with(secret: &str, (place, form): (u8, u8), noise: &str) -> String {
    let quoted = |text: &str| written(text, form);
    let url = |scheme: &str| quoted(&format!("{scheme}://u:{secret}@h:1/x"));
    let command = quoted(&format!("ipmitool -P {secret} x"));
    let key = if form & 8 == 0 { "power_command" } else { "\"power\\u005Fcommand\"" };
    let line = match place % 10 {
        0 => format!("dsn = {}", url("mysql")),
        1 => format!("dsn = [ # list\n {}, {},\n]", url("mysql"), quoted("mysql://u@h/x")),
        2 => format!("{key} = {command}"),
        3 => format!("meters = {{ a = 1, {key} = {command} }}"),
        4 => format!("meters.host_metrics = {}", url("http")),
        5 => format!("set = {{ x-password = {} }}", quoted(secret)),
        6 => format!("[[a]]\n[a.b.\"c#d\"]\nx_password = [{}]", quoted(secret)),
        7 => format!("x = 1 # power_command = {}", secret.replace(char::is_control, " ")),
        8 => format!("# password = '''\n# {}\n# '''", secret.replace(char::is_control, " ")),
        _ => format!("[x]\n{key} = {{ a = [{command}] }}"),
    };
    let name = written(noise, form / 16);
    format!("name = {name}\n# as ever\n\n{line}\nlast = '#'\n")
}

/// Runs `cases` plans with a secret, and as many that are torn.
fn tried(cases: u32) {
    let config = ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() };
    let mut runner = TestRunner::new(config);
    let near = || "[ -~\u{e9}\u{2028}]{0,6}";
    let plans = (near(), near(), ".{0,12}", any::<(u8, u8)>());
    let ran = runner.run(&plans, |(before, after, noise, place)| {
        let plan = plan_with(&format!("{before}{SECRET}{after}"), place, &noise);
        let kept = redact_plan(&plan);
        prop_assert!(!kept.contains(SECRET), "{plan}\n---\n{kept}");
        prop_assert_eq!(&redact_plan(&kept), &kept);
        Ok(())
    });
    ran.unwrap();
    let torn = (any::<(u8, u8)>(), any::<Index>(), "[\"'#\\[\\]{}=\n\\\\é]{0,3}");
    let ran = runner.run(&torn, |(place, at, by)| {
        let mut plan = plan_with(SECRET, place, "x");
        let places: Vec<usize> = plan.char_indices().map(|(at, _)| at).collect();
        plan.insert_str(places[at.index(places.len())], &by);
        let kept = redact_plan(&plan);
        prop_assert_eq!(&redact_plan(&kept), &kept);
        Ok(())
    });
    ran.unwrap();
}

#[test]
fn a_secret_never_stays() {
    tried(2_000);
}

#[test]
#[ignore = "make soak"]
fn a_secret_never_stays_in_a_million_plans() {
    tried(1_000_000);
}
