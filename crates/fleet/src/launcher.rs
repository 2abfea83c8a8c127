//! Which rank this process is, of how many, and where rank 0 is: what Slurm, MPI's launchers or an
//! Indexed Job of Kubernetes say in the environment, or what the command line says instead.

use crate::auth::Token;
use crate::error::{FleetError, FleetResult};
use crate::messages::Agreement;
use std::time::Duration;

/// Where rank 0 listens unless it is said otherwise.
const PORT: u16 = 17_171;
/// Most ranks of a fleet: each is a thread and a connection of rank 0.
const RANKS_MAX: u32 = 1024;

/// The place of a process in its fleet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FleetPlace {
    /// From 0, which leads.
    pub rank: u32,
    pub size: u32,
    /// Where rank 0 is, for the others: `host:port`.
    pub leader: String,
    /// Its name may resolve only when it is there: that of a pod.
    pub names_come_late: bool,
}

/// What a rank is to meet the others with.
#[derive(Debug)]
pub struct RankOptions<'a> {
    pub place: &'a FleetPlace,
    pub token: &'a Token,
    pub agreement: &'a Agreement,
    /// How long to wait for the others, or to look for the leader.
    pub wait: Duration,
}

/// What the command line says of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Launched {
    pub rank: Option<u32>,
    pub size: Option<u32>,
    /// `host:port`, or a host.
    pub join: Option<String>,
}

/// A launcher's variables.
struct Launcher {
    name: &'static str,
    rank: &'static str,
    size: &'static str,
}

/// Those of MPI first: started inside an allocation of Slurm, their processes have variables of
/// Slurm, too, which are those of the launcher itself.
const LAUNCHERS: [Launcher; 5] = [
    Launcher { name: "Open MPI", rank: "OMPI_COMM_WORLD_RANK", size: "OMPI_COMM_WORLD_SIZE" },
    Launcher { name: "MPICH", rank: "PMI_RANK", size: "PMI_SIZE" },
    Launcher { name: "Slurm", rank: "SLURM_PROCID", size: "SLURM_NTASKS" },
    Launcher { name: "PMIx", rank: "PMIX_RANK", size: "PMIX_SIZE" },
    Launcher { name: "Kubernetes", rank: "JOB_COMPLETION_INDEX", size: "MYDYNO_FLEET_SIZE" },
];

impl FleetPlace {
    /// By what the command line says, and for the rest by the variables that `get` finds.
    ///
    /// # Errors
    /// Where rank or size are not known, contradict themselves, or nobody says where rank 0 is.
    pub fn find(said: &Launched, get: &dyn Fn(&str) -> Option<String>) -> FleetResult<FleetPlace> {
        let usage = |words: String| FleetError::Usage(words);
        let has_rank = |launcher: &&Launcher| get(launcher.rank).is_some();
        let has_both = |launcher: &&Launcher| has_rank(launcher) && get(launcher.size).is_some();
        let whole = LAUNCHERS.iter().find(has_both);
        let launcher = whole.or_else(|| LAUNCHERS.iter().find(has_rank));
        let number = |name: &str| -> FleetResult<Option<u32>> {
            let no_number = |text| format!("{name} is {text:?}, which is no number of ranks");
            let parsed = |text: String| text.trim().parse().map_err(|_| usage(no_number(text)));
            get(name).map(parsed).transpose()
        };
        let of_launcher = |name: fn(&Launcher) -> &'static str| {
            launcher.map_or(Ok(None), |launcher| number(name(launcher)))
        };
        let rank = said.rank.map_or_else(|| of_launcher(|it| it.rank), |rank| Ok(Some(rank)))?;
        let size = said.size.map_or_else(|| of_launcher(|it| it.size), |size| Ok(Some(size)))?;
        let (Some(rank), Some(size)) = (rank, size) else {
            let missing = if rank.is_none() { "rank" } else { "size" };
            let hint = match launcher {
                Some(launcher) => format!("{} does not say it in {}", launcher.name, launcher.size),
                None => "no launcher is known by its variables (Slurm, Open MPI, PMIx, MPICH, an \
                         Indexed Job)"
                    .to_owned(),
            };
            return Err(usage(format!(
                "the fleet's {missing} is not known: {hint}; add --{missing}"
            )));
        };
        if !(2..=RANKS_MAX).contains(&size) || rank >= size {
            return Err(usage(format!(
                "rank {rank} of {size}: a fleet has 2 to {RANKS_MAX} ranks, which count from 0"
            )));
        }
        let names_come_late = get("JOB_COMPLETION_INDEX").is_some();
        Ok(FleetPlace { rank, size, leader: leader(said, get)?, names_come_late })
    }
}

fn leader(said: &Launched, get: &dyn Fn(&str) -> Option<String>) -> FleetResult<String> {
    if let Some(join) = &said.join {
        return with_port(join);
    }
    if let Some(nodes) = get("SLURM_STEP_NODELIST").or_else(|| get("SLURM_JOB_NODELIST"))
        && let Some(host) = first_node(&nodes)
    {
        // Jobs that share a node do not meet.
        let job = get("SLURM_JOB_ID").and_then(|id| id.parse::<u32>().ok()).unwrap_or(0);
        return Ok(format!("{host}:{}", PORT + (job % 10_000) as u16));
    }
    let all_local = get("OMPI_COMM_WORLD_LOCAL_SIZE")
        .is_some_and(|local| get("OMPI_COMM_WORLD_SIZE") == Some(local));
    if all_local {
        return Ok(format!("127.0.0.1:{PORT}"));
    }
    Err(FleetError::Usage(
        "where rank 0 listens is not known: the launcher names no nodes; add --join HOST:PORT, the \
         same for all ranks"
            .to_owned(),
    ))
}

