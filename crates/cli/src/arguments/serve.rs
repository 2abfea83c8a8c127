//! The command line of `mydyno serve`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;
use web::PublicOrigin;

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
