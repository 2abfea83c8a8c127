//! The keys of `[ramp]`.

use super::{Key, Shape, by_default, counted, key};
use base::limits::CONNECTIONS_MAX;

/// Most points of a ramp: far above what finds a place.
const POINTS_MAX: u32 = 1_000;

pub(crate) static RAMP_START: Key = by_default(
    "8",
    key(
        "start",
        counted(CONNECTIONS_MAX),
        "connections of the first point",
    ),
);
pub(crate) static RAMP_STEP: Key = by_default(
    "8",
    key(
        "step",
        counted(CONNECTIONS_MAX),
        "the finest difference: all counts are the start and a multiple of it",
    ),
);
pub(crate) static RAMP_CONNECTIONS_MAX: Key = by_default(
    "1024",
    key(
        "connections_max",
        counted(CONNECTIONS_MAX),
        "no count is larger",
    ),
);
pub(crate) static RAMP_POINTS: Key = by_default(
    "24",
    key("points", counted(POINTS_MAX), "most measurements"),
);
pub(crate) static STOP_CPU: Key = by_default(
    "80%",
    key(
        "stop_cpu",
        Shape::ShareOrOff,
        "the server has used so much of the processor time that was left to it (on another machine: all programs there)",
    ),
);
pub(crate) static STOP_P90: Key = by_default(
    "5s, `stock_level` 20s",
    key(
        "stop_p90",
        Shape::TimesOrOff,
        "the 90th percentile of a transaction type is longer: `new_order`, `payment`, `order_status`, `delivery`, `stock_level`; types that are \
         not named have no limit",
    ),
);
pub(crate) static STOP_KINK: Key = by_default(
    "2",
    key(
        "stop_kink",
        Shape::NumberOrOff { bounds: "above 1" },
        "a 90th percentile turns up: it rises as fast as this power of the connections",
    ),
);
pub(crate) static STOP_PLATEAU: Key = by_default(
    "0.2",
    key(
        "stop_plateau",
        Shape::NumberOrOff {
            bounds: "from 0 to 1",
        },
        "throughput no longer rises: no faster than this power of the connections",
    ),
);
