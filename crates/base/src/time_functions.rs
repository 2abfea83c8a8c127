//! The functions by which a program learns what time it is or waits for a time: for a dilated clock
//! each of them has to be taken over. `clock` takes over those of `dilated_functions.txt` of its
//! tests. What else the servers of the catalogue import of the C library is in
//! `harmless_functions.txt`; a test of the program finds what is in no list.

/// Those that nobody takes over, because no server calls them. A program that does would see two
/// clocks.
pub const UNDILATED_FUNCTIONS: &[&str] = &[
    "__adjtimex",
    "adjtime",
    "adjtimex",
    "clock_adjtime",
    "clock_settime",
    "gai_suspend",
    "getdate",
    "getdate_r",
    "io_queue_wait",
    "io_uring_submit_and_wait_timeout",
    "io_uring_wait_cqe_timeout",
    "io_uring_wait_cqes",
    "ntp_adjtime",
    "ntp_gettime",
    "ntp_gettimex",
    "rtime",
    "settimeofday",
    "stime",
    "ualarm",
];

/// A program reads its time by at least one of these, unless it calls the kernel by itself.
pub const CLOCK_FUNCTIONS: &[&str] = &["clock_gettime", "gettimeofday"];
