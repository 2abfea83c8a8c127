//! Strangers who ask `mydyno serve`, each with nothing but curl and a user id of its own: directly,
//! through nginx, and by TLS. They read nothing but what is served, and start nothing.

use crate::served::{Served, TOKEN, serve_with};
use crate::support::{directory, mydyno, until};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// What no answer may have in it.
const SECRET: &str = "a-line-that-nobody-is-told";
/// curl's own limit, far more than any answer takes.
const PATIENCE_S: &str = "120";

/// A served directory with everything in it that must not be reached.
struct Bait {
    work: tempfile::TempDir,
    /// What the stranger's program would make.
    marker: PathBuf,
    program: PathBuf,
}

impl Bait {
    fn laid() -> Bait {
        let work = directory();
        let path = |name: &str| work.path().join(name);
        fs::create_dir(path("plans")).unwrap();
        fs::write(path("secret"), format!("{SECRET}\n")).unwrap();
        fs::write(path("plans/p.toml"), "[lab]\nname = \"p\"\n").unwrap();
        fs::write(path("plans/mine.toml"), format!("name = {SECRET}\n")).unwrap();
        fs::write(path("x.log"), SECRET).unwrap();
        symlink("../secret", path("plans/link.toml")).unwrap();
        symlink("secret", path("link.db")).unwrap();
        drop(store::Results::create_or_open(&path("a.db")).unwrap());
        for fifo in ["fifo", "plans/fifo.toml", "fifo.db"] {
            assert!(Command::new("mkfifo").arg(path(fifo)).status().unwrap().success());
        }
        // Where another user can write and this one would run.
        let program = path("mysqld");
        let marker = path("marker");
        let script = format!("#!/bin/sh\ntouch {}\n", marker.display());
        fs::write(&program, script).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        Bait { work, marker, program }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.work.path().join(name)
    }

    fn serve(&self, more: &[&str]) -> Served {
        serve_with(self.work.path(), "127.0.0.1:0", more)
    }

    /// What there was is there and as it was, and nothing runs that was asked for.
    fn is_untouched(&self, served: &Served) {
        assert!(!self.marker.exists(), "a stranger's program was run");
        let pid = served.running.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children"));
        assert_eq!(children.unwrap(), "", "a stranger started something");
        let mut plans: Vec<_> = fs::read_dir(self.path("plans"))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect();
        plans.sort();
        assert_eq!(plans, ["fifo.toml", "link.toml", "mine.toml", "p.toml"]);
        assert_eq!(fs::read_to_string(self.path("x.log")).unwrap(), SECRET);
        assert!(!self.path("x.db").exists());
        assert!(!served.running.stderr().contains(TOKEN));
    }
}

/// Asks as another user, where this one may become another: the status, and head and body.
fn stranger(arguments: &[&str]) -> (String, String) {
    let mut command = match rustix::process::getuid().is_root() {
        true => {
            let mut command = Command::new("setpriv");
            command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "curl"]);
            command
        }
        false => Command::new("curl"),
    };
    let output = command
        .args(["-s", "-S", "-i", "-k", "--path-as-is", "-m", PATIENCE_S])
        .args(["-w", "\n%{http_code}"])
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let (answer, status) = said.rsplit_once('\n').unwrap_or_default();
    (status.to_owned(), answer.to_owned())
}

