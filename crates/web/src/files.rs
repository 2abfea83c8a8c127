//! The results files that are served. A request names one of them as the list has it, and nothing
//! else is ever opened.

use std::path::{Path, PathBuf};

/// Files, and directories whose `.db` files are served.
#[derive(Debug)]
pub struct ResultsFiles(pub Vec<PathBuf>);

impl ResultsFiles {
    /// Those that are there now, by name.
    pub fn all(&self) -> Vec<PathBuf> {
        let mut all = Vec::new();
        let is_results_file = |path: &PathBuf| path.extension().is_some_and(|of| of == "db");
        for source in &self.0 {
            if source.is_dir() {
                all.extend(files_in(source).into_iter().filter(is_results_file));
            } else {
                all.push(source.clone());
            }
        }
        all
    }

    /// The file of this name.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        self.all().into_iter().find(|path| path.to_str() == Some(name))
    }

    /// Where new files go: the first directory, or that of the first file.
    pub fn directory(&self) -> PathBuf {
        let first = self.0.first().map_or(Path::new("."), PathBuf::as_path);
        let directory = if first.is_dir() { Some(first) } else { first.parent() };
        directory.filter(|path| !path.as_os_str().is_empty()).unwrap_or(Path::new(".")).to_owned()
    }
}

/// The files of a directory, by name. A link would lead out of it.
pub fn files_in(directory: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let files = entries.filter(|of| of.file_type().is_ok_and(|kind| kind.is_file()));
    let mut files: Vec<PathBuf> = files.map(|of| of.path()).collect();
    files.sort();
    files
}

/// A plain name of a file with this ending: no directories, no hidden files.
pub fn is_plain_name(name: &str, ending: &str) -> bool {
    let stem = name.strip_suffix(ending).unwrap_or_default();
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    !stem.is_empty()
        && stem.len() <= 100
        && stem.bytes().all(is_plain)
        && !stem.starts_with(['.', '-'])
}

#[cfg(test)]
mod tests {
    use super::{ResultsFiles, is_plain_name};

    #[test]
    fn only_what_is_listed_is_found() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name);
        for name in ["a.db", "b.db", "c.txt"] {
            std::fs::write(path(name), "").unwrap();
        }
        std::os::unix::fs::symlink("c.txt", path("link.db")).unwrap();
        let files = ResultsFiles(vec![scratch.path().to_owned()]);
        assert_eq!(files.all(), [path("a.db"), path("b.db")]);
        assert_eq!(files.find(path("b.db").to_str().unwrap()), Some(path("b.db")));
        for other in ["b.db", "/etc/passwd", ""] {
            assert_eq!(files.find(other), None, "{other}");
        }
        assert_eq!(files.find(&format!("{}/../b.db", scratch.path().display())), None);
        assert_eq!(files.find(path("c.txt").to_str().unwrap()), None);
        assert_eq!(files.directory(), scratch.path());
        assert_eq!(ResultsFiles(vec!["mydyno.db".into()]).directory().to_str(), Some("."));
    }

    #[test]
    fn names_that_lead_elsewhere_are_not_plain() {
        assert!(is_plain_name("my-plan_2.toml", ".toml"));
        for name in
            ["../x.toml", "a/b.toml", ".toml", ".x.toml", "-o.toml", "x.db", "x\0.toml", "é.toml"]
        {
            assert!(!is_plain_name(name, ".toml"), "{name}");
        }
    }
}
