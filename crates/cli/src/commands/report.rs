//! `mydyno report`.

use super::lab_or_last;
use crate::arguments::ResultsArguments;
use crate::console::print;
use crate::failure::{Failure, Outcome};
use base::Exit;
use clap::Args;
use std::fs::{Metadata, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use store::{LabId, Results};

#[derive(Args)]
pub struct ReportArguments {
    /// Number of the lab [default: the last one]
    pub lab: Option<i64>,
    /// Write one chart instead, as SVG or, where FILE ends in .png, as PNG:
    /// throughput-by-connections and others, which a wrong name lists
    #[arg(long, value_name = "NAME", requires = "output")]
    pub figure: Option<String>,
    /// HTML page [default: report.html]; of --figure the chart
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub results: ResultsArguments,
}

/// Runs the command.
pub fn run(arguments: &ReportArguments) -> Outcome {
    let results = Results::open(&arguments.results.results)?;
    let lab = lab_or_last(&results, arguments.lab)?;
    let output = arguments.output.as_deref().unwrap_or(Path::new("report.html"));
    match &arguments.figure {
        Some(name) => write_figure(output, &report::figure(&results, lab, name)?)?,
        None => write_report(&results, lab, output)?,
    }
    print(format_args!("{}\n", output.display()))
}

/// Writes a chart, as PNG where the file's name ends in that.
fn write_figure(output: &Path, svg: &str) -> Result<(), Failure> {
    let is_png = output.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("png"));
    if is_png { write_file(output, &report::raster(svg)?) } else { write_file(output, svg) }
}

/// Writes the report of a lab to a file.
pub fn write_report(results: &Results, lab: LabId, output: &Path) -> Result<(), Failure> {
    write_file(output, &report::render(results, lab)?)
}

/// Writes a file, and leaves what was there as it was where that fails.
pub fn write_file(output: &Path, content: &(impl AsRef<[u8]> + ?Sized)) -> Result<(), Failure> {
    replace(output, content.as_ref()).map_err(|error| {
        Failure::new(
            Exit::Environment,
            format!("cannot write {}: {error}; name another place with -o", output.display()),
        )
    })
}

fn replace(output: &Path, content: &[u8]) -> io::Result<()> {
    let output = std::fs::canonicalize(output).or_else(|_| std::path::absolute(output))?;
    let there = output.metadata().ok();
    let permissions = there.as_ref().map_or(Permissions::from_mode(0o666), Metadata::permissions);
    let aside = output.parent().filter(|_| there.is_none_or(|there| there.is_file()));
    let aside = aside
        .map(|directory| tempfile::Builder::new().permissions(permissions).tempfile_in(directory));
    // What is no file, such as /dev/stdout, or lies where nothing new may be, is written in place.
    let Some(Ok(mut aside)) = aside else { return std::fs::write(output, content) };
    aside.write_all(content)?;
    aside.persist(output)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::write_file;
    use std::fs::{Permissions, metadata, read_dir, read_to_string, set_permissions, write};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::path::Path;

    #[test]
    fn a_file_is_written_as_a_whole() {
        let temp = tempfile::tempdir().unwrap();
        let at = |name: &str| temp.path().join(name);
        write(at("old"), "old").unwrap();
        set_permissions(at("old"), Permissions::from_mode(0o640)).unwrap();
        symlink(at("old"), at("link")).unwrap();
        assert!(write_file(&at("link"), "new").is_ok());
        assert_eq!(read_to_string(at("old")).unwrap(), "new");
        assert_eq!(metadata(at("old")).unwrap().permissions().mode() & 0o777, 0o640);
        assert!(at("link").is_symlink());
        assert!(write_file(&at("another"), "text").is_ok());
        write(at("plain"), "").unwrap();
        let mode = |name: &str| metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode("another"), mode("plain"));
        assert!(write_file(Path::new("/dev/null"), "text").is_ok());
        assert!(write_file(&at("none/here"), "text").is_err());
        assert!(write_file(temp.path(), "text").is_err());
        // Nothing is left aside.
        assert_eq!(read_dir(temp.path()).unwrap().count(), 4);
    }
}
