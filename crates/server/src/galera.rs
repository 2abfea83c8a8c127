//! Nodes of a Galera cluster on this machine's loopback interface.
//!
//! The nodes are clones of one image, which has a place in the history of a cluster: its InnoDB
//! knows the last write set that it has, and its `grastate.dat` says the same. So a node that joins
//! asks for what came after that (an incremental state transfer, IST), never for the whole data.
//! Galera runs a script beside each transfer, on both sides. Ours says where the joining node
//! stands, and refuses to be a donor of everything: a node that is too far behind ends with an
//! error, and gigabytes are never copied by accident.

use crate::builds::ServerBuild;
use crate::catalogue;
use crate::error::io_at;
use crate::install::interpreter;
use crate::install::suite::loader_in;
use crate::process::free_ports;
use crate::release_facts::GALERA_4;
use crate::settings::Layout;
use crate::{ServerError, ServerResult, home};
use itertools::Itertools;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

/// Where the library lies below a server's base directory: Debian, and Red Hat.
const PROVIDERS: [&str; 2] = ["lib/galera/libgalera_smm.so", "lib64/galera-4/libgalera_smm.so"];
/// The name of the transfer in `wsrep_sst_method`; the script is `wsrep_sst_` and this.
const METHOD: &str = "mydyno";
/// Write sets that a node keeps for those that come back. A New-Order's take some 10 KB, so this is
/// more than a minute of 40,000 of them.
const CACHE_SIZE: &str = "512M";
/// A history that begins: any name will do, as each cluster is alone.
const HISTORY: &str = "6d796479-6e6f-4000-8000-000000000001";
const PROVIDER_OPTIONS: &str = "wsrep_provider_options";
/// How its log names the place that a server found in its data.
const RECOVERED: &str = "WSREP: Recovered position: ";
const RECEIVING: &str = "WSREP: Receiving IST: ";
const NEW_CLUSTER: &str = "--wsrep-new-cluster";

/// Variables that make a server a node of its cluster. The rest of Galera's are the user's to set.
const OWN: [&str; 13] = [
    "binlog_format",
    "innodb_autoinc_lock_mode",
    "server_id",
    "wsrep_cluster_address",
    "wsrep_cluster_name",
    "wsrep_data_home_dir",
    "wsrep_node_address",
    "wsrep_node_name",
    "wsrep_on",
    "wsrep_provider",
    "wsrep_sst_method",
    "wsrep_sst_receive_address",
    "wsrep_start_position",
];

/// A node of a cluster that is to be started.
#[derive(Clone, Debug)]
pub struct GaleraNode {
    provider: PathBuf,
    /// `gcomm://` with the address of every node.
    cluster_address: String,
    /// From 1. The first begins the cluster.
    number: u32,
    /// Ports beside that of its clients.
    group_port: u16,
    transfer_port: u16,
}

/// Where a node's files are, and what they have to do with its build.
#[derive(Clone, Copy)]
pub(crate) struct NodePlace<'a> {
    pub(crate) build: &'a ServerBuild,
    pub(crate) layout: &'a Layout,
    /// Files of the server's own directory that its environment names.
    pub(crate) files: &'a [(String, Vec<u8>)],
}

/// A place in the history of a cluster: the history's name, and the number of a write set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct GaleraPosition(String);

/// Galera's library of this build.
///
/// # Errors
/// [`ServerError::NoCluster`] says what is missing, and what to do.
pub fn require_provider(build: &ServerBuild) -> ServerResult<PathBuf> {
    let refuse = |why: String| ServerError::NoCluster { engine: build.engine.clone(), why };
    if !build.release.family.is_mariadb() {
        return Err(refuse("Galera is part of MariaDB; take mariadb-10.11".to_owned()));
    }
    if !build.release.has(GALERA_4) {
        return Err(refuse(format!(
            "Galera 4 came with MariaDB 10.4, and this is {}; take mariadb-10.11",
            build.version
        )));
    }
    below(&build.basedir).ok_or_else(|| {
        let todo = match catalogue::engine(&build.engine) {
            Ok(engine) if engine.has_galera() => {
                format!("run `mydyno server install {}`", engine.name)
            }
            Ok(_) | Err(_) => "take mariadb-10.11".to_owned(),
        };
        refuse(format!(
            "Galera's library, libgalera_smm.so, does not lie below {}; {todo}, or install the \
             package galera-4 where the server is the machine's own",
            build.basedir.display()
        ))
    })
}

/// Galera's library below a base directory.
pub(crate) fn below(base: &Path) -> Option<PathBuf> {
    PROVIDERS.iter().map(|place| base.join(place)).find(|library| library.is_file())
}

/// Refuses variables of the user's that would take a node out of its cluster.
///
/// # Errors
/// [`ServerError::Setting`].
pub fn refuse_own_settings(set: &[(String, String)]) -> ServerResult<()> {
    let own = set.iter().find(|(name, _)| OWN.contains(&base::variable_name(name).as_str()));
    own.map_or(Ok(()), |(name, _)| {
        let why = "mydyno sets it for the nodes of a Galera cluster; leave it out".to_owned();
        Err(ServerError::Setting { name: name.clone(), why })
    })
}

