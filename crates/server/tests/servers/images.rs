//! Images: kept once, cloned as often as needed, with the data in them.

use crate::{STOP_TIMEOUT, build, has_redo, own_home, query, redo_bytes, set, small, start};
use server::{
    Ending, Home, Image, ImageContents, ImageKey, Instance, InstanceOptions, ServerBuild,
};

fn key(build: &ServerBuild) -> ImageKey {
    ImageKey {
        engine: build.engine.clone(),
        version: build.version.clone(),
        contents: ImageContents::Tpcc {
            schema_version: 1,
            warehouses: 1,
            foreign_keys: true,
            partitions: 0,
            history_key: false,
            shard: None,
        },
        page_size_bytes: 16384,
        seed: 1,
        settings: Vec::new(),
        table_options: None,
    }
}

fn publish(home: &Home, build: &ServerBuild, key: &ImageKey, options: InstanceOptions) -> Image {
    let server = start(home, build, options);
    let login = server.connect_options();
    query(&login, "CREATE DATABASE tpcc");
    query(&login, "CREATE TABLE tpcc.t (a INT PRIMARY KEY, b VARCHAR(20)) ENGINE=InnoDB");
    query(&login, "INSERT INTO tpcc.t VALUES (1, 'one'), (2, 'two')");
    let early = Image::publish(home, key, server.data_directory(), "{}").unwrap_err();
    assert!(early.to_string().contains("still runs"), "{early}");
    assert_eq!(server.stop(STOP_TIMEOUT).unwrap(), Ending::Clean);
    Image::publish(home, key, server.data_directory(), "{\"checksum\":7}").unwrap()
}

/// Clones of an image with small pages start at the same time and hold its data, each for itself;
/// the redo log of one has another size, and lies elsewhere.
fn clones_of_an_image(engine: &str) {
    let build = build(engine);
    let (temp, home) = own_home();
    let key = ImageKey { page_size_bytes: 4096, ..key(&build) };
    let mut options = small();
    options.set.extend(set(&[("innodb_page_size", "4096")]));
    let image = publish(&home, &build, &key, options);
    let note = Image::find(&home, &key).unwrap().note().to_owned();
    assert_eq!(note, "{\"checksum\":7}");
    let clone = || InstanceOptions { image: Some(image.clone()), ..small() };
    let redo = temp.path().join("redo");
    let other_redo = InstanceOptions {
        scratch: vec![redo.clone()],
        set: set(&[
            ("innodb_log_group_home_dir", redo.to_str().unwrap()),
            ("innodb_log_file_size", "96M"),
            ("innodb_buffer_pool_size", "64M"),
        ]),
        ..clone()
    };
    let servers: Vec<Instance> = std::thread::scope(|scope| {
        let started =
            [clone(), other_redo].map(|options| scope.spawn(|| start(&home, &build, options)));
        started.map(|thread| thread.join().unwrap()).into()
    });
    let logins: Vec<_> = servers.iter().map(Instance::connect_options).collect();
    assert_ne!(logins[0].password, logins[1].password);
    for login in &logins {
        let rows = query(login, "SELECT a, b FROM tpcc.t ORDER BY a");
        assert_eq!(rows, ["1|one", "2|two"]);
        assert_eq!(query(login, "SELECT @@innodb_page_size"), ["4096"]);
    }
    query(&logins[0], "DELETE FROM tpcc.t");
    assert_eq!(query(&logins[1], "SELECT COUNT(*) FROM tpcc.t"), ["2"]);
    if !build.release.family.is_mariadb() {
        let uuid = |login| query(login, "SELECT @@server_uuid").concat();
        assert_ne!(uuid(&logins[0]), uuid(&logins[1]));
    }
    assert!(has_redo(&redo));
    match redo.join("ib_logfile0").metadata() {
        Ok(file) => assert_eq!(file.len(), 96 << 20),
        // Its redo is one size, of two files where they were asked for.
        Err(_) => assert_eq!(redo_bytes(&servers[1]), 192 << 20),
    }
    drop(servers);
    // The image is as it was.
    let again = start(&home, &build, clone());
    let rows = query(&again.connect_options(), "SELECT COUNT(*) FROM tpcc.t");
    assert_eq!(rows, ["2"]);
}

engines! {
    clones_of_an_image;
    test: mysql_5_7, mysql_8_0, mariadb_10_11, xtradb_5_6;
    others: soak;
}

#[test]
fn an_image_of_another_server_is_refused() {
    let (mysql, maria) = (build("mysql-5.7"), build("mariadb-10.11"));
    let (_temp, home) = own_home();
    let image = publish(&home, &mysql, &key(&mysql), small());
    let options = InstanceOptions { image: Some(image), ..small() };
    let error = Instance::start(&home, &maria, options).unwrap_err();
    assert!(error.to_string().contains("this image is of mysql-5.7 5.7.22"), "{error}");
}
