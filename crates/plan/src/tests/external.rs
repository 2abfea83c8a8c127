//! Plans of servers that are there already.

use crate::PlannedCell;
use crate::tests::{cells, wrong};
use base::Warehouses;
use spec::{External, Private, Server};

const PLAN: &str = "\
[lab]
name = 'x'

[server]
dsn = ['mysql://me@a/tpcc', 'mysql://me@b/tpcc']

[load]
connections = [8, 16]
";

impl PlannedCell {
    /// The servers of a cell that has private ones.
    pub(crate) fn private(&self) -> &Private {
        self.what.server.private().unwrap()
    }
}

#[test]
fn servers_that_are_there_are_a_dimension() {
    let all = cells(PLAN).unwrap();
    assert_eq!(all.len(), 4);
    assert_eq!(all[0].label(), "dsn=mysql://me@a/tpcc connections=8");
    let named = |dsn: &str| External { dsns: vec![dsn.to_owned()], ..External::default() };
    assert_eq!(all[2].what.server, Server::External(named("mysql://me@b/tpcc")));
    // All of the database, where nothing else is said.
    assert_eq!(all[0].what.load.warehouses, None);
    let more = "schemas = [2, 4]\ndefaults_file = '/etc/my.cnf'\n\n[load]\nwarehouses = 5";
    let all = cells(&PLAN.replace("\n[load]", more)).unwrap();
    assert_eq!(all.len(), 8);
    let server = External {
        defaults_file: Some("/etc/my.cnf".into()),
        schemas: Some(2),
        ..named("mysql://me@a/tpcc")
    };
    assert_eq!(all[0].what.server, Server::External(server));
    assert_eq!(all[0].what.load.warehouses, Some(Warehouses(5)));
    let from_file =
        PLAN.replace("dsn = ['mysql://me@a/tpcc', 'mysql://me@b/tpcc']", "defaults_file = 'x'");
    assert_eq!(cells(&from_file).unwrap().len(), 2);
}

#[test]
fn what_such_a_server_cannot_be_given_is_refused_with_its_place() {
    for (load, at, word) in [
        ("engine = 'mysql-5.7'\n[load]", "engine", "leave one of them out"),
        ("instances = 2\n[load]", "instances", "mydyno starts"),
        ("cores = 2\n[load]", "cores", "mydyno starts"),
        ("[storage]\ndata = '/tmp'\n[load]", "data", "`dsn` names one"),
        ("[load]\nforeign_keys = false", "foreign_keys", "mydyno starts"),
        ("[load]\npopulation_seed = 2", "population_seed", "mydyno starts"),
        ("schemas = [0]\n[load]", "0", "from 1 to"),
    ] {
        let (error, rest) = wrong(&PLAN.replace("[load]", load));
        assert!(rest.starts_with(at), "{load}: {error} at {rest:?}");
        assert!(error.why.contains(word), "{error}");
    }
    let server = "dsn = ['mysql://me@a/tpcc', 'mysql://me@b/tpcc']";
    for (instead, at, word) in [
        ("", "server]", "names no server"),
        ("engine = 'mysql-5.7'\nschemas = 2", "schemas", "one schema"),
        ("dsn = 'postgres://a/b'", "'postgres", "mysql://"),
        ("dsn = 'mysql://me:hush@a/b'", "'mysql", "MYDYNO_PASSWORD"),
    ] {
        let (error, rest) = wrong(&PLAN.replace(server, instead));
        assert!(rest.starts_with(at), "{instead}: {error} at {rest:?}");
        assert!(error.why.contains(word), "{error}");
        assert!(!error.to_string().contains("hush"), "{error}");
    }
    let terminals = PLAN.replace("[load]", "schemas = 2\n[load]\nworkload = 'tpcc-spec'");
    let (error, rest) = wrong(&terminals);
    assert!(rest.starts_with('2') && error.why.contains("share their connections"), "{error}");
}

#[test]
fn terminals_bring_their_connections() {
    let plan = PLAN.replace("connections = [8, 16]", "workload = 'tpcc-spec'\nwarehouses = 3");
    let all = cells(&plan).unwrap();
    assert_eq!(all.len(), 2);
    assert_eq!((all[0].what.load.connections.first(), all[0].connections_most), (None, 30));
    let mixed = plan.replace("'tpcc-spec'", "['tpcc', 'tpcc-spec']");
    assert!(wrong(&mixed).0.why.contains("lacks `connections`"));
}
