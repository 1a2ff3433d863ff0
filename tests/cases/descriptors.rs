//! Open files, pipes, sockets and limits of what a guest may write.