/// Arguments of curl, where `{}` is the address, and the statuses that are right where looking is
/// allowed.
type Asked = (Vec<String>, &'static str);

fn asked(line: &[&str], expected: &'static str) -> Asked {
    (line.iter().map(|part| (*part).to_owned()).collect(), expected)
}

/// Requests for what must not be had.
fn hostile(bait: &Bait, origin: &str) -> Vec<Asked> {
    let own = format!("Origin: {origin}");
    let mut all = names_of_others(bait);
    all.extend(paths_and_headers());
    all.extend(forms(&own));
    all.extend(plans(bait, &own));
    all
}

fn names_of_others(bait: &Bait) -> Vec<Asked> {
    let secret = bait.path("secret").display().to_string();
    let names = [
        secret.as_str(),
        "/etc/passwd",
        "/etc/shadow",
        "/dev/zero",
        "/dev/tty",
        "/proc/self/environ",
        "./fifo",
        "./fifo.db",
        "./link.db",
        "link.toml",
        "fifo.toml",
        "../token",
        "..%2f..%2fetc%2fpasswd",
        "p.toml/../../secret",
        "-h",
        "file:a.db",
    ];
    let mut all = Vec::new();
    for (route, key) in [("devices", "name"), ("plan", "name"), ("lab", "file"), ("report", "file")]
    {
        let address = format!("{{}}/{route}");
        let cut = format!("{key}=p.toml%00");
        all.push(asked(&["-G", "--data", &cut, "--data", "lab=1", &address], "400 404"));
        for name in names {
            let data = format!("{key}={name}");
            let line = ["-G", "--data-urlencode", &data, "--data", "lab=1", &address];
            all.push(asked(&line, "400 404"));
        }
    }
    all.push(asked(&["{}/events?file=.%2Flink.db&lab=1"], "404"));
    all
}

fn paths_and_headers() -> Vec<Asked> {
    let mut all = Vec::new();
    for path in [
        "{}/../../etc/passwd",
        "{}/%2e%2e/%2e%2e/etc/passwd",
        "{}/..%2f..%2fetc%2fpasswd",
        "{}//etc/passwd",
        "{}/plans/p.toml",
        "{}/token",
        "{}/secret",
        "{}/a.db",
        "{}/plan/check/../../secret",
        "{}/serve.js/../secret",
    ] {
        all.push(asked(&[path], "400 404"));
    }
    for path in ["{}/servers", "{}/compare?file=.%2Fa.db&a=1&b=1", "{}/compare"] {
        all.push(asked(&[path], "401"));
        all.push(asked(&["-u", "me:0123456789abcdef0124", path], "401"));
    }
    for host in [
        "Host: evil.example",
        "Host: 127.0.0.1@evil.example",
        "Host: 127.0.0.1.nip.io",
        "Host: [::ffff:1]",
        "Host;",
        "Host:",
    ] {
        all.push(asked(&["-H", host, "{}/"], "400 421"));
    }
    for (header, expected) in [
        ("Origin: http://evil.example", "403"),
        ("Origin: null", "403"),
        ("Forwarded: for=x", "401"),
        ("X-Forwarded-For: 127.0.0.1", "401"),
        ("X-Forwarded-Host: x", "401"),
        ("Via: 1.1 x", "401"),
    ] {
        all.push(asked(&["-H", header, "{}/"], expected));
    }
    all.push(asked(&["--http1.0", "{}/"], "401"));
    all
}

fn forms(own: &str) -> Vec<Asked> {
    let start = "name=new.toml&results=x.db&text=x";
    let mut all = Vec::new();
    for (path, form) in [
        ("{}/plan/start", start),
        ("{}/plan/start?token=0123456789abcdef0123", start),
        ("{}/plan/stop", "pid=1"),
        ("{}/devices/verify", "name=sata-850pro"),
    ] {
        all.push(asked(&["-H", own, "--data", form, path], "401"));
        all.push(asked(&["-H", "Origin: http://evil.example", "--data", form, path], "403"));
        all.push(asked(&["-H", "Origin;", "--data", form, path], "403"));
        all.push(asked(&["--data", form, path], "403"));
    }
    let check = "{}/plan/check";
    all.push(asked(&["-H", "Origin: null", "--data", "text=x", check], "403"));
    all.push(asked(&["-H", own, "--data", "texts=x", check], "422"));
    all.push(asked(&["-H", own, "--data", "text=%ff%00%", check], "200 400 422"));
    all.push(asked(&["-H", own, "-H", "Content-Type: text/plain", "--data", "x", check], "415"));
    all.push(asked(&["-X", "PUT", "-H", own, "--data", "text=x", "{}/plan/start"], "401"));
    all
}

/// A plan's text, with these lines beside what it must have.
fn plan_with(engine: &str, storage: &str, load: &str, more: &str) -> String {
    format!(
        "text=[lab]\nname = 'x'\n[server]\n{engine}\n[storage]\n{storage}\n[load]\n\
         connections = 1\n{load}\n{more}\n"
    )
}

const ENGINE: &str = "engine = 'mysql-5.7'";

fn plans(bait: &Bait, own: &str) -> Vec<Asked> {
    let program = bait.program.display();
    let mut texts = vec![
        plan_with(&format!("server_binary = '{program}'"), "", "", ""),
        plan_with(&format!("engine = '{program}'"), "", "", ""),
        plan_with(&format!("engine = ['mysql-5.7', '{program}']"), "", "", ""),
        plan_with(&format!("{ENGINE}\nset = {{ plugin_dir = '{program}' }}"), "", "", ""),
        plan_with(ENGINE, "", "", &format!("[meters]\npower_command = '{program}'")),
    ];
    let secret = bait.path("secret").display().to_string();
    for place in [&secret, "./secret", "mine.toml", "link.toml", "fifo.toml", "/dev/zero", "/tmp"] {
        texts.push(plan_with(ENGINE, &format!("data = '{place}'"), "", ""));
        texts.push(plan_with(ENGINE, &format!("redo = 'sata-850pro@{place}'"), "", ""));
    }
    for workload in ["/etc/x.toml", "../secret.toml", "fifo.toml", "link.toml"] {
        texts.push(plan_with(ENGINE, "", &format!("workload = '{workload}'"), ""));
    }
    let check = "{}/plan/check";
    let line = |text: &String| asked(&["-H", own, "--data-urlencode", text, check], "200");
    texts.iter().map(line).collect()
}

/// Sends all of them. `is_shut` is where looking needs the token too.
fn attacked(bait: &Bait, served: &Served, base: &str, origin: &str, is_shut: bool) {
    let requests = hostile(bait, origin);
    assert!(requests.len() > 60);
    for (line, expected) in &requests {
        let line: Vec<String> = line.iter().map(|part| part.replace("{}", base)).collect();
        let arguments: Vec<&str> = line.iter().map(String::as_str).collect();
        let (status, answer) = stranger(&arguments);
        let is_right = match is_shut {
            true => ["400", "401", "403", "404", "421"].contains(&&*status),
            false => expected.split(' ').any(|one| one == status),
        };
        assert!(is_right, "{line:?}: {status}, not {expected}: {answer}");
        for told in [SECRET, "root:", TOKEN, "MYDYNO_HOME="] {
            assert!(!answer.contains(told), "{line:?}: {answer}");
        }
        if line.iter().any(|part| part.starts_with("text=[lab]")) && !is_shut {
            assert!(answer.contains("class=\"problem\""), "{line:?}: {answer}");
        }
        assert!(!bait.marker.exists(), "{line:?} ran a program");
    }
    bait.is_untouched(served);
}

#[test]
fn on_this_machine_they_may_look_and_nothing_else() {
    let bait = Bait::laid();
    let served = bait.serve(&[]);
    let base = format!("http://{}", served.address);
    let list = stranger(&[&format!("{base}/")]).1;
    assert!(list.contains("./a.db") && !list.contains("link.db") && !list.contains("fifo"));
    let plans = stranger(&[&format!("{base}/plans")]).1;
    assert!(plans.contains("p.toml") && !plans.contains("link.toml") && !plans.contains("fifo"));
    attacked(&bait, &served, &base, &base, false);

    // A plan that names nothing of this machine is told what it would do.
    let text = "text=[lab]\nname = 'x'\n[server]\nengine = 'mysql-5.7'\npreset = 'config-3'\n\
                [storage]\ndata = 'sata-850pro'\n[load]\nconnections = [1, 2]\n";
    let own = format!("Origin: {base}");
    let check = format!("{base}/plan/check");
    let (status, answer) = stranger(&["-H", &own, "--data-urlencode", text, &check]);
    assert!(status == "200" && answer.contains("2 cells, 3 repeats"), "{answer}");
    // A form that takes its time is not waited for.
    let form = format!("text={}", "x".repeat(100_000));
    let slow = ["--limit-rate", "2k", "-H", &own, "-H", "Expect:", "--data", &form, &check];
    assert!(["408", "000"].contains(&&*stranger(&slow).0));
    bait.is_untouched(&served);
}

#[test]
fn where_the_token_is_required_they_may_not_even_look() {
    let bait = Bait::laid();
    let served = bait.serve(&["--require-token"]);
    let base = format!("http://{}", served.address);
    assert_eq!(stranger(&[&base]).0, "401");
    attacked(&bait, &served, &base, &base, true);
    assert_eq!(stranger(&["-u", &format!("me:{TOKEN}"), &base]).0, "200");
}

/// A certificate for this machine, and its key.
fn certificate(work: &Path) {
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt"])
        .args(["ec_paramgen_curve:prime256v1", "-subj", "/CN=bench.example", "-addext"])
        .args(["subjectAltName=DNS:bench.example,IP:127.0.0.1", "-days", "2"])
        .args(["-keyout", "key.pem", "-out", "cert.pem"])
        .current_dir(work)
        .stderr(Stdio::null())
        .status();
    assert!(made.unwrap().success());
}

#[test]
fn by_tls_of_its_own_it_is_the_same() {
    let bait = Bait::laid();
    certificate(bait.work.path());
    let served = bait.serve(&["--tls-cert", "cert.pem", "--tls-key", "key.pem"]);
    let base = format!("https://{}", served.address);
    let said = served.running.stderr();
    assert!(said.contains(&format!("mydyno: {base}/ until Ctrl-C")), "{said}");
    let verified = Command::new("curl")
        .args(["-sf", "--cacert", "cert.pem", &base])
        .current_dir(bait.work.path())
        .output();
    assert!(String::from_utf8_lossy(&verified.unwrap().stdout).contains("./a.db"));
    // Not by plain HTTP, and from no page that came by it.
    assert_eq!(stranger(&[&base.replace("https", "http")]).0, "000");
    let plain = format!("Origin: http://{}", served.address);
    let check = format!("{base}/plan/check");
    assert_eq!(stranger(&["-H", &plain, "--data", "text=x", &check]).0, "403");
    attacked(&bait, &served, &base, &base, false);
    // Who says nothing keeps nobody from being answered.
    let silent: Vec<_> = (0..40).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    assert_eq!(stranger(&[&base]).0, "200");
    drop(silent);

    fs::write(bait.path("other.pem"), "no key").unwrap();
    for (certificate, key, words) in [
        ("other.pem", "key.pem", "other.pem cannot be used for TLS"),
        ("cert.pem", "other.pem", "other.pem cannot be used for TLS"),
        ("nowhere.pem", "key.pem", "nowhere.pem cannot be used for TLS"),
    ] {
        let refused = mydyno(["serve", ".", "--tls-cert", certificate, "--tls-key", key])
            .in_directory(bait.work.path())
            .run()
            .exits(2);
        assert!(refused.stderr.contains(words), "{}", refused.stderr);
    }
}

/// nginx with TLS, which passes requests on.
struct Nginx {
    child: Child,
    base: String,
}

impl Nginx {
    /// `more` is what its configuration has beside `proxy_pass`.
    fn before(work: &Path, port: u16, address: &str, more: &str) -> Nginx {
        certificate(work);
        let configuration = format!(
            "daemon off; master_process off; pid nginx.pid; error_log stderr;\n\
             events {{}}\n\
             http {{ access_log off; client_body_temp_path body; proxy_temp_path proxied;\n\
             fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n\
             server {{ listen 127.0.0.1:{port} ssl; ssl_certificate cert.pem;\n\
             ssl_certificate_key key.pem;\n\
             location / {{ proxy_pass http://{address}; {more} }} }} }}\n"
        );
        fs::write(work.join("nginx.conf"), configuration).unwrap();
        let child = Command::new("/usr/sbin/nginx")
            .args(["-e", "stderr", "-p"])
            .arg(work)
            .args(["-c", "nginx.conf"])
            .stderr(fs::File::create(work.join("nginx.log")).unwrap())
            .spawn()
            .expect("the package nginx-light is there (make packages-test)");
        let nginx = Nginx { child, base: format!("https://bench.example:{port}") };
        until("nginx listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        nginx
    }

    fn ask(&self, arguments: &[&str]) -> (String, String) {
        let port = self.base.rsplit(':').next().unwrap();
        let to = format!("bench.example:{port}:127.0.0.1");
        stranger(&[&["--resolve", to.as_str()][..], arguments].concat())
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

#[test]
fn behind_a_proxy_nobody_is_local() {
    for headers in [
        // As nginx does by itself: HTTP/1.0, and the host that it asks.
        "",
        "proxy_http_version 1.1; proxy_set_header X-Forwarded-For $remote_addr;",
        "proxy_http_version 1.1; proxy_set_header Forwarded \"for=$remote_addr\";",
    ] {
        let bait = Bait::laid();
        let served = bait.serve(&[]);
        let proxy = tempfile::tempdir().unwrap();
        let nginx = Nginx::before(proxy.path(), free_port(), &served.address, headers);
        let (status, answer) = nginx.ask(&[&nginx.base]);
        assert_eq!(status, "401", "{headers}: {answer}");
        // Without a proxy between, looking needs none.
        assert_eq!(stranger(&[&format!("http://{}", served.address)]).0, "200");
    }
}

#[test]
fn behind_a_proxy_with_an_origin_a_browser_can_do_everything() {
    let bait = Bait::laid();
    let port = free_port();
    let origin = format!("https://bench.example:{port}");
    let served = bait.serve(&["--origin", &origin]);
    let proxy = tempfile::tempdir().unwrap();
    let headers = "proxy_http_version 1.1; proxy_set_header Host $http_host;";
    let nginx = Nginx::before(proxy.path(), port, &served.address, headers);
    assert_eq!(nginx.ask(&[&nginx.base]).0, "401");
    let token = format!("me:{TOKEN}");
    assert_eq!(nginx.ask(&["-u", &token, &nginx.base]).0, "200");
    let own = format!("Origin: {origin}");
    let start = format!("{}/plan/start", nginx.base);
    let form = "name=new.toml&results=x.db&text=x";
    for (more, expected) in [
        (&["-H", own.as_str()][..], "401"),
        (&["-u", token.as_str()][..], "403"),
        (&["-u", token.as_str(), "-H", "Origin: https://evil.example"][..], "403"),
        // The plan is wrong, and that is all.
        (&["-u", token.as_str(), "-H", own.as_str()][..], "422"),
    ] {
        let (status, answer) = nginx.ask(&[more, &["--data", form, start.as_str()][..]].concat());
        assert_eq!(status, expected, "{more:?}: {answer}");
    }
    // By an address that the proxy does not pass on, as by it.
    let direct = format!("http://{}", served.address);
    assert_eq!(stranger(&[&direct]).0, "401");
    let address = format!("127.0.0.1:{port}");
    attacked(&bait, &served, &format!("https://{address}"), &origin, true);
}

#[test]
fn with_the_token_too_a_plan_of_a_browser_names_nothing_of_this_machine() {
    let bait = Bait::laid();
    let served = bait.serve(&[]);
    let base = format!("http://{}", served.address);
    let (own, token) = (format!("Origin: {base}"), format!("me:{TOKEN}"));
    let start = format!("{base}/plan/start");
    let program = bait.program.display();
    let plugins = format!("{ENGINE}\nset.plugin_dir = '/tmp'");
    for (key, text) in [
        ("server_binary", plan_with(&format!("server_binary = '{program}'"), "", "", "")),
        ("engine", plan_with(&format!("engine = '{program}'"), "", "", "")),
        ("power_command", plan_with(ENGINE, "", "", "[meters]\npower_command = 'true'")),
        ("/tmp", plan_with(ENGINE, "data = '/tmp'", "", "")),
        ("set.plugin_dir", plan_with(&plugins, "", "", "")),
        ("workload", plan_with(ENGINE, "", "workload = '/etc/x.toml'", "")),
    ] {
        let form = "name=new.toml&results=x.db";
        let asked = ["-u", token.as_str(), "-H", own.as_str(), "--data", form];
        let more = ["--data-urlencode", text.as_str(), start.as_str()];
        let (status, answer) = stranger(&[&asked[..], &more[..]].concat());
        assert_eq!(status, "422", "{key}: {answer}");
        assert!(answer.contains(key) && answer.contains("terminal"), "{key}: {answer}");
    }
    // A plan is kept where a link of that name would lead to, nowhere.
    let form = ["--data", "name=link.toml&results=x.db", "--data-urlencode", "text=[lab]"];
    let asked = ["-u", token.as_str(), "-H", own.as_str(), start.as_str()];
    stranger(&[&asked[..], &form[..]].concat());
    assert!(fs::read_to_string(bait.path("secret")).unwrap().contains(SECRET));
    bait.is_untouched(&served);
}

#[test]
fn a_profile_is_a_regular_file() {
    let bait = Bait::laid();
    for (name, why) in [("./fifo", "it is no regular file"), ("/dev/zero", "no regular file")] {
        let shown = mydyno(["device", "show", name]).in_directory(bait.work.path()).run().exits(4);
        assert!(shown.stderr.contains(why), "{}", shown.stderr);
    }
}
