//! The functions by which a program learns what time it is or waits for a time: for a dilated clock
//! each of them has to be taken over. What else the servers of the catalogue import of the C
//! library is in `harmless_functions.txt`; a test of the program finds what is in no list.

/// Those that the library with the dilated clock takes over (`clock`), each of which it exports.
pub const DILATED_FUNCTIONS: &[&str] = &[
    // Reading.
    "clock_gettime",
    "gettimeofday",
    "__gettimeofday",
    "time",
    "ftime",
    "times",
    "getrusage",
    "timespec_get",
    // Sleeping.
    "nanosleep",
    "__nanosleep",
    "clock_nanosleep",
    "sleep",
    "usleep",
    "thrd_sleep",
    // Waiting for descriptors and messages.
    "select",
    "__select",
    "pselect",
    "poll",
    "__poll",
    "__poll_chk",
    "ppoll",
    "__ppoll_chk",
    "epoll_wait",
    "epoll_pwait",
    "epoll_pwait2",
    "recvmmsg",
    "setsockopt",
    "getsockopt",
    "mq_timedreceive",
    "mq_timedsend",
    "aio_suspend",
    "aio_suspend64",
    "io_getevents",
    "io_pgetevents",
    // Waiting for threads, signals and other processes.
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_clockwrlock",
    "pthread_timedjoin_np",
    "pthread_clockjoin_np",
    "cnd_timedwait",
    "mtx_timedlock",
    "sem_timedwait",
    "sem_clockwait",
    "semtimedop",
    "sigtimedwait",
    // Timers.
    "alarm",
    "setitimer",
    "getitimer",
    "timer_settime",
    "timer_gettime",
    "timerfd_settime",
    "timerfd_gettime",
    // Any of them, by its number.
    "syscall",
];

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
