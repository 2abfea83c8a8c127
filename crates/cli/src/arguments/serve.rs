//! The command line of `mydyno serve`.

use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

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
    /// Directory of plans, which are read there and saved there
    #[arg(long, value_name = "DIRECTORY", default_value = "plans")]
    pub plans: PathBuf,
}
