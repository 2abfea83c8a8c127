//! `mydyno server images`.

use super::show;
use crate::arguments::size;
use crate::failure::Outcome;
use ::server::{
    Home, IMAGES_VARIABLE, Image, ImageKey, images_max_bytes, kept_images, remove_image,
    shrink_images,
};
use base::{document, now_utc_ns};
use clap::Args;
use serde::Serialize;
use std::time::Duration;

#[derive(Args)]
pub struct ImagesArguments {
    /// Name of an image to remove; may be repeated
    #[arg(long, value_name = "NAME")]
    pub remove: Vec<String>,
    /// Size that the images may take (20G): remove the least recently used ones until the others
    /// fit
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub keep: Option<u64>,
    /// Print one JSON document on stdout
    #[arg(long)]
    pub json: bool,
}

#[derive(Serialize)]
struct ImagesDocument {
    images_max_bytes: u64,
    images: Vec<ImageDocument>,
    removed: Vec<ImageDocument>,
}

document! {
    struct ImageDocument from (image: &Image);
    {
        name: String = image.name(),
        #[serde(flatten)]
        key: ImageKey = image.key().clone(),
        data_bytes: u64 = image.data_bytes(),
        last_used_utc_ns: i64 = image.last_used_utc_ns,
    }
}

/// Runs the command.
pub fn run(home: &Home, arguments: &ImagesArguments) -> Outcome {
    let removed = arguments.remove.iter().map(|name| remove_image(home, name));
    let mut removed = removed.collect::<Result<Vec<_>, _>>()?;
    if let Some(max_bytes) = arguments.keep {
        removed.extend(shrink_images(home, max_bytes, &[])?);
    }
    let kept = kept_images(home)?;
    let max_bytes = images_max_bytes()?;
    let found = ImagesDocument {
        images_max_bytes: max_bytes,
        images: kept.iter().map(ImageDocument::of).collect(),
        removed: removed.iter().map(ImageDocument::of).collect(),
    };
    show(arguments.json, 1, &found, || text(&kept, &removed, max_bytes))
}

fn text(kept: &[Image], removed: &[Image], max_bytes: u64) -> String {
    let gigabytes = |bytes: u64| bytes as f64 / 1e9;
    let mut out = String::new();
    for image in removed {
        out += &format!("removed {}\n", image.name());
    }
    for image in kept {
        let since_ns = now_utc_ns().saturating_sub(image.last_used_utc_ns);
        let since = Duration::from_nanos(u64::try_from(since_ns).unwrap_or(0));
        out += &format!(
            "{:>8.1} GB, used {:>6.1} h ago  {}\n",
            gigabytes(image.data_bytes()),
            since.as_secs_f64() / 3600.0,
            image.name()
        );
    }
    let total_bytes = kept.iter().map(Image::data_bytes).sum();
    out += &format!(
        "{:>8.1} GB of {:.0} GB ({IMAGES_VARIABLE}); a new image takes the place of those that \
         were not used for longest\n",
        gigabytes(total_bytes),
        gigabytes(max_bytes)
    );
    out
}
