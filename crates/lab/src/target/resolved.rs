//! The server of a cell, whoever started it: looked up once, then started or reached.

use crate::error::{LabResult, unfit};
use crate::progress::Job;
use crate::target::changed::restore_what_is_left;
use crate::target::private::ResolvedPrivate;
use crate::target::subject::Subject;
use base::Dilation;
use server::{Home, Image, ImageKey, Target, TargetRequest, dsn_of_each_host};
use spec::{External, Server, Topology};
use store::StoredLoad;

/// The server of a cell, as this machine has it.
#[derive(Clone, Copy)]
pub(crate) enum Resolved<'a> {
    Private(&'a ResolvedPrivate),
    External(&'a External),
}

impl Resolved<'_> {
    /// Sees to the databases, which may have to be populated; then there are records of that.
    /// Returns the images of those of a private server, too.
    ///
    /// # Errors
    /// As [`ResolvedPrivate::images`].
    pub(crate) fn images(
        self,
        coming: &[ImageKey],
        job: &Job<'_>,
    ) -> LabResult<(Vec<Image>, Vec<StoredLoad>)> {
        match self {
            Resolved::Private(private) => private.images(coming, job),
            Resolved::External(_) => Ok(Default::default()),
        }
    }

    /// Starts the server on clones of its images with a clock that is dilated, or finds it where it
    /// is.
    ///
    /// # Errors
    /// As [`ResolvedPrivate::start`] and [`external`].
    pub(crate) fn start(
        self,
        images: &[Image],
        dilation: Dilation,
        job: &Job<'_>,
    ) -> LabResult<Subject> {
        match self {
            Resolved::Private(private) => {
                let build = &private.build;
                job.step(&format!("starting {} {} on a clone", build.engine, build.version));
                private.start(images, dilation, job)
            }
            Resolved::External(server) => external(server, job),
        }
    }
}

/// Looks up a server, and starts it or finds it where it is.
///
/// # Errors
/// As those of the two steps.
pub fn start_server(server: &Server, job: &Job<'_>) -> LabResult<Subject> {
    match server {
        Server::Private(private) => {
            let private = ResolvedPrivate::of(&Home::from_env()?, private, 0)?;
            let (images, _) = private.images(&[], job)?;
            Resolved::Private(&private).start(&images, Dilation::NONE, job)
        }
        Server::External(server) => external(server, job),
    }
}

/// A server that is there, by its DSN or the user's option files.
///
/// # Errors
/// Where these name none, or one that cannot be understood.
pub fn external(server: &External, job: &Job<'_>) -> LabResult<Subject> {
    let each = server.dsns.iter().flat_map(|dsn| dsn_of_each_host(dsn));
    let mut dsns: Vec<Option<String>> = each.map(Some).collect();
    if dsns.is_empty() {
        dsns.push(None);
    }
    require_topology(dsns.len(), server.topology)?;
    let home = Home::existing();
    let mut servers: Vec<Subject> = Vec::new();
    for dsn in &dsns {
        let request = TargetRequest::from_env(dsn.as_deref(), server.defaults_file.as_deref());
        let target = Target::resolve(&request)?;
        job.notes(&target.notes);
        let subject = Subject::of_target(home.as_ref(), &target)?;
        if servers.iter().any(|other| other.connect.address == subject.connect.address) {
            return Err(unfit(format!("{} is named twice; name each server once", subject.dsn())));
        }
        restore_what_is_left(&subject, job)?;
        servers.push(subject);
    }
    let first = servers.remove(0);
    Ok(Subject { others: servers, topology: server.topology, schemas: server.schemas, ..first })
}

/// Several servers say how they belong together, and one has nothing to belong to.
fn require_topology(servers: usize, topology: Topology) -> LabResult<()> {
    let why = match (servers, topology) {
        (1, Topology::Apart) => return Ok(()),
        (1, _) => format!(
            "topology {} is of several servers, and one is named; name the hosts of all: \
             mysql://user@a:3306,b:3306/tpcc",
            topology.name()
        ),
        (_, Topology::Apart) => {
            let names = Topology::NAMED.map(Topology::name).join(", ");
            format!(
                "{servers} servers are named; say how they belong together by topology: {names}"
            )
        }
        _ => return Ok(()),
    };
    Err(unfit(why))
}
