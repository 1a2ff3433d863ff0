//! Profiles of programs that calls, jumps and periods make hard.
