//! Result stores: locks, checksums, repair.
