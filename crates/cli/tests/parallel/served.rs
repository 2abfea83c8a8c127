//! `mydyno serve`: labs in a real browser as they run, plans, and what strangers must not do.

use crate::support::{
    Running, Tab, directory, holds, install, mydyno, results, servers_under, shim, until,
};
use rustix::process::Signal;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::{Duration, Instant};

pub const TOKEN: &str = "0123456789abcdef0123";
/// `me:` and the token.
const AUTHORIZATION: &str = "Authorization: Basic bWU6MDEyMzQ1Njc4OWFiY2RlZjAxMjM=\r\n";

pub struct Served {
    pub running: Running,
    pub address: String,
}

/// Serves a directory, with its plans.
pub fn serve(work: &Path, listen: &str) -> Served {
    serve_with(work, listen, &[])
}

pub fn serve_with(work: &Path, listen: &str, more: &[&str]) -> Served {
    fs::write(work.join("token"), TOKEN).unwrap();
    fs::create_dir_all(work.join("plans")).unwrap();
    let running = mydyno(["serve", ".", "--listen", listen, "--token-file", "token"])
        .and_args(more)
        .in_directory(work)
        .spawn();
    let mut address = String::new();
    until("it says where it is", || {
        let said = running.stderr();
        address = said
            .split("://")
            .nth(1)
            .and_then(|rest| rest.split_once("/ until"))
            .map_or_else(String::new, |(address, _)| address.to_owned());
        !address.is_empty()
    });
    assert!(!running.stderr().contains(TOKEN));
    Served { running, address }
}

impl Served {
    /// Sends a request as it is, and reads all that comes of it.
    fn raw(&self, request: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).unwrap();
        // A server that has heard enough may close before everything is sent.
        let _ = stream.write_all(request.as_bytes());
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    pub fn get(&self, path: &str) -> String {
        self.get_as(path, &format!("Host: {}\r\n", self.address))
    }

    fn get_as(&self, path: &str, headers: &str) -> String {
        self.raw(&format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n"))
    }

    fn post(&self, path: &str, headers: &str, form: &str) -> String {
        self.raw(&format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\n{headers}Content-Type: \
             application/x-www-form-urlencoded\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{form}",
            self.address,
            form.len()
        ))
    }

    fn own(&self) -> String {
        format!("Origin: http://{}\r\n", self.address)
    }
}

fn status(answer: &str) -> &str {
    answer.split(' ').nth(1).unwrap_or("nothing")
}

/// A small file with a lab that has a name of markup.
fn file_with_a_lab(work: &Path) {
    let plan = "[lab]\nname = \"<img src=x onerror=alert(1)>\"\nrepeats = 1\n\
                [server]\nengine = \"mysql-5.7\"\n\
                set = { innodb_log_file_size = \"16M\" }\n\
                [load]\nwarehouses = 1\nconnections = [1, 2]\n\
                check = false\nwarmup = \"0s\"\nwindow = \"1s\"\n";
    fs::write(work.join("markup.toml"), plan).unwrap();
    shim();
    install("mysql-5.7");
    mydyno(["lab", "run", "markup.toml", "--results", "a.db"]).in_directory(work).run().exits(0);
}

#[test]
fn only_what_is_listed_is_shown_and_names_are_no_markup() {
    let work = directory();
    file_with_a_lab(work.path());
    fs::write(work.path().join("broken.db"), "SQLite format 3\0 and then nothing").unwrap();
    let served = serve(work.path(), "127.0.0.1:0");
    let page = served.get("/");
    assert_eq!(status(&page), "200");
    assert!(
        page.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{page}"
    );
    assert!(!page.to_lowercase().contains("set-cookie"));
    assert!(
        page.contains("&lt;img src=x onerror=alert(1)&gt;") && !page.contains("<img"),
        "{page}"
    );
    assert!(page.contains("./broken.db"), "a file that cannot be read is named: {page}");
    for told in ["1 to 2 connections, 2 cells", "1 warehouse", "class=\"bars\"", "NOPM", " ago"] {
        assert!(page.contains(told), "{told}: {page}");
    }
    assert!(!served.get("/?q=nothing-like-it").contains("&lt;img"));
    assert!(served.get("/?q=mysql-5.7+done").contains("&lt;img"));
    let report = served.get("/report?file=.%2Fa.db&lab=1");
    assert!(status(&report) == "200" && report.contains("<section class=\"answer\""), "{report}");

    for (path, expected) in [
        ("/lab?file=.%2Fa.db&lab=9", "404"),
        ("/lab?file=.%2F..%2Fa.db&lab=1", "404"),
        ("/lab?file=%2Fetc%2Fpasswd&lab=1", "404"),
        ("/report?file=.%2Fbroken.db&lab=1", "500"),
        ("/lab?file=.%2Fa.db&lab=x", "400"),
        ("/plan?name=..%2Ftoken.toml", "404"),
        ("/plan?name=%2Fetc%2Fpasswd", "404"),
        ("/../../etc/passwd", "404"),
        ("/compare?file=.%2Fa.db&a=1&b=1", "401"),
        ("/servers", "401"),
        ("/devices?name=.%2Fprofile.toml", "404"),
    ] {
        let answer = served.get(path);
        assert_eq!(status(&answer), expected, "{path}: {answer}");
        assert!(!answer.contains("root:"), "{path}");
    }
    let with_token = format!("Host: {}\r\n{AUTHORIZATION}", served.address);
    let asked = |path: &str, more: &str| served.get_as(path, &format!("{with_token}{more}"));
    // Options are no runs.
    let options = asked("/compare?file=.%2Fa.db&a=--help&b=1", "");
    assert!(options.contains("class=\"problem\""), "{options}");
    assert!(asked("/servers", "Sec-Fetch-Site: same-origin\r\n").contains("mysql-5.7"));
    // A page of another site has the browser send the password along.
    assert_eq!(status(&asked("/servers", "Sec-Fetch-Site: cross-site\r\n")), "403");
    let shown = served.get("/devices?name=sata-850pro");
    assert!(shown.contains("random_read_iops") && shown.contains("nvme-pm1725"), "{shown}");
}

