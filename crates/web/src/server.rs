//! The listener: how many may come, and how long they may take.

use crate::access::Gatekeeper;
use crate::app::App;
use crate::feeds::Feeds;
use crate::files::ResultsFiles;
use crate::labs::Glances;
use crate::program::Program;
use crate::routes::router;
use crate::runs::StartedLabs;
use crate::tls::ServeTls;
use axum::Router;
use base::Exit;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio_rustls::TlsAcceptor;

/// How long a client may take to say what it wants, and to agree on keys.
const HEAD_PATIENCE: Duration = Duration::from_secs(5);
/// Clients at one time; others wait until one has gone.
const CLIENTS_MAX: usize = 512;
/// Threads that read files; what asks for more waits, so that their memory is bounded.
const READERS_MAX: usize = 16;
/// Plans that are looked at, at one time.
const DRAFTS_MAX: usize = 2;
/// How often Ctrl-C is looked for.
const STOP_PAUSE: Duration = Duration::from_millis(100);
/// Where no connection can be accepted, as when there are no files left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// What is served, and where.
#[derive(Debug)]
pub struct ServeOptions {
    /// Where to listen, and who is let in; it is encrypted where there is `tls`.
    pub access: Gatekeeper,
    pub tls: Option<ServeTls>,
    /// Results files, and directories of them.
    pub sources: Vec<PathBuf>,
    /// Where plans are read, and written.
    pub plans: PathBuf,
    /// The binary that pages ask, and that measures.
    pub program: PathBuf,
}

/// Why nothing is served.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error(
        "cannot listen on {address}: {cause}; choose another port or an address of this machine \
         (--listen), or end what listens there"
    )]
    Listen { address: SocketAddr, cause: io::Error },
    #[error(
        "{file} cannot be used for TLS: {why}; name the certificate in PEM by --tls-cert, and its \
         key by --tls-key"
    )]
    Tls { file: PathBuf, why: String },
    #[error("cannot start the server's threads: {0}; the machine has no room for them")]
    Threads(io::Error),
}

impl ServeError {
    pub fn exit(&self) -> Exit {
        match self {
            ServeError::Listen { .. } | ServeError::Tls { .. } => Exit::Usage,
            ServeError::Threads(_) => Exit::Environment,
        }
    }
}

/// Serves until `stop`; `ready` is told the address.
///
/// # Errors
/// The address cannot be had.
pub fn serve(
    options: ServeOptions,
    stop: &AtomicBool,
    ready: impl FnOnce(SocketAddr),
) -> Result<(), ServeError> {
    let tls = options.tls.as_ref().map(ServeTls::acceptor).transpose()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(READERS_MAX)
        .build()
        .map_err(ServeError::Threads)?;
    let served = runtime.block_on(async {
        let asked = options.access.listen;
        let refused = |cause| ServeError::Listen { address: asked, cause };
        let listener = TcpListener::bind(asked).await.map_err(refused)?;
        let listen = listener.local_addr().map_err(refused)?;
        ready(listen);
        let access = Gatekeeper { listen, is_encrypted: tls.is_some(), ..options.access };
        let app = App {
            files: ResultsFiles(options.sources),
            plans: options.plans,
            program: Program::at(options.program),
            drafts: Arc::new(Semaphore::new(DRAFTS_MAX)),
            feeds: Feeds::default(),
            runs: StartedLabs::default(),
            glances: Glances::default(),
        };
        let router = router(Arc::new(app), Arc::new(access));
        tokio::select! {
            () = accept(&listener, &router, tls.as_ref()) => {}
            () = stopped(stop) => {}
        }
        Ok(())
    });
    // Pages that are still being made are no reason to wait.
    runtime.shutdown_background();
    served
}

async fn stopped(stop: &AtomicBool) {
    while !stop.load(Ordering::Relaxed) {
        tokio::time::sleep(STOP_PAUSE).await;
    }
}

async fn accept(listener: &TcpListener, router: &Router, tls: Option<&TlsAcceptor>) {
    let clients = Arc::new(Semaphore::new(CLIENTS_MAX));
    loop {
        let Ok(client) = Arc::clone(&clients).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            tokio::time::sleep(ACCEPT_PAUSE).await;
            continue;
        };
        let (router, tls) = (router.clone(), tls.cloned());
        tokio::spawn(async move {
            let _client = client;
            match tls {
                None => answer(stream, router).await,
                Some(tls) => {
                    let agreed = tokio::time::timeout(HEAD_PATIENCE, tls.accept(stream)).await;
                    if let Ok(Ok(stream)) = agreed {
                        answer(stream, router).await;
                    }
                }
            }
        });
    }
}

/// A client that goes away or takes too long gets nothing more.
async fn answer(stream: impl AsyncRead + AsyncWrite + Unpin + 'static, router: Router) {
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(HEAD_PATIENCE);
    let served = http.serve_connection(TokioIo::new(stream), TowerToHyperService::new(router));
    // What a client did wrong is nobody else's concern.
    let _ = served.await;
}