fn with_port(join: &str) -> FleetResult<String> {
    let is_v6_alone = join.matches(':').count() > 1 && !join.contains(']');
    match join.rsplit_once(':') {
        _ if is_v6_alone => Ok(format!("[{join}]:{PORT}")),
        Some((host, number)) if !host.is_empty() && number.parse::<u16>().is_ok() => {
            Ok(join.to_owned())
        }
        None if !join.is_empty() => Ok(format!("{join}:{PORT}")),
        _ => Err(FleetError::Usage(format!("--join {join:?} is no HOST:PORT"))),
    }
}

/// The first host of a list as Slurm writes it: `node[07-09,12],login`.
fn first_node(list: &str) -> Option<String> {
    let end = list.find([',', '[']).unwrap_or(list.len());
    let name = &list[..end];
    let Some(range) = list[end..].strip_prefix('[') else {
        return (!name.is_empty()).then(|| name.to_owned());
    };
    let number = &range[..range.find([',', '-', ']'])?];
    let rest = &range[range.find(']')? + 1..];
    let suffix = &rest[..rest.find(',').unwrap_or(rest.len())];
    Some(format!("{name}{number}{suffix}"))
}

#[cfg(test)]
mod tests {
    use super::{FleetPlace, Launched, first_node, with_port};

    fn found(said: &Launched, variables: &[(&str, &str)]) -> Result<FleetPlace, String> {
        let get = |name: &str| {
            let found = variables.iter().find(|(of, _)| *of == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        FleetPlace::find(said, &get).map_err(|error| error.to_string())
    }

    fn place(rank: u32, size: u32, leader: &str) -> Result<FleetPlace, String> {
        let leader = leader.to_owned();
        Ok(FleetPlace { rank, size, leader, names_come_late: false })
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        let join = Launched { join: Some("db1".to_owned()), ..Launched::default() };
        let slurm = [
            ("SLURM_PROCID", "2"),
            ("SLURM_NTASKS", "4"),
            ("SLURM_STEP_NODELIST", "n[07-09]"),
            ("SLURM_JOB_ID", "10007"),
        ];
        assert_eq!(found(&Launched::default(), &slurm), place(2, 4, "n07:17178"));
        assert_eq!(found(&join, &slurm), place(2, 4, "db1:17171"));
        let mpi = [
            ("SLURM_PROCID", "0"),
            ("SLURM_NTASKS", "1"),
            ("OMPI_COMM_WORLD_RANK", "0"),
            ("OMPI_COMM_WORLD_SIZE", "3"),
            ("OMPI_COMM_WORLD_LOCAL_SIZE", "3"),
        ];
        assert_eq!(found(&Launched::default(), &mpi), place(0, 3, "127.0.0.1:17171"));
        assert_eq!(found(&join, &[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), place(1, 2, "db1:17171"));
        let job = [("JOB_COMPLETION_INDEX", "1"), ("MYDYNO_FLEET_SIZE", "2")];
        let pod = place(1, 2, "db1:17171").map(|of| FleetPlace { names_come_late: true, ..of });
        assert_eq!(found(&join, &job), pod);
        let said = Launched { rank: Some(1), size: Some(2), join: Some("[::1]:7000".to_owned()) };
        assert_eq!(found(&said, &slurm), place(1, 2, "[::1]:7000"));
    }

    #[test]
    fn what_is_missing_or_wrong_is_named() {
        let told =
            |said: &Launched, variables: &[(&str, &str)]| found(said, variables).unwrap_err();
        let none = Launched::default();
        assert!(told(&none, &[]).contains("add --rank"));
        assert!(told(&none, &[("JOB_COMPLETION_INDEX", "1")]).contains("MYDYNO_FLEET_SIZE"));
        assert!(told(&none, &[("PMI_RANK", "x"), ("PMI_SIZE", "2")]).contains("PMI_RANK is \"x\""));
        assert!(told(&none, &[("PMI_RANK", "1"), ("PMI_SIZE", "2")]).contains("add --join"));
        assert!(told(&none, &[("PMI_RANK", "2"), ("PMI_SIZE", "2")]).contains("rank 2 of 2"));
        assert!(told(&none, &[("PMI_RANK", "0"), ("PMI_SIZE", "1")]).contains("2 to 1024 ranks"));
    }

    #[test]
    fn hosts_as_people_and_slurm_write_them() {
        for (list, first) in [
            ("n1", "n1"),
            ("n1,n2", "n1"),
            ("node[07-09,12],login", "node07"),
            ("rack[3,5]-a,x", "rack3-a"),
        ] {
            assert_eq!(first_node(list).as_deref(), Some(first), "{list}");
        }
        assert_eq!(first_node(""), None);
        assert_eq!(first_node("n[1"), None);
        for (join, address) in
            [("h", "h:17171"), ("h:7", "h:7"), ("::1", "[::1]:17171"), ("[::1]:7", "[::1]:7")]
        {
            assert_eq!(with_port(join).unwrap(), address);
        }
        for wrong in ["", ":7", "h:x"] {
            assert!(with_port(wrong).is_err(), "{wrong}");
        }
    }
}