#[test]
fn strangers_change_nothing() {
    let work = directory();
    let served = serve(work.path(), "127.0.0.1:0");
    fs::write(work.path().join("plans/p.toml"), "[lab]\nname = \"p\n").unwrap();
    assert_eq!(status(&served.get_as("/", "Host: evil.example\r\n")), "421");
    assert_eq!(status(&served.get_as("/", "")), "421");
    let own = served.own();
    let foreign = "Origin: http://evil.example\r\n";
    let start = "name=p.toml&text=x&results=p.db";
    for (path, headers, form, expected) in [
        ("/plan/check", foreign, "text=x", "403"),
        ("/plan/check", "", "text=x", "403"),
        ("/plan/check", &own, "text=x", "200"),
        ("/plan/start", &own, start, "401"),
        ("/plan/start", &format!("{foreign}{AUTHORIZATION}"), start, "403"),
        ("/plan/start", &format!("{own}{AUTHORIZATION}"), start, "422"),
        ("/plan/stop", &own, "pid=1", "401"),
        ("/plan/stop", &format!("{own}{AUTHORIZATION}"), "pid=1", "303"),
        (
            "/plan/start",
            &format!("{own}{AUTHORIZATION}"),
            "name=..%2Fx.toml&text=x&results=p.db",
            "422",
        ),
        (
            "/plan/start",
            &format!("{own}{AUTHORIZATION}"),
            "name=x.toml&text=x&results=%2Ftmp%2Fp.db",
            "422",
        ),
        (&format!("/plan/stop?token={TOKEN}"), &own, "pid=1", "401"),
        ("/devices/verify", &own, "name=sata-850pro", "401"),
    ] {
        let answer = served.post(path, headers, form);
        assert_eq!(status(&answer), expected, "{path} {form}: {answer}");
    }
    let plans = fs::read_dir(work.path().join("plans")).unwrap().count();
    assert!(!work.path().join("x.toml").exists() && plans == 1);
    let form = format!("text={}", "a".repeat(10_000_000));
    assert!(["413", "nothing"].contains(&status(&served.post("/plan/check", &own, &form))));

    // Who says nothing is sent away, and keeps nobody from being answered.
    let began = Instant::now();
    let idle: Vec<TcpStream> =
        (0..40).map(|_| TcpStream::connect(&served.address).unwrap()).collect();
    assert_eq!(status(&served.get("/")), "200");
    let mut slow = &idle[0];
    slow.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    slow.write_all(b"GET / HTTP/1.1\r\nHost: ").unwrap();
    let _ = slow.read_to_end(&mut Vec::new());
    assert!(began.elapsed() < Duration::from_secs(50), "{:?}", began.elapsed());
    assert!(!served.running.stderr().contains(TOKEN));
}

#[test]
fn a_device_is_held_against_its_sheet() {
    let work = directory();
    shim();
    let served = serve(work.path(), "127.0.0.1:0");
    let headers = format!("{}{AUTHORIZATION}", served.own());
    for (name, words) in [
        ("sata-ssd-enterprise", "random_read_iops 32 98000"),
        ("--all", "There is no device of that name here"),
        ("./mine.toml", "There is no device of that name here"),
    ] {
        let answer = served.post("/devices/verify", &headers, &format!("name={name}"));
        let told: Vec<&str> = answer.split_whitespace().collect();
        assert!(told.join(" ").contains(words), "{answer}");
    }
}

#[test]
fn elsewhere_everything_needs_the_token() {
    let work = directory();
    let served = serve(work.path(), "0.0.0.0:0");
    let port = served.address.rsplit(':').next().unwrap();
    let here =
        Served { address: format!("127.0.0.1:{port}"), running: mydyno(["--version"]).spawn() };
    assert_eq!(status(&here.get("/")), "401");
    let host = format!("Host: 127.0.0.1:{port}\r\n");
    assert_eq!(status(&here.get_as("/", &format!("{host}{AUTHORIZATION}"))), "200");
    let wrong = AUTHORIZATION.replace("bWU6MDEy", "bWU6MDEz");
    assert_eq!(status(&here.get_as("/", &format!("{host}{wrong}"))), "401");
}

