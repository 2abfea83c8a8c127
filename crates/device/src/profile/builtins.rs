//! The profiles that come with mydyno: `profiles/*.toml` at the root of the repository.

use super::Profile;

/// From the slowest to the fastest, single devices first.
const TEXTS: &[&str] = &[
    include_str!("../../../../profiles/hdd-7k2.toml"),
    include_str!("../../../../profiles/hdd-15k.toml"),
    include_str!("../../../../profiles/sata-850pro.toml"),
    include_str!("../../../../profiles/sata-lying.toml"),
    include_str!("../../../../profiles/sata-ssd-enterprise.toml"),
    include_str!("../../../../profiles/sas-pm1633.toml"),
    include_str!("../../../../profiles/nvme-pm1725.toml"),
    include_str!("../../../../profiles/nvme-pcie4.toml"),
    include_str!("../../../../profiles/cloud-gp3.toml"),
    include_str!("../../../../profiles/cloud-io2.toml"),
    include_str!("../../../../profiles/raid10-hdd-8.toml"),
    include_str!("../../../../profiles/raid1-nvme-2.toml"),
    include_str!("../../../../profiles/raid10-nvme-4.toml"),
];

/// The profiles that come with mydyno.
pub fn builtins() -> Vec<Profile> {
    let parse = |text: &&str| {
        Profile::parse(text).expect("a unit test parses every builtin profile and validates it")
    };
    TEXTS.iter().map(parse).collect()
}

/// The one of that name. Only its text is read: an array asks for its member while it is read
/// itself.
pub fn builtin(name: &str) -> Option<Profile> {
    let line = format!("name = \"{name}\"");
    let text = TEXTS.iter().find(|text| text.lines().next() == Some(&line))?;
    Profile::parse(text).ok()
}
