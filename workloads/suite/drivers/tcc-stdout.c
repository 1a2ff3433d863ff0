// Lets tcc write an object file named `-` to standard output (linked with --wrap), so that it needs
// no folder in which it may write.
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

int __real_open(const char *path, int flags, ...);
int __real_unlink(const char *path);

int __wrap_open(const char *path, int flags, ...) {
    va_list rest;
    va_start(rest, flags);
    int mode = flags & O_CREAT ? va_arg(rest, int) : 0;
    va_end(rest);
    return strcmp(path, "-") == 0 ? dup(STDOUT_FILENO) : __real_open(path, flags, mode);
}

int __wrap_unlink(const char *path) { return strcmp(path, "-") == 0 ? 0 : __real_unlink(path); }
