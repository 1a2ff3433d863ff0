//! The command as a new user meets it.