/// How many write sets the node has received as it joined, where its log says so.
pub fn received_write_sets(log: &str) -> Option<u64> {
    let said = log.lines().rev().find_map(|line| line.split_once(RECEIVING))?.1;
    said.split(' ').next()?.parse().ok()
}

impl GaleraNode {
    /// So many nodes of this build, whose ports are free this moment, the one that begins their
    /// cluster first.
    ///
    /// # Errors
    /// [`ServerError::NoCluster`] where the build has no Galera; [`ServerError::Io`].
    pub fn cluster(build: &ServerBuild, nodes: u32) -> ServerResult<Vec<GaleraNode>> {
        let provider = require_provider(build)?;
        let ports = free_ports(2 * nodes as usize)?;
        let (group, transfer) = ports.split_at(nodes as usize);
        let addresses = group.iter().map(|port| format!("127.0.0.1:{port}")).join(",");
        let node = |(number, (&group_port, &transfer_port))| GaleraNode {
            provider: provider.clone(),
            cluster_address: format!("gcomm://{addresses}"),
            number,
            group_port,
            transfer_port,
        };
        Ok((1..).zip(group.iter().zip(transfer)).map(node).collect())
    }

    /// Its variables, in the order of a my.cnf; `set` are those of the user.
    pub(crate) fn lines(&self, layout: &Layout, set: &[(String, String)]) -> Vec<(String, String)> {
        let GaleraNode { number, group_port, transfer_port, .. } = self;
        // The last of two counts.
        let users = base::given_in(set, PROVIDER_OPTIONS).map(|users| format!("{users};"));
        let size = format!("gcache.size={CACHE_SIZE};");
        let options = format!(
            "{size}{}gmcast.listen_addr=tcp://127.0.0.1:{group_port};\
             ist.recv_addr=127.0.0.1:{transfer_port};gcache.dir={}",
            users.unwrap_or_default(),
            layout.directory.display()
        );
        [
            ("server_id", number.to_string()),
            ("binlog_format", "ROW".to_owned()),
            ("innodb_autoinc_lock_mode", "2".to_owned()),
            ("wsrep_on", "ON".to_owned()),
            ("wsrep_provider", self.provider.display().to_string()),
            ("wsrep_cluster_name", "mydyno".to_owned()),
            ("wsrep_cluster_address", self.cluster_address.clone()),
            ("wsrep_node_name", format!("node{number}")),
            ("wsrep_node_address", "127.0.0.1".to_owned()),
            ("wsrep_sst_method", METHOD.to_owned()),
            // Nothing listens there: what is transferred is too little to need it.
            ("wsrep_sst_receive_address", format!("127.0.0.1:{transfer_port}")),
            (PROVIDER_OPTIONS, options),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .to_vec()
    }

    /// Makes it ready for its first start on a clone; gives the arguments of that start.
    pub(crate) fn prepare_clone(&self, place: NodePlace<'_>) -> ServerResult<Vec<String>> {
        let state = place.layout.data.join("grastate.dat");
        let text = fs::read_to_string(&state).map_err(io_at("read", &state))?;
        let position = GaleraPosition::of_state(&text).ok_or_else(|| {
            let why = "this says no place in the history of a cluster; remove the image that it \
                       came from (`mydyno server images`)";
            ServerError::data(state, why)
        })?;
        write_script(place, &position)?;
        Ok((self.number == 1).then(|| NEW_CLUSTER.to_owned()).into_iter().collect())
    }

    /// Makes it ready to begin a cluster on data that have been in none.
    pub(crate) fn prepare_history(&self, place: NodePlace<'_>) -> ServerResult<Vec<String>> {
        let position = GaleraPosition(format!("{HISTORY}:0"));
        write_state(place.layout, &position, 1)?;
        write_script(place, &position)?;
        Ok(vec![NEW_CLUSTER.to_owned()])
    }

    /// Makes it ready to come back after it ended anyhow, with what its log says of its data.
    pub(crate) fn prepare_return(
        &self,
        place: NodePlace<'_>,
        log: &str,
    ) -> ServerResult<Vec<String>> {
        let found = log.lines().rev().find_map(|line| line.split_once(RECOVERED));
        let position = found.and_then(|(_, position)| GaleraPosition::parse(position.trim()));
        let position = position.ok_or_else(|| {
            let why = "its log does not say which write set is the last in its data";
            ServerError::data(place.layout.log(), why)
        })?;
        write_state(place.layout, &position, 0)?;
        write_script(place, &position)?;
        // The membership that it remembers: the others wait for that member to be forgotten, and
        // take a new one at once.
        home::remove_file_if_there(&place.layout.data.join("gvwstate.dat"))?;
        Ok(vec![format!("--wsrep-start-position={}", position.0)])
    }
}

impl GaleraPosition {
    /// `<history>:<number>`, where it is a place at all.
    fn parse(text: &str) -> Option<GaleraPosition> {
        let (history, number) = text.split_once(':')?;
        let is_history = history.len() == HISTORY.len()
            && history.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
            && history.chars().any(|c| !"0-".contains(c));
        (is_history && number.parse::<u64>().is_ok()).then(|| GaleraPosition(text.to_owned()))
    }

