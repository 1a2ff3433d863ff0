//! Small programs of real users' kinds, with the right result known: each runs on the functional machine and
//! on both cores.

use crate::support;

pub mod build;

mod contention;
mod contexts;
mod cores;
mod counters;
mod dcpi_objects;
mod descriptors;
mod documents;
mod dynamic;
mod files;
mod hostile;
mod hosts;
mod interpreted;
mod isa;
mod limits;
mod loops;
mod manual;
mod memory;
mod minutes;
mod objects;
mod observed;
mod parts;
mod processes;
mod profiled_threads;
mod profiles;
mod roots;
mod scratch;
mod signals;
mod slurm;
mod stores;
mod symbols;
mod tables;
mod teach;
mod threads;