/// The page shows a repeat that runs, in its window, and what it shows goes on.
fn shows_what_runs(tab: &mut Tab) {
    until("throughput is drawn", || {
        tab.value("document.querySelectorAll('#running canvas').length > 2") == true
    });
    let parts = "document.querySelectorAll('[data-account] tr').length > 3";
    until("a transaction's time is shown by what it waits for", || tab.value(parts) == true);
    assert!(
        tab.text("document.querySelector('#state').textContent")
            .starts_with("running, 0 of 2 repeats")
    );
    assert_eq!(tab.value("document.querySelectorAll('#matrix tr.now').length"), 1);
    let too_wide = "[...document.querySelectorAll('#running .uplot')].filter((of) => \
        of.offsetWidth > of.parentNode.clientWidth).length";
    until("charts have their widths", || tab.value(too_wide) == 0);
    let wider = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
    assert_eq!(tab.value(wider), 0, "wider than its window");
    let before = tab.value("Number(document.body.dataset.version)").as_f64().unwrap();
    until("it goes on", || {
        tab.value("Number(document.body.dataset.version)").as_f64().unwrap() > before
    });
}

#[test]
fn a_lab_is_started_watched_and_stopped() {
    let work = directory();
    shim();
    install("mysql-5.7");
    let served = serve(work.path(), "127.0.0.1:0");
    let headers = format!("{}{AUTHORIZATION}", served.own());
    let plan = "[lab]\nname = \"watched\"\nrepeats = 1\n[server]\nengine = \"mysql-5.7\"\n\
                set = { innodb_log_file_size = \"16M\" }\n\
                [load]\nwarehouses = 1\nconnections = [1, 2]\nrate = 20\nwarmup = \"0s\"\n\
                window = \"600s\"\n";
    let plan: String = plan.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let form = format!("name=watched.toml&results=watched.db&text={plan}");
    let answer = served.post("/plan/start", &headers, &form);
    assert_eq!(status(&answer), "303", "{answer}");
    assert_eq!(status(&served.post("/plan/start", &headers, &form)), "500", "twice into one file");
    let file = work.path().join("watched.db");
    let running = "SELECT count(*) = 1 FROM repeat WHERE status = 'running'";
    until("it measures", || holds(&file, running));

    // Two tabs show the same run; what they show goes on.
    let address = format!("http://{}/lab?file=.%2Fwatched.db&lab=1", served.address);
    let mut tabs = [Tab::open(&address, 1300), Tab::open(&address, 390)];
    tabs.iter_mut().for_each(shows_what_runs);

    // The server goes and comes back: the page says so, and goes on.
    let [mut tab, other] = tabs;
    drop(other);
    let port = served.address.clone();
    served.running.signal(Signal::INT);
    served.running.wait().exits(0);
    let lost = "!document.querySelector('#connection').hidden";
    until("the page says that the connection is lost", || tab.value(lost) == true);
    let served = serve(work.path(), &port);
    until("the page goes on", || tab.value(lost) == false);
    let before = tab.value("Number(document.body.dataset.version)").as_f64().unwrap();
    until("it goes on", || {
        tab.value("Number(document.body.dataset.version)").as_f64().unwrap() > before
    });
    let errors: Vec<&String> =
        tab.console.iter().filter(|said| !said.contains("net::ERR_")).collect();
    assert!(errors.is_empty(), "{errors:?}");

    // It was the other server's lab, which a user stops by its process; this one's own it stops.
    let pid = results(&file, "SELECT process FROM lab")[0][0].split(':').nth(1).unwrap().to_owned();
    crate::support::signal(pid.parse().unwrap(), Signal::INT);
    until("it has ended", || {
        holds(&file, "SELECT count(*) = 1 FROM lab WHERE status = 'interrupted'")
    });
    until("the page says so", || {
        tab.text("document.querySelector('#state').textContent").starts_with("interrupted")
    });
    let headers = format!("{}{AUTHORIZATION}", served.own());
    assert_eq!(status(&served.post("/plan/start", &headers, &form)), "303");
    until("it measures again", || holds(&file, running));
    until("the page shows it", || {
        tab.text("document.querySelector('#state').textContent").starts_with("running")
    });
    let page = served.get("/plans");
    let pid = page.split("name=\"pid\" value=\"").nth(1).unwrap().split('"').next().unwrap();
    assert_eq!(status(&served.post("/plan/stop", &headers, &format!("pid={pid}"))), "303");
    until("it has ended", || {
        holds(&file, "SELECT count(*) = 1 FROM lab WHERE status = 'interrupted'")
    });
    until("no server is left", || servers_under(pid.parse().unwrap()).is_empty());
    until("the page of plans says so", || served.get("/plans").contains("It has ended"));
}