    /// What a `grastate.dat` says.
    fn of_state(text: &str) -> Option<GaleraPosition> {
        let value =
            |name: &str| text.lines().find_map(|line| Some(line.strip_prefix(name)?.trim()));
        GaleraPosition::parse(&format!("{}:{}", value("uuid:")?, value("seqno:")?))
    }
}

/// The number is given to the server by its argument; the file says that it is not known, as after
/// a crash, unless the node is to begin a cluster.
fn write_state(layout: &Layout, position: &GaleraPosition, begins: u8) -> ServerResult<()> {
    let (history, number) = position.0.split_once(':').unwrap_or((&position.0, "-1"));
    let number = if begins == 1 { number } else { "-1" };
    let text = format!(
        "# GALERA saved state\nversion: 2.1\nuuid:    {history}\nseqno:   {number}\n\
         safe_to_bootstrap: {begins}\n"
    );
    home::write_private(&layout.data.join("grastate.dat"), text)
}

/// Writes the script that Galera runs beside a transfer, with the environment of the server and in
/// its data directory. A donor of MariaDB 11 writes a login for the script to its standard input,
/// and fails where nobody reads it.
fn write_script(place: NodePlace<'_>, position: &GaleraPosition) -> ServerResult<()> {
    let NodePlace { build, layout, files } = place;
    for (name, _) in files {
        let link = layout.data.join(name);
        home::remove_file_if_there(&link)?;
        symlink(layout.directory.join(name), &link).map_err(io_at("make the link", &link))?;
    }
    let shell = shell_for(build, layout)?;
    let text = format!(
        "#!{}\n\
         # Nothing is transferred here: nodes are clones, and get what they lack by IST.\n\
         role= gtid= bypass=\n\
         while [ $# -gt 0 ]; do\n\
         \x20 case $1 in\n\
         \x20   --role) role=$2; shift ;;\n\
         \x20   --gtid) gtid=$2; shift ;;\n\
         \x20   --bypass) bypass=yes ;;\n\
         \x20 esac\n\
         \x20 shift\n\
         done\n\
         case $role$bypass in\n\
         \x20 joiner) echo 'ready 127.0.0.1:1'; echo '{}' ;;\n\
         \x20 donoryes) while read -r login; do :; done; echo \"done $gtid\" ;;\n\
         \x20 *) echo 'mydyno: the node lacks more than its donor has kept, and whole data are not \
         copied' >&2; exit 1 ;;\n\
         esac\n",
        shell.display(),
        position.0
    );
    let path = layout.directory.join(format!("wsrep_sst_{METHOD}"));
    home::write_private(&path, text)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))
        .map_err(io_at("make executable", &path))
}

/// A shell that runs with the libraries of the server. Where the server came with a C library of
/// its own, that is a copy of the machine's which asks for its loader, as the server does; it comes
/// before the machine's on the server's PATH.
fn shell_for(build: &ServerBuild, layout: &Layout) -> ServerResult<PathBuf> {
    let machines = PathBuf::from("/bin/sh");
    let Some(loader) = build.library_path.as_deref().map(loader_in).transpose()?.flatten() else {
        return Ok(machines);
    };
    let shell = layout.directory.join("sh");
    if !shell.exists() {
        fs::copy(&machines, &shell).map_err(io_at("copy /bin/sh to", &shell))?;
        interpreter::set(&shell, &loader)?;
    }
    Ok(shell)
}

#[cfg(test)]
mod tests {
    use super::{GaleraPosition, received_write_sets};

    #[test]
    fn places_are_read_from_states_and_logs() {
        let place = "6d796479-6e6f-4000-8000-000000000001:17";
        assert_eq!(GaleraPosition::parse(place), Some(GaleraPosition(place.to_owned())));
        let state = "# GALERA saved state\nversion: 2.1\nuuid:    \
             6d796479-6e6f-4000-8000-000000000001\nseqno:   17\nsafe_to_bootstrap: 1\n";
        assert_eq!(GaleraPosition::of_state(state), GaleraPosition::parse(place));
        // As Galera leaves it while it runs, and what a server says that was in no cluster.
        assert_eq!(GaleraPosition::of_state(&state.replace("17", "-1")), None);
        assert_eq!(GaleraPosition::parse("00000000-0000-0000-0000-000000000000:-1"), None);
        assert_eq!(GaleraPosition::parse("00000000-0000-0000-0000-000000000000:0"), None);
        assert_eq!(GaleraPosition::of_state(""), None);
    }

    #[test]
    fn write_sets_are_counted_by_the_last_join() {
        let log = "2026 2 [Note] WSREP: Receiving IST: 3 writesets, seqnos 4-6\n\
                   2026 2 [Note] WSREP: Receiving IST: 1204 writesets, seqnos 7-1210\n\
                   2026 0 [Note] WSREP: Receiving IST... 100.0% (1204/1204 events) complete.\n";
        assert_eq!(received_write_sets(log), Some(1204));
        assert_eq!(received_write_sets("ready for connections\n"), None);
    }
}
