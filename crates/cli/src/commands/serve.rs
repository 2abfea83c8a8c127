//! `mydyno serve`.

use crate::arguments::serve::ServeArguments;
use crate::console::{stop_flag, tell};
use crate::failure::{Failure, Outcome};
use base::Exit;
use std::path::Path;
use web::{Gatekeeper, ServeOptions, ServeTls, ServeToken, serve};

/// Serves until Ctrl-C.
pub fn run(arguments: &ServeArguments) -> Outcome {
    let stop = stop_flag();
    if let Some(source) = arguments.sources.iter().find(|source| !source.exists()) {
        let words = format!("there is no {}; name results files or directories", source.display());
        return Err(Failure::new(Exit::Usage, words));
    }
    if arguments.plans.exists() && !arguments.plans.is_dir() {
        let words =
            format!("{} is no directory; name that of the plans", arguments.plans.display());
        return Err(Failure::new(Exit::Usage, words));
    }
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
        is_encrypted: tls.is_some(),
        public: arguments.origin.clone(),
        is_token_required: arguments.require_token,
    };
    let options = ServeOptions {
        access,
        tls: tls.map(|(certificate, key)| ServeTls { certificate, key }),
        sources: arguments.sources.clone(),
        plans: arguments.plans.clone(),
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
    let refused = |words: String| Failure::new(Exit::Usage, words);
    let text = storage::read_regular(file, TOKEN_FILE_BYTES_MAX, storage::SymbolicLinks::Followed)
        .map_err(|error| {
            refused(format!(
                "cannot read the token of {}: {error}; name another file",
                file.display()
            ))
        })?;
    ServeToken::of(&text).ok_or_else(|| {
        refused(format!("the token of {} has fewer than 16 characters", file.display()))
    })
}
