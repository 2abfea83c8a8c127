//! `mydyno server images`.

use crate::support::{
    Server, assert_described, install, link_engines, list, mydyno, number, query, text,
};
use server::{Home, Image, ImageContents, ImageKey};
use std::fs;
use std::path::Path;

fn publish(home: &Home, root: &Path, warehouses: u32) {
    let data = root.join("data");
    fs::create_dir_all(&data).unwrap();
    fs::write(data.join("ibdata1"), vec![0; 1 << 20]).unwrap();
    let key = ImageKey {
        engine: "mysql-5.7".into(),
        version: "5.7.22".into(),
        contents: ImageContents::Tpcc {
            schema_version: 1,
            warehouses,
            foreign_keys: true,
            partitions: 0,
            history_key: false,
            shard: None,
        },
        page_size_bytes: 16384,
        seed: 1,
        settings: Vec::new(),
        table_options: None,
    };
    Image::publish(home, &key, &data, "").unwrap();
}

#[test]
fn images_are_listed_and_removed() {
    let temp = tempfile::tempdir().unwrap();
    let root = temp.path().join("home");
    let home = Home::at(&root).unwrap();
    for warehouses in [1, 2, 3] {
        publish(&home, temp.path(), warehouses);
    }
    let images = |arguments: &[&str]| {
        let all = ["server", "images"].iter().chain(arguments);
        mydyno(all).env("MYDYNO_HOME", &root).run()
    };
    let listed = images(&["--json"]).exits(0).json();
    let found = list(&listed, "/images");
    assert_eq!(found.len(), 3);
    assert_eq!(number(&listed, "/images_max_bytes"), 64 << 30);
    for image in found {
        assert_eq!(number(image, "/data_bytes"), 1 << 20);
    }
    assert_described(&listed);
    let name = text(&found[0], "/name");

    let removed = images(&["--remove", name]).exits(0).stdout;
    assert!(removed.contains(&format!("removed {name}")), "{removed}");
    let left = images(&["--keep", "1M", "--json"]).exits(0).json();
    assert_eq!(list(&left, "/images").len(), 1);
    assert_eq!(list(&left, "/removed").len(), 1);

    // No image gives way to what there is no room for without all of them.
    install("mysql-5.7");
    fs::remove_dir(root.join("engines")).unwrap();
    link_engines(&root);
    let start = mydyno(["server", "start", "--engine", "mysql-5.7", "-w", "100000"]);
    start.env("MYDYNO_HOME", &root).run().exits(4).says(&["100000 warehouses", "has room for"]);
    assert_eq!(list(&images(&["--json"]).exits(0).json(), "/images").len(), 1);

    images(&["--remove", name]).exits(2).says(&["there is no image", "mydyno server images"]);
}

/// The catalogue's MariaDB has its plugins, and an image is loaded with those that it names.
#[test]
fn tables_are_encrypted_from_their_load_on() {
    let keys = tempfile::NamedTempFile::new().unwrap();
    fs::write(keys.path(), format!("1;{}\n", "0123456789abcdef".repeat(4))).unwrap();
    let keys = format!("file_key_management_filename={}", keys.path().display());
    let plugin = ["plugin_load_add=file_key_management", &keys, "innodb_encrypt_tables=ON"];
    let server = Server::loaded("mariadb-10.11", &plugin);
    let encrypted = "SELECT COUNT(*) FROM information_schema.INNODB_TABLESPACES_ENCRYPTION WHERE \
        NAME LIKE 'tpcc/%' AND MIN_KEY_VERSION = 1";
    assert!(query(&server.dsn, encrypted).concat().parse::<u32>().unwrap() >= 9);
    server.stop();
}

/// Tables stay as they were made, so those of an image are made as its copies have to have them.
#[test]
fn what_tables_keep_has_images_of_its_own() {
    let settings = ["innodb_file_per_table=OFF", "innodb_undo_tablespaces=4"];
    let server = Server::loaded("mysql-5.7", &settings);
    let of_tables = "SELECT COUNT(*), SUM(SPACE = 0) FROM information_schema.INNODB_SYS_TABLES \
        WHERE NAME LIKE 'tpcc/%'";
    let all = query(&server.dsn, of_tables).concat();
    let (count, inside) = all.split_once('|').unwrap();
    assert!(count == inside && count.parse::<u32>().unwrap() >= 9, "{all}");
    let undo = query(&server.dsn, "SELECT @@innodb_undo_tablespaces").concat();
    assert_eq!(undo, "4");
    server.stop();
}
