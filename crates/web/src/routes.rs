//! Which address is answered by what.

use crate::access::{CHECK, Gatekeeper, REPORT, TokenGiven, guard};
use crate::app::{App, Refused};
use crate::page::{page, said};
use crate::program::PATIENCE;
use crate::{devices, lab, labs, plans};
use axum::Router;
use axum::extract::{Query, State};
use axum::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use axum::middleware::from_fn_with_state;
use axum::routing::{get, post};
use maud::{Markup, html};
use serde::Deserialize;
use std::sync::Arc;

/// Scripts and styles of the pages: their addresses, types and texts.
const ASSETS: [(&str, &str, &str); 4] = [
    ("/serve.js", SCRIPT, include_str!("../assets/serve.js")),
    ("/serve.css", STYLE, include_str!("../assets/serve.css")),
    ("/uplot.js", SCRIPT, report::UPLOT_JS),
    ("/uplot.css", STYLE, report::UPLOT_CSS),
];
const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// All addresses, behind the guard.
pub fn router(app: Arc<App>, access: Arc<Gatekeeper>) -> Router {
    let assets = ASSETS.into_iter().fold(Router::new(), |router, (path, kind, text)| {
        let headers = [(CONTENT_TYPE, kind), (CACHE_CONTROL, "max-age=60")];
        router.route(path, get((headers, text)))
    });
    Router::new()
        .route("/", get(labs::list))
        .route("/lab", get(lab::live))
        .route("/events", get(lab::events))
        .route(REPORT, get(lab::report))
        .route("/plans", get(plans::list))
        .route("/plan", get(plans::edit))
        .route(CHECK, post(plans::check))
        .route("/plan/start", post(plans::start))
        .route("/plan/stop", post(plans::stop))
        .route("/compare", get(compare))
        .route("/devices", get(devices::list))
        .route("/devices/verify", post(devices::verify))
        .route("/servers", get(servers))
        .merge(assets)
        .fallback(|| async { Refused::missing("There is no such page.") })
        .with_state(app)
        .layer(from_fn_with_state(access, guard))
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompareForm {
    file: String,
    a: String,
    b: String,
}

/// `/compare`: two selections, as `mydyno compare` names them.
async fn compare(
    State(app): State<Arc<App>>,
    token: TokenGiven,
    Query(asked): Query<CompareForm>,
) -> Result<Markup, Refused> {
    let files = app.files.all();
    let compared = if asked.a.is_empty() || asked.b.is_empty() {
        None
    } else {
        let results = format!("--results={}", app.results_file(&asked.file)?.display());
        let asked = ["compare", &results, "--", &asked.a, &asked.b];
        Some(app.program.ask(&token, PATIENCE, &asked).await)
    };
    let body = html! {
        form {
            p { label { "Results file " select name="file" { @for file in &files {
                @let name = file.display().to_string();
                option value=(name) selected[name == asked.file] { (name) }
            } } } }
            p {
                label { "A " input name="a" value=(asked.a) placeholder="1,4,5 or 7.1"; } " "
                label { "B " input name="b" value=(asked.b) placeholder="2,3,6 or 7.2"; } " "
                button { "Compare" }
            }
            p.soft { "A lab by its number, several by commas, a cell as LAB.CELL; ratios are \
                made inside blocks." }
        }
        @if let Some(compared) = &compared { (said(compared)) }
    };
    Ok(page("Compare", &body))
}

/// `/servers`: engines and images.
async fn servers(State(app): State<Arc<App>>, token: TokenGiven) -> Markup {
    let engines = app.program.ask(&token, PATIENCE, &["server", "list"]).await;
    let images = app.program.ask(&token, PATIENCE, &["server", "images"]).await;
    page("Servers", &html! { h2 { "Engines" } (said(&engines)) h2 { "Images" } (said(&images)) })
}

#[cfg(test)]
mod tests {
    use super::router;
    use crate::access::{Gatekeeper, ServeToken};
    use crate::app::App;
    use crate::feeds::Feeds;
    use crate::files::ResultsFiles;
    use crate::labs::Glances;
    use crate::program::Program;
    use crate::runs::StartedLabs;
    use axum::Router;
    use axum::body::{Body, Bytes, to_bytes};
    use axum::extract::Request;
    use proptest::prelude::{Just, Strategy, any, prop_oneof};
    use proptest::test_runner::{Config, TestRunner};
    use std::path::Path;
    use std::sync::Arc;
    use std::time::Duration;
    use tokio::runtime::{Builder, Runtime};
    use tokio::sync::Semaphore;
    use tower::ServiceExt;

    /// `me:0123456789abcdef`
    const GIVEN: &str = "Basic bWU6MDEyMzQ1Njc4OWFiY2RlZg==";
    /// More than any page of these has.
    const PAGE_BYTES_MAX: usize = 16 << 20;
    const PATIENCE: Duration = Duration::from_secs(120);
    const PLAN: &str = "[lab]\nname = 'x'\nrepeats = 3\n[server]\nengine = ['mysql-5.7']\nset = { \
        a = [1, 2] }\n[storage]\ndata = 'hdd-15k'\n[load]\nconnections = [1, 2]\nwarehouses = 1\n\
        [[exclude]]\nconnections = 1\n";

    fn pages(work: &Path) -> Router {
        std::fs::create_dir_all(work.join("plans")).unwrap();
        let app = App {
            files: ResultsFiles(vec![work.to_owned()]),
            plans: work.join("plans"),
            program: Program::at("/bin/false".into()),
            drafts: Arc::new(Semaphore::new(2)),
            feeds: Feeds::default(),
            runs: StartedLabs::default(),
            glances: Glances::default(),
        };
        let access = Gatekeeper {
            listen: "127.0.0.1:8640".parse().unwrap(),
            token: ServeToken::of("0123456789abcdef").unwrap(),
            is_encrypted: false,
            public: None,
            is_token_required: false,
        };
        router(Arc::new(app), Arc::new(access))
    }

    fn answered(runtime: &Runtime, pages: &Router, request: Request) -> (u16, Bytes) {
        runtime.block_on(async {
            let answer = tokio::time::timeout(PATIENCE, pages.clone().oneshot(request));
            let answer = answer.await.expect("it hangs").unwrap();
            let status = answer.status().as_u16();
            (status, to_bytes(answer.into_body(), PAGE_BYTES_MAX).await.expect("it is too long"))
        })
    }

    fn post(path: &str, form: Vec<u8>) -> Request {
        Request::post(path)
            .header("host", "127.0.0.1:8640")
            .header("origin", "http://127.0.0.1:8640")
            .header("authorization", GIVEN)
            .header("content-type", "application/x-www-form-urlencoded")
            .body(Body::from(form))
            .unwrap()
    }

    fn runtime() -> Runtime {
        Builder::new_current_thread().enable_all().max_blocking_threads(2).build().unwrap()
    }

    /// A plan with a piece cut out, doubled, or replaced by any text.
    fn plan_like() -> impl Strategy<Value = String> {
        let cuts = (0..PLAN.len(), 0..PLAN.len());
        (cuts, prop_oneof![Just(String::new()), "\\PC{0,40}", "[\\[\\]{}='\"\n.0-9a-z_-]{0,60}"])
            .prop_map(|((a, b), put)| {
                let (from, to) = (a.min(b), a.max(b));
                match put.len() % 3 {
                    0 => format!("{}{put}{}", &PLAN[..from], &PLAN[to..]),
                    1 => format!("{}{put}{}", &PLAN[..to], &PLAN[from..]),
                    _ => format!("{}{put}{}", &PLAN[..from], &PLAN[from..]),
                }
            })
    }

    fn forms() -> impl Strategy<Value = Vec<u8>> {
        let pair = (
            prop_oneof![Just("text"), Just("name"), Just("results"), Just("pid"), Just("lab")],
            prop_oneof![
                plan_like(),
                plan_like(),
                "\\PC{0,80}",
                "[a-z./%-]{0,12}\\.(toml|db)",
                any::<i64>().prop_map(|number| number.to_string()),
            ],
        );
        let pairs = proptest::collection::vec(pair, 0..4).prop_map(|pairs| {
            let pairs: Vec<String> = pairs
                .iter()
                .map(|(key, value)| format!("{key}={}", base::percent_encoded(value)))
                .collect();
            pairs.join("&").into_bytes()
        });
        prop_oneof![
            4 => pairs,
            1 => proptest::collection::vec(any::<u8>(), 0..300),
        ]
    }

    fn any_form_is_answered(cases: u32) {
        let work = tempfile::tempdir().unwrap();
        let (runtime, pages) = (runtime(), pages(work.path()));
        let paths = prop_oneof![
            6 => Just("/plan/check"),
            1 => Just("/plan/start"),
            1 => Just("/plan/stop"),
            1 => Just("/devices"),
        ];
        let config = Config { failure_persistence: None, ..Config::with_cases(cases) };
        let case = |(path, form): (&str, Vec<u8>)| {
            let (status, page) = answered(&runtime, &pages, post(path, form));
            let expected = [200, 303, 400, 405, 415, 422];
            // 500 is a lab that is being measured into the same file.
            let is_taken = status == 500 && path == "/plan/start";
            assert!(expected.contains(&status) || is_taken, "{path}: {status}");
            // The thread that reads a plan may panic, which is told as what is wrong with the plan.
            let page = String::from_utf8_lossy(&page);
            assert!(!page.contains(" panicked"), "{path}: {page}");
            Ok(())
        };
        TestRunner::new(config).run(&(paths, forms()), case).unwrap();
    }

    #[test]
    fn a_form_is_answered_whatever_is_in_it() {
        any_form_is_answered(300);
    }

    #[test]
    #[ignore = "make soak"]
    fn a_million_forms_are_answered_whatever_is_in_them() {
        any_form_is_answered(1_000_000);
    }

    #[test]
    fn texts_that_name_more_than_memory_holds_are_refused() {
        let work = tempfile::tempdir().unwrap();
        let (runtime, pages) = (runtime(), pages(work.path()));
        let counts = |most: u32| (1..=most).map(|n| format!("{n},")).collect::<String>();
        let variables: String = (0..2_000).map(|n| format!("innodb_v{n} = 1\n")).collect();
        let excluded = "[[exclude]]\nconnections = 1\n".repeat(4_000);
        let plan = |repeats: u32, variables: &str, excluded: &str| {
            format!(
                "[lab]\nname = 'x'\nrepeats = {repeats}\n[server]\nengine = 'mysql-5.7'\n\
                 [server.set]\n{variables}[load]\nconnections = [{}]\nwarehouses = [{}]\n\
                 {excluded}",
                counts(100),
                counts(99)
            )
        };
        for (text, words) in [
            (plan(3, "", ""), "9900 cells, 3 repeats"),
            (plan(1000, "", ""), "9900000 repeats; 200000 is the most"),
            (plan(3, &variables, ""), "more settings than 1000000"),
            (plan(3, "", &excluded), "more comparisons of [[exclude]] than 200000000"),
            (format!("a = {}{}", "[".repeat(30_000), "]".repeat(30_000)), "the plan:"),
        ] {
            let form = format!("text={}", base::percent_encoded(&text)).into_bytes();
            let (status, page) = answered(&runtime, &pages, post("/plan/check", form));
            let page = String::from_utf8_lossy(&page);
            assert!(status == 200 && page.contains(words), "{words}: {status} {page:.300}");
            assert!(page.len() < 400_000, "{words}: {}", page.len());
        }
    }
}
