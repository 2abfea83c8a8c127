//! What all pages have.

use crate::program::CommandOutput;
use maud::{DOCTYPE, Markup, html};

/// A page with its navigation. Scripts and styles are files of this server.
pub fn page(title: &str, body: &Markup) -> Markup {
    html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                link rel="icon" href="data:,";
                link rel="stylesheet" href="/uplot.css";
                link rel="stylesheet" href="/serve.css";
                title { (title) " - mydyno" }
                script defer src="/uplot.js" {}
                script defer src="/serve.js" {}
            }
            body {
                header {
                    nav aria-label="Pages" {
                        b { "mydyno" }
                        a href="/" { "Labs" }
                        a href="/plans" { "Plans" }
                        a href="/compare" { "Compare" }
                        a href="/devices" { "Devices" }
                        a href="/servers" { "Servers" }
                    }
                }
                main { h1 { (title) } (body) }
                footer { "The workload is derived from TPC-C; results are not comparable with \
                    published TPC-C results." }
            }
        }
    }
}

/// What a command said.
pub fn said(said: &CommandOutput) -> Markup {
    html! { pre.problem[!said.is_ok] tabindex="0" { (said.text) } }
}

/// `YYYY-MM-DD hh:mm:ss`, UTC.
pub fn instant(utc_ns: i64) -> String {
    base::DateTime::from_unix_s(u64::try_from(utc_ns).unwrap_or(0) / 1_000_000_000).to_string()
}
