//! The server of a cell, whoever started it: looked up once, then started or reached.

use crate::error::LabError;
use crate::progress::Job;
use crate::target::changed::restore_what_is_left;
use crate::target::private::ResolvedPrivate;
use crate::target::subject::Subject;
use base::Dilation;
use server::{Home, Image, ImageKey, Target, TargetRequest, dsn_of_each_host};
use spec::{External, Server, Topology};
use store::StoredLoad;

/// The server of a cell, as this machine has it.
#[derive(Clone, Debug)]
pub(crate) enum Resolved {
    Private(Box<ResolvedPrivate>),
    External(External),
}

/// A server that can be started: its database is there.
pub(crate) enum PreparedServer<'a> {
    OnImages(&'a ResolvedPrivate, Vec<Image>),
    External(&'a External),
}

impl Resolved {
    /// Looks up a server that so many connections will drive.
    ///
    /// # Errors
    /// As [`ResolvedPrivate::of`].
    pub(crate) fn of(server: &Server, connections: u32) -> Result<Resolved, LabError> {
        Ok(match server {
            Server::Private(private) => {
                let resolved = ResolvedPrivate::of(&Home::from_env()?, private, connections)?;
                Resolved::Private(Box::new(resolved))
            }
            Server::External(external) => Resolved::External(external.clone()),
        })
    }

    pub(crate) fn private(&self) -> Option<&ResolvedPrivate> {
        match self {
            Resolved::Private(private) => Some(private),
            Resolved::External(_) => None,
        }
    }

    /// Sees to the databases, which may have to be populated; then there are records of that.
    ///
    /// # Errors
    /// As [`ResolvedPrivate::images`].
    pub(crate) fn prepare(
        &self,
        coming: &[ImageKey],
        job: &Job<'_>,
    ) -> Result<(PreparedServer<'_>, Vec<StoredLoad>), LabError> {
        Ok(match self {
            Resolved::Private(private) => {
                let (images, loads) = private.images(coming, job)?;
                (PreparedServer::OnImages(private, images), loads)
            }
            Resolved::External(server) => (PreparedServer::External(server), Vec::new()),
        })
    }
}

impl PreparedServer<'_> {
    /// Starts the server with a clock that is dilated, or finds it where it is.
    ///
    /// # Errors
    /// As [`ResolvedPrivate::start`] and [`external`].
    pub(crate) fn start(&self, dilation: Dilation, job: &Job<'_>) -> Result<Subject, LabError> {
        match self {
            PreparedServer::OnImages(private, images) => {
                let build = &private.build;
                job.step(&format!("starting {} {} on a clone", build.engine, build.version));
                private.start(images, dilation, job)
            }
            PreparedServer::External(server) => external(server, job),
        }
    }
}

/// Looks up a server, and starts it or finds it where it is.
///
/// # Errors
/// As those of the two steps.
pub fn start_server(server: &Server, job: &Job<'_>) -> Result<Subject, LabError> {
    let resolved = Resolved::of(server, 0)?;
    let (prepared, _) = resolved.prepare(&[], job)?;
    prepared.start(Dilation::NONE, job)
}

/// A server that is there, by its DSN or the user's option files.
///
/// # Errors
/// Where these name none, or one that cannot be understood.
pub fn external(server: &External, job: &Job<'_>) -> Result<Subject, LabError> {
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
        for note in &target.notes {
            job.note(note);
        }
        let subject = Subject::of_target(home.as_ref(), &target)?;
        if servers.iter().any(|other| other.connect.address == subject.connect.address) {
            return Err(LabError::Unfit(format!(
                "{} is named twice; name each server once",
                subject.dsn()
            )));
        }
        restore_what_is_left(&subject, job)?;
        servers.push(subject);
    }
    let first = servers.remove(0);
    Ok(Subject { others: servers, topology: server.topology, schemas: server.schemas, ..first })
}

/// Several servers say how they belong together, and one has nothing to belong to.
fn require_topology(servers: usize, topology: Topology) -> Result<(), LabError> {
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
    Err(LabError::Unfit(why))
}
