// Extended attributes of files of /proc, which has none, and errors of the calls.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/xattr.h>
#include <unistd.h>

static void say(const char *call, long result) {
    printf("%s: %ld %s\n", call, result, result < 0 ? strerrorname_np(errno) : "");
}

int main(void) {
    static char value[70000];
    char longest[256 + 1];
    memset(longest, 'a', 256);
    memcpy(longest, "user.", 5);
    longest[256] = 0;
    const char *paths[] = {"/proc/self/status", "/proc", "/none", "", "/proc/self/status/x", (char *)8};
    for (int i = 0; i < 6; i++) {
        const char *path = paths[i];
        say("get", getxattr(path, "user.x", value, 100));
        say("lget", lgetxattr(path, "security.selinux", value, 0));
        say("list", listxattr(path, value, 100));
        say("list size", listxattr(path, NULL, 0));
        say("llist", llistxattr(path, value, 100));
        say("set", setxattr(path, "user.x", "1", 1, 0));
        say("lset", lsetxattr(path, "trusted.x", "1", 1, XATTR_CREATE));
        say("set flags", setxattr(path, "user.x", "1", 1, 8));
        say("set size", setxattr(path, "user.x", value, 65537, 0));
        say("remove", removexattr(path, "user.x"));
        say("lremove", lremovexattr(path, "user.x"));
        say("no name", getxattr(path, "", value, 100));
        say("long name", getxattr(path, longest, value, 100));
        say("longest name", getxattr(path, longest + 1, value, 100));
        say("bad name", getxattr(path, (char *)8, value, 100));
    }
    int open_file = open("/proc/self/status", O_RDONLY);
    int place = open("/proc/self/status", O_PATH);
    int descriptors[] = {open_file, place, -1, 77};
    for (int i = 0; i < 4; i++) {
        int fd = descriptors[i];
        say("fget", fgetxattr(fd, "user.x", value, 100));
        say("flist", flistxattr(fd, value, 100));
        say("fset", fsetxattr(fd, "user.x", "1", 1, 0));
        say("fremove", fremovexattr(fd, "user.x"));
        say("fget no name", fgetxattr(fd, "", value, 100));
    }
    return 0;
}
