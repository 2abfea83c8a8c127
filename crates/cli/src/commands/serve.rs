//! `mydyno serve`.

use crate::console::{stop_flag, tell};
use crate::failure::{Failure, Outcome};
use base::Exit;
use clap::Args;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use web::{Gatekeeper, PublicOrigin, ServeOptions, ServeTls, ServeToken, serve};

#[derive(Args)]
pub struct ServeArguments {
    /// Results files, and directories whose .db files are served
    #[arg(value_name = "FILE", default_value = ".")]
    pub sources: Vec<PathBuf>,
    /// Address and port; port 0 takes a free one
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:8640")]
    pub listen: SocketAddr,
    /// File with the token, 16 characters at least [default: a new one, which is printed]
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Origin of the pages as browsers elsewhere see them, behind a proxy: https://NAME. All
    /// requests need the token then
    #[arg(long, value_name = "ORIGIN")]
    pub origin: Option<PublicOrigin>,
    /// Ask for the token whatever is asked for, also on this machine
    #[arg(long)]
    pub require_token: bool,
    /// Certificate in PEM with those that lead to its authority, for TLS [default: no encryption]
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Directory of plans, which are read there and saved there
    #[arg(long, value_name = "DIRECTORY", default_value = "plans")]
    pub plans: PathBuf,
}

/// Serves until Ctrl-C.
pub fn run(arguments: &ServeArguments) -> Outcome {
    let stop = stop_flag();
    if let Some(source) = arguments.sources.iter().find(|source| !source.exists()) {
        let words = format!("there is no {}; name results files or directories", source.display());
        return Err(Failure::usage(words));
    }
    let plans = &arguments.plans;
    Failure::usage_if(
        plans.exists() && !plans.is_dir(),
        format_args!("{} is no directory; name that of the plans", plans.display()),
    )?;
    let environment = |what: &str, error: std::io::Error| {
        Failure::new(Exit::Environment, format!("{what}: {error}"))
    };
    let program = std::env::current_exe().map_err(|e| environment("cannot find mydyno", e))?;
    let token = match &arguments.token_file {
        Some(file) => token_of(file)?,
        None => ServeToken::random().map_err(|error| environment("cannot make a token", error))?,
    };
    let told = token.clone();
    let tls = arguments.tls_cert.clone().zip(arguments.tls_key.clone());
    let scheme = if tls.is_some() { "https" } else { "http" };
    let access = Gatekeeper {
        listen: arguments.listen,
        token,
        // The server knows once it has its certificate.
        is_encrypted: false,
        public: arguments.origin.clone(),
        is_token_required: arguments.require_token,
    };
    let options = ServeOptions {
        access,
        tls: tls.map(|(certificate, key)| ServeTls { certificate, key }),
        sources: arguments.sources.clone(),
        plans: plans.clone(),
        program,
    };
    let is_new = arguments.token_file.is_none();
    let served = serve(options, &stop, |address| {
        tell(format_args!("mydyno: {scheme}://{address}/ until Ctrl-C"));
        if is_new {
            tell(format_args!("token, the password of these pages: {}", told.as_str()));
        }
    });
    served.map(|()| Exit::Ok).map_err(|error| Failure::new(error.exit(), error.to_string()))
}

/// A token is a line.
const TOKEN_FILE_BYTES_MAX: u64 = 4 << 10;

fn token_of(file: &Path) -> Result<ServeToken, Failure> {
    let name = file.display();
    let text = storage::read_regular(file, TOKEN_FILE_BYTES_MAX, storage::SymbolicLinks::Followed)
        .map_err(|error| {
            Failure::usage(format!("cannot read the token of {name}: {error}; name another file"))
        })?;
    let short = || Failure::usage(format!("the token of {name} has fewer than 16 characters"));
    ServeToken::of(&text).ok_or_else(short)
}
