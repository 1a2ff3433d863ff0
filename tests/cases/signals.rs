//! Signals, timers, clocks and waits.
