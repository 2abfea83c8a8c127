//! The shim under real programs: this test's own, which runs itself again with a job, and fio.

#![expect(unsafe_code, reason = "C functions are called as the programs under the shim call them")]

mod aio;
mod cache;
mod common;
mod crash;
mod dilated;
mod fio;
mod libaio;
mod power;
mod session;
mod shared;
mod sync;

#[test]
fn child() {
    let Some((name, files)) = common::job() else {
        return;
    };
    let jobs = [
        sync::job,
        aio::job,
        cache::job,
        crash::job,
        dilated::job,
        shared::job,
        session::job,
        power::job,
    ];
    assert!(jobs.iter().any(|job| job(&name, &files)), "no such job: {name}");
}
