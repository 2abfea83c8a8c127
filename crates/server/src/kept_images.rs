//! The images that are kept, and how much room they may take: the least recently used ones go
//! first.

use crate::error::io_at;
use crate::home::{self, FileLock};
use crate::image::DESCRIPTION;
use crate::{Home, Image, ImageKey, ServerError, ServerResult};
use base::parse_size;
use std::cmp::Reverse;
use std::fs;

/// Names the room for all images: `100G`.
pub const IMAGES_VARIABLE: &str = "MYDYNO_IMAGES_MAX";
const IMAGES_MAX_DEFAULT_BYTES: u64 = 64 << 30;

/// All images, the most recently used one first. What is damaged or of another format is none.
pub fn kept_images(home: &Home) -> ServerResult<Vec<Image>> {
    let directories = home::entries(&home.images())?.into_iter();
    let mut kept: Vec<Image> = directories.filter_map(Image::in_directory).collect();
    kept.sort_by_key(|image| Reverse(image.last_used_utc_ns));
    Ok(kept)
}

/// Room for all images.
pub fn images_max_bytes() -> ServerResult<u64> {
    let Some(text) = std::env::var_os(IMAGES_VARIABLE) else {
        return Ok(IMAGES_MAX_DEFAULT_BYTES);
    };
    let text = text.to_string_lossy();
    parse_size(&text).ok_or_else(|| ServerError::ImagesMax { value: text.into_owned() })
}

/// Removes images until the others take `max_bytes` at most: first those that are not in `coming`,
/// the least recently used one before the others, then those of `coming`, the one that is needed
/// last before the others. Images in use stay, and so does the first of `coming`. Returns what was
/// removed.
pub fn shrink_images(home: &Home, max_bytes: u64, coming: &[ImageKey]) -> ServerResult<Vec<Image>> {
    let mut kept = kept_images(home)?;
    let mut total_bytes: u64 = kept.iter().map(Image::data_bytes).sum();
    let needed_at = |image: &Image| {
        let mut coming = coming.iter();
        coming.position(|key| key == image.key()).unwrap_or(usize::MAX)
    };
    kept.reverse();
    kept.sort_by_key(|image| Reverse(needed_at(image)));
    let mut removed = Vec::new();
    for image in kept.into_iter().filter(|image| needed_at(image) > 0) {
        if total_bytes <= max_bytes {
            break;
        }
        if remove(home, &image)? {
            total_bytes -= image.data_bytes();
            removed.push(image);
        }
    }
    Ok(removed)
}

/// Removes one image.
///
/// # Errors
/// [`ServerError::NoSuchImage`]; [`ServerError::Data`] where it is in use.
pub fn remove_image(home: &Home, name: &str) -> ServerResult<Image> {
    let image = kept_images(home)?.into_iter().find(|image| image.name() == name);
    let image = image.ok_or_else(|| ServerError::NoSuchImage { name: name.to_owned() })?;
    if remove(home, &image)? {
        return Ok(image);
    }
    let why = "this image is being cloned; try again when that is done";
    Err(ServerError::data(image.directory(), why))
}

/// Around the name of an image that is being removed.
const GONE_PREFIX: &str = ".tmp-";
const GONE_SUFFIX: &str = "-removed";

/// Returns whether nobody used it.
fn remove(home: &Home, image: &Image) -> ServerResult<bool> {
    let directory = image.directory();
    if !directory.exists() {
        // Another process was quicker.
        return Ok(true);
    }
    let Some(_alone) = FileLock::try_now(&directory.join(DESCRIPTION))? else {
        return Ok(false);
    };
    // Under another name it is no image any more, should this process die here.
    let gone = home.images().join(format!("{GONE_PREFIX}{}{GONE_SUFFIX}", image.name()));
    fs::rename(directory, &gone).map_err(io_at("remove", directory))?;
    home::remove_tree_if_there(&gone)?;
    Ok(true)
}

