//! Mappings, executable stacks and where programs may lie.
