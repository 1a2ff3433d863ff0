//! Tests of instruction sets, loaders, the system and threaded code.
//!
//! The tests are one program: the simulator is linked into it once.

mod alpha_encodings;
mod alpha_lockstep;
mod alpha_objdump;
mod assembled_programs;
mod assembled_texts;
mod loader_alpha;
mod loader_elf;
mod loader_support;
mod lockstep_support;
mod os_alpha;
mod os_alpha_programs;
mod os_descriptors;
mod os_epoll;
mod os_files;
mod os_identity;
mod os_made_up;
mod os_memory;
mod os_process;
mod os_signals;
mod os_status_flags;
mod os_support;
mod os_waits;
mod riscv_encodings;
mod riscv_lockstep;
mod riscv_model;
mod threaded;