/// Removes the rest of images whose removal was killed. Where another process is about it, both
/// are.
pub(crate) fn sweep_removed(home: &Home) -> ServerResult<()> {
    let is_gone = |name: &str| name.starts_with(GONE_PREFIX) && name.ends_with(GONE_SUFFIX);
    home::remove_left_over(&home.images(), is_gone)
}

#[cfg(test)]
mod tests {
    use super::{kept_images, remove_image, shrink_images};
    use crate::home::Home;
    use crate::image::{Image, ImageContents, ImageKey, use_image};
    use std::fs;
    use std::path::Path;
    use std::thread::sleep;
    use std::time::Duration;

    fn publish(home: &Home, root: &Path, seed: u64) -> Image {
        let data = root.join("data");
        fs::create_dir_all(&data).unwrap();
        fs::write(data.join("ibdata1"), vec![0; 1000]).unwrap();
        let key = ImageKey {
            engine: "mysql-5.7".into(),
            version: "5.7.22".into(),
            contents: ImageContents::Tpcc {
                schema_version: 1,
                warehouses: 1,
                foreign_keys: true,
                partitions: 0,
                history_key: false,
                shard: None,
            },
            page_size_bytes: 16384,
            seed,
            settings: Vec::new(),
            table_options: None,
        };
        // File systems keep times in steps.
        sleep(Duration::from_millis(20));
        Image::publish(home, &key, &data, "").unwrap()
    }

    #[test]
    fn the_least_recently_used_go_first() {
        let temp = tempfile::tempdir().unwrap();
        let home = Home::at(temp.path().join("h")).unwrap();
        let images: Vec<Image> = (1..=4).map(|n| publish(&home, temp.path(), n)).collect();
        sleep(Duration::from_millis(20));
        drop(use_image(images[0].directory()).unwrap());
        let seeds = || -> Vec<u64> {
            let kept = kept_images(&home).unwrap();
            kept.iter().map(|image| image.key().seed).collect()
        };
        assert_eq!(seeds(), [1, 4, 3, 2]);
        let in_use = use_image(images[1].directory()).unwrap();
        fs::File::open(images[1].directory().join("image.json"))
            .and_then(|file| file.set_modified(std::time::UNIX_EPOCH))
            .unwrap();
        // The oldest one is in use, so the next one goes.
        assert_eq!(shrink_images(&home, 3000, &[]).unwrap().len(), 1);
        assert_eq!(seeds(), [1, 4, 2]);
        drop(in_use);
        // The one that is needed now stays, and the one that is needed last goes before the next
        // one.
        let coming = [0, 1, 3].map(|index: usize| images[index].key().clone());
        assert_eq!(shrink_images(&home, 2000, &coming).unwrap().len(), 1);
        assert_eq!(seeds(), [1, 2]);
        assert_eq!(shrink_images(&home, 0, &coming).unwrap().len(), 1);
        assert_eq!(seeds(), [1]);
        assert_eq!(shrink_images(&home, 1000, &[]).unwrap(), []);

        let name = kept_images(&home).unwrap()[0].name();
        let in_use = use_image(images[0].directory()).unwrap();
        let error = remove_image(&home, &name).unwrap_err().to_string();
        assert!(error.contains("is being cloned"), "{error}");
        drop(in_use);
        assert_eq!(remove_image(&home, &name).unwrap().name(), name);
        let error = remove_image(&home, &name).unwrap_err().to_string();
        assert!(error.contains("mydyno server images"), "{error}");
        assert_eq!(
            fs::read_dir(home.images()).unwrap().flatten().filter(|e| e.path().is_dir()).count(),
            0
        );
        // What a removal left that was killed.
        let rest = home.images().join(".tmp-x-removed/data");
        fs::create_dir_all(&rest).unwrap();
        crate::sweep(&home).unwrap();
        assert!(!rest.exists());
    }
}
