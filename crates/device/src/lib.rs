//! The storage device model: profiles, queues and service times. An empty room, built by the devices issue.
