//! What figures have that the page's script draws.

use maud::{Markup, Render, html};

/// Title, place and legend of a chart; `beside` is what stands beside its title.
pub fn plot(title: &str, beside: impl Render) -> Markup {
    html! {
        figcaption { b { (title) } (beside) }
        div.plot role="img" aria-label={ (title) "; the data table below holds its numbers" } {}
        div.legend {}
    }
}
