//! Nothing that was changed goes back to what it was without a word: a commit that is made from an
//! old tree undoes what others did meanwhile, and neither a diff nor a test need show it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// Commits from before this rule. The first undid a mend, which was put back later; in the others
/// a file is as it once was by accident, or on purpose.
const KNOWN: [&str; 5] = [
    "324285d3b042851aa8024805748e8d0e8b178b16",
    "a8a4bfb9b60b1eb1a391e7bcebc3ec3447450f07",
    "7e1fd3a4551665e0798fe1326dfdb6c353c2a7b9",
    "312d1b09cd2ccb2b3bb60150ef92eef2f60e1bff",
    "395115fb9bbd9c71f71454bf7fb5a8c24c1a82f2",
];

/// What git says, and with what it is asked.
fn git(directory: &Path, arguments: &[&str], input: &str) -> String {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(directory).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    std::thread::scope(|scope| {
        // Beside the reading: neither side may wait for a full pipe.
        scope.spawn(move || stdin.write_all(input.as_bytes()).unwrap());
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "git {arguments:?} failed");
        String::from_utf8(output.stdout).unwrap()
    })
}

/// The commits that `HEAD` rests on, as far as they are here.
struct History {
    /// A commit and its parents, the newest first.
    commits: Vec<(String, Vec<String>)>,
    /// Files that its commit says it restores.
    restored: HashMap<String, BTreeSet<String>>,
}

/// A file as a commit has it and its parent has not; the parent of a first commit has no name.
struct Change<'a> {
    commit: &'a str,
    parent: &'a str,
    path: String,
    blob: String,
}

impl History {
    fn of(directory: &Path) -> History {
        let format = "--format=%x01%H %P%n%(trailers:key=Restores,valueonly)";
        let text = git(directory, &["log", format], "");
        let mut history = History { commits: Vec::new(), restored: HashMap::new() };
        for entry in text.split('\x01').skip(1) {
            let mut lines = entry.lines();
            let mut ids = lines.next().unwrap().split_whitespace().map(str::to_owned);
            let commit = ids.next().unwrap();
            let restored = lines.map(str::trim).filter(|line| !line.is_empty());
            history.restored.insert(commit.clone(), restored.map(str::to_owned).collect());
            history.commits.push((commit, ids.collect()));
        }
        history
    }

    /// Each commit against each of its parents, so that a merge which takes one side for what the
    /// other had changed is seen too.
    fn changes(&self, directory: &Path) -> Vec<Change<'_>> {
        let pairs: Vec<(&str, &str)> = self
            .commits
            .iter()
            .flat_map(|(commit, parents)| {
                let first = parents.is_empty().then_some("");
                let parents = parents.iter().map(String::as_str).chain(first);
                parents.map(move |parent| (commit.as_str(), parent))
            })
            .collect();
        let input: String =
            pairs.iter().map(|(commit, parent)| format!("{commit} {parent}\n")).collect();
        let asked =
            ["diff-tree", "--stdin", "--root", "-r", "--always", "--no-abbrev", "--no-renames"];
        let text = git(directory, &asked, &input);
        let mut heads = pairs.into_iter();
        let mut at = None;
        let mut changes = Vec::new();
        for line in text.lines() {
            let Some((what, path)) = line.strip_prefix(':').and_then(|line| line.split_once('\t'))
            else {
                at = heads.next();
                assert_eq!(at.map(|(commit, _)| commit), Some(line));
                continue;
            };
            let (commit, parent) = at.unwrap();
            let [_, _, old, new, _] = *what.split(' ').collect::<Vec<_>>() else {
                panic!("{line}");
            };
            // A file that is gone, or that has another mode only, is not as it once was.
            if old != new && new.bytes().any(|byte| byte != b'0') {
                changes.push(Change {
                    commit,
                    parent,
                    path: path.to_owned(),
                    blob: new.to_owned(),
                });
            }
        }
        assert!(heads.next().is_none(), "git compared less than it was asked to");
        changes
    }

    /// The commit and those that it rests on.
    fn until<'a>(&'a self, commit: &'a str) -> HashSet<&'a str> {
        let parents: HashMap<&str, &Vec<String>> =
            self.commits.iter().map(|(commit, parents)| (commit.as_str(), parents)).collect();
        let mut seen = HashSet::new();
        let mut open = vec![commit];
        while let Some(commit) = open.pop() {
            if seen.insert(commit) {
                open.extend(
                    parents.get(commit).into_iter().flat_map(|of| of.iter()).map(|id| &**id),
                );
            }
        }
        seen
    }

    /// Files that a commit made equal to what they were before its parent, and does not name.
    fn undone(&self, directory: &Path) -> Vec<String> {
        let changes = self.changes(directory);
        let mut made: HashMap<(&str, &str), Vec<&str>> = HashMap::new();
        for Change { commit, path, blob, .. } in &changes {
            made.entry((path, blob)).or_default().push(commit);
        }
        let mut before = HashMap::new();
        let mut undone = Vec::new();
        for Change { commit, parent, path, blob } in &changes {
            let earlier = &made[&(path.as_str(), blob.as_str())];
            if earlier.len() < 2 || self.restored[*commit].contains(path) {
                continue;
            }
            let before = before.entry(parent).or_insert_with(|| self.until(parent));
            if earlier.iter().any(|earlier| before.contains(earlier)) {
                undone.push(format!("{commit}: {path}"));
            }
        }
        undone
    }
}

