//! The scripts and the styles of the pages.

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";

/// Their addresses, types and texts.
pub const ASSETS: [(&str, &str, &str); 4] = [
    ("/serve.js", SCRIPT, include_str!("../assets/serve.js")),
    ("/serve.css", STYLE, include_str!("../assets/serve.css")),
    ("/uplot.js", SCRIPT, report::UPLOT_JS),
    ("/uplot.css", STYLE, report::UPLOT_CSS),
];
