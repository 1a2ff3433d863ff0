//! Instructions as compilers emit them now.