fn is_shallow(directory: &Path) -> bool {
    git(directory, &["rev-parse", "--is-shallow-repository"], "").trim() == "true"
}

#[test]
fn no_commit_undoes_another_without_a_word() {
    let root = super::root();
    let history = History::of(&root);
    if is_shallow(&root) {
        let commits = history.commits.len();
        let note = format!(
            "this clone is shallow: of its history only {commits} commits were looked at \
             (git fetch --unshallow)\n"
        );
        // Past the test harness, which shows what is printed of failing tests only.
        std::io::stderr().write_all(note.as_bytes()).unwrap();
    }
    let (known, undone): (Vec<String>, Vec<String>) =
        history.undone(&root).into_iter().partition(|of| KNOWN.iter().any(|id| of.starts_with(id)));
    if history.commits.iter().any(|(commit, _)| commit == KNOWN[0]) {
        let lost = format!("{}: crates/clock/src/read_hooks.rs", KNOWN[0]);
        assert!(known.contains(&lost), "{known:#?}");
    }
    assert!(
        undone.is_empty(),
        "these commits make a file what it was before a later commit changed it: {undone:#?}\nput \
         the change back, or end the commit's message with a line `Restores: PATH` for each"
    );
}

/// A repository of its own, without the machine's settings.
struct Planted(tempfile::TempDir);

impl Planted {
    fn new() -> Planted {
        let planted = Planted(tempfile::tempdir().unwrap());
        planted.git(&["init", "--quiet", "--initial-branch=main"]);
        planted
    }

    fn git(&self, arguments: &[&str]) {
        let who = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"];
        git(self.0.path(), &[&who, arguments].concat(), "");
    }

    fn commit(&self, text: &str, message: &str) {
        std::fs::write(self.0.path().join("clock.rs"), text).unwrap();
        self.git(&["add", "clock.rs"]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
    }

    fn undone(&self) -> usize {
        History::of(self.0.path()).undone(self.0.path()).len()
    }
}

#[test]
fn what_an_old_tree_undoes_is_seen() {
    let planted = Planted::new();
    planted.commit("one", "begin");
    planted.commit("one, mended", "mend");
    planted.commit("one, mended, and more", "go on");
    assert_eq!(planted.undone(), 0);
    planted.commit("one, mended", "something else");
    assert_eq!(planted.undone(), 1);
    planted.commit("one", "go back to the begin\n\nIt was better.\n\nRestores: clock.rs");
    assert_eq!(planted.undone(), 1);
    // Another file's name does not excuse it.
    planted.commit("one, mended", "mend again\n\nRestores: another.rs");
    assert_eq!(planted.undone(), 2);
}

#[test]
fn what_a_merge_undoes_is_seen() {
    let planted = Planted::new();
    planted.commit("one", "begin");
    planted.git(&["checkout", "--quiet", "-b", "branch"]);
    planted.git(&["commit", "--quiet", "--allow-empty", "--message", "work"]);
    planted.git(&["checkout", "--quiet", "main"]);
    planted.commit("one, mended", "mend");
    planted.git(&["checkout", "--quiet", "-b", "fine", "branch"]);
    planted.git(&["merge", "--quiet", "--no-edit", "main"]);
    assert_eq!(planted.undone(), 0);
    planted.git(&["checkout", "--quiet", "branch"]);
    planted.git(&["merge", "--quiet", "--no-edit", "--strategy=ours", "main"]);
    assert_eq!(planted.undone(), 1);
}

/// What is not there is not judged, and is no error.
#[test]
fn a_shallow_clone_is_judged_as_far_as_it_goes() {
    let planted = Planted::new();
    for text in ["one", "two", "one", "two", "three"] {
        planted.commit(text, text);
    }
    assert_eq!(planted.undone(), 2);
    let clone = |depth: &str| {
        let clone = tempfile::tempdir().unwrap();
        let from = format!("file://{}", planted.0.path().display());
        git(clone.path(), &["clone", "--quiet", "--depth", depth, &from, "."], "");
        clone
    };
    for (depth, undone) in [("1", 0), ("3", 0), ("4", 1)] {
        let clone = clone(depth);
        assert!(is_shallow(clone.path()));
        assert_eq!(History::of(clone.path()).undone(clone.path()).len(), undone, "{depth}");
    }
}
