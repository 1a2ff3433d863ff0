//! Tests of the core against the functional machine, formulas and models.
//!
//! All tests are one program: the simulator is compiled into it once.

mod adversarial;
mod common;
mod conservation;
mod dise;
mod driven;
mod driven_dise;
mod functional_equality;
mod in_order;
mod in_step;
mod inside;
mod interrupts;
mod listed;
mod microbenchmarks;
mod observed;
mod probes;
mod relayout;
mod sampled;
mod state;
mod static_schedule;
