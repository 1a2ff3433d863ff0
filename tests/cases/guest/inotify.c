/* What inotify tells of files and folders. Each line is what a kernel of Linux 6 prints. It runs in an empty folder that it
   may write to. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *const names[] = {
    "ACCESS", "MODIFY", "ATTRIB", "CLOSE_WRITE", "CLOSE_NOWRITE", "OPEN", "MOVED_FROM", "MOVED_TO",
    "CREATE", "DELETE", "DELETE_SELF", "MOVE_SELF", "?", "UNMOUNT", "Q_OVERFLOW", "IGNORED"};

static int notices;

static const char *error(void) {
    static char text[32];
    const char *name = strerrorname_np(errno);
    if (name) return name;
    snprintf(text, sizeof text, "%d", errno);
    return text;
}

static void say(const char *what, long result) {
    if (result == -1)
        printf("%s: %s\n", what, error());
    else
        printf("%s: %ld\n", what, result);
}

#define SAY(what, call) do { errno = 0; say(what, (long)(call)); } while (0)

static void print(const struct inotify_event *event) {
    static unsigned last_cookie;
    printf(" %d", event->wd);
    for (int bit = 0; bit < 16; bit++)
        if (event->mask >> bit & 1) printf(" %s", names[bit]);
    if (event->mask & IN_ISDIR) printf(" ISDIR");
    if (event->len) printf(" %s(%u)", event->name, event->len);
    if (event->cookie) printf(event->cookie == last_cookie ? " same" : " new");
    last_cookie = event->cookie;
    printf(";");
}

/* All that has happened since the last look. */
static void look(const char *what) {
    char buffer[4096] __attribute__((aligned(8)));
    printf("%s:", what);
    for (;;) {
        long bytes = read(notices, buffer, sizeof buffer);
        if (bytes < 0) {
            if (errno != EAGAIN) printf(" %s", error());
            break;
        }
        for (long at = 0; at < bytes;) {
            const struct inotify_event *event = (const void *)(buffer + at);
            print(event);
            at += sizeof *event + event->len;
        }
    }
    printf("\n");
}

static int make(const char *name) {
    return open(name, O_CREAT | O_RDWR, 0644);
}

static void content(void) {
    char bytes[64] = "0123456789";
    int file = open("a", O_CREAT | O_RDWR | O_TRUNC, 0644);
    look("created");
    write(file, bytes, 10);
    pwrite(file, bytes, 5, 3);
    look("equal events are one");
    pread(file, bytes, 4, 0);
    struct iovec vector = {bytes, 4};
    pwritev(file, &vector, 1, 0);
    preadv(file, &vector, 1, 0);
    look("read and written");
    write(file, bytes, 0);
    lseek(file, 0, SEEK_END);
    read(file, bytes, 4);
    look("nothing");
    readv(file, &vector, 1);
    look("readv of nothing");
    ftruncate(file, 3);
    look("ftruncate");
    fallocate(file, 0, 0, 10);
    look("fallocate");
    int same = dup(file);
    close(file);
    look("closed one of two");
    close(same);
    look("closed");
    truncate("a", 4);
    look("truncate");
    close(open("a", O_WRONLY | O_TRUNC));
    look("emptied");
    close(open("a", O_RDONLY));
    close(open("a", O_PATH));
    look("opened for reading");
    int from = open("a", O_RDWR), to = make("copy");
    write(from, "some bytes", 10);
    look("two files");
    lseek(from, 0, SEEK_SET);
    sendfile(to, from, NULL, 4);
    look("sendfile");
    copy_file_range(from, NULL, to, NULL, 4, 0);
    look("copy_file_range");
    int ends[2];
    pipe(ends);
    loff_t start = 0;
    splice(from, &start, ends[1], NULL, 4, 0);
    look("splice from a file");
    splice(ends[0], NULL, to, NULL, 4, 0);
    look("splice to a file");
    close(ends[0]);
    close(ends[1]);
    close(from);
    close(to);
    unlink("copy");
    look("removed");
    close(open("absent", O_RDONLY));
    mkdir("a", 0755);
    rename("absent", "other");
    look("refused");
}

static void attributes(void) {
    int watch = inotify_add_watch(notices, "a", IN_ALL_EVENTS);
    say("watch of a file", watch);
    int file = open("a", O_RDWR);
    fchmod(file, 0600);
    look("fchmod");
    chmod("a", 0644);
    look("chmod");
    chown("a", getuid(), -1);
    look("chown");
    chown("a", -1, -1);
    look("chown to nobody");
    struct timespec times[2] = {{0, UTIME_OMIT}, {1000, 0}};
    utimensat(AT_FDCWD, "a", times, 0);
    look("time of change");
    times[0].tv_nsec = 0;
    times[1].tv_nsec = UTIME_OMIT;
    futimens(file, times);
    look("time of access");
    times[0].tv_nsec = UTIME_OMIT;
    utimensat(AT_FDCWD, "a", times, 0);
    look("no time");
    utimensat(AT_FDCWD, "a", NULL, 0);
    look("both times");
    link("a", "b");
    look("link");
    unlink("a");
    look("unlink of one name");
    symlink("b", "points");
    look("symlink");
    chmod("points", 0640);
    look("chmod through it");
    unlink("points");
    close(file);
    file = open("b", O_RDWR);
    look("its end");
    rename("b", "c");
    write(file, "x", 1);
    look("the new name of an open file");
    rename("c", "c");
    look("the same name");
    unlink("c");
    look("unlink of an open file");
    write(file, "x", 1);
    look("written without a name");
    close(file);
    look("its end");
    SAY("the watch is gone", inotify_rm_watch(notices, watch));
}

static void folders(void) {
    char entries[1024];
    mkdir("d", 0755);
    mkfifo("fifo", 0600);
    int socket_file = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr_un address = {AF_UNIX, "socket"};
    bind(socket_file, (struct sockaddr *)&address, sizeof address);
    look("mkdir, mkfifo, bind");
    unlink("fifo");
    unlink("socket");
    close(socket_file);
    int inside = inotify_add_watch(notices, "d", IN_ALL_EVENTS);
    say("watch of a folder", inside);
    look("two names");
    DIR *folder = opendir("d");
    while (readdir(folder)) {}
    closedir(folder);
    look("listed");
    chmod("d", 0700);
    look("chmod of a folder");
    close(make("d/file"));
    rename("d/file", "moved");
    rename("moved", "d/back");
    look("moved out and in");
    mkdir("e", 0755);
    int other = inotify_add_watch(notices, "e", IN_ALL_EVENTS | IN_ONLYDIR);
    say("watch of another", other);
    rename("d", "f");
    look("a folder is moved");
    close(make("f/new"));
    look("and still watched");
    renameat2(AT_FDCWD, "f", AT_FDCWD, "e", RENAME_EXCHANGE);
    look("exchanged");
    SAY("not empty", rmdir("e"));
    unlink("e/new");
    unlink("e/back");
    look("emptied");
    int held = open("e", O_RDONLY);
    rmdir("e");
    look("rmdir of an open folder");
    close(held);
    look("its end");
    mkdir("over", 0755);
    rename("over", "f");
    look("replaced");
    SAY("watch of what replaced it", inotify_add_watch(notices, "f", IN_ALL_EVENTS));
    chdir("f");
    rmdir("../f");
    look("rmdir of the working folder");
    chdir("..");
    look("its end");
    inotify_rm_watch(notices, 1);
    int unnamed = open(".", O_TMPFILE | O_RDWR, 0600);
    say("without a name", unnamed < 0 ? -1 : 0);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", unnamed);
    look("no watch of the folder");
    SAY("the next one", inotify_add_watch(notices, ".", IN_CREATE | IN_DELETE));
    linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW);
    look("a name for it");
    close(unnamed);
    unlink("named");
    look("only what is asked for");
}

static void masks(void) {
    close(make("g"));
    look("-");
    int watch = inotify_add_watch(notices, "g", IN_OPEN);
    SAY("more events", inotify_add_watch(notices, "g", IN_MODIFY | IN_MASK_ADD) == watch);
    SAY("exists", inotify_add_watch(notices, "g", IN_MODIFY | IN_MASK_CREATE));
    close(open("g", O_RDWR | O_TRUNC));
    look("two kinds");
    SAY("others", inotify_add_watch(notices, "g", IN_CLOSE) == watch);
    close(open("g", O_RDONLY));
    look("one kind");
    SAY("once", inotify_add_watch(notices, "g", IN_OPEN | IN_ONESHOT) == watch);
    close(open("g", O_RDONLY));
    close(open("g", O_RDONLY));
    look("told once");
    SAY("gone", inotify_rm_watch(notices, watch));
    symlink("g", "link");
    look("-");
    watch = inotify_add_watch(notices, "link", IN_ATTRIB | IN_DELETE_SELF | IN_DONT_FOLLOW);
    unlink("link");
    look("a link itself");
    mkdir("h", 0755);
    watch = inotify_add_watch(notices, "h", IN_OPEN | IN_CLOSE | IN_MODIFY | IN_EXCL_UNLINK);
    int file = make("h/x");
    unlink("h/x");
    write(file, "x", 1);
    close(file);
    look("nothing of what has no name");
    inotify_rm_watch(notices, watch);
    rmdir("h");
    look("removed");
    SAY("no events", inotify_add_watch(notices, ".", 0));
    SAY("unknown events", inotify_add_watch(notices, ".", 0x10000));
    SAY("both ways", inotify_add_watch(notices, ".", IN_OPEN | IN_MASK_ADD | IN_MASK_CREATE));
    SAY("no folder", inotify_add_watch(notices, "g", IN_OPEN | IN_ONLYDIR));
    SAY("no file", inotify_add_watch(notices, "absent", IN_OPEN));
    SAY("no path", inotify_add_watch(notices, (char *)8, IN_OPEN));
    SAY("no instance", inotify_add_watch(0, ".", IN_OPEN));
    SAY("no descriptor", inotify_add_watch(77, ".", IN_OPEN));
    SAY("no watch", inotify_rm_watch(notices, 4711));
    SAY("no instance", inotify_rm_watch(0, 1));
    SAY("no descriptor", inotify_rm_watch(77, 1));
    SAY("flags", inotify_init1(1));
}

static void *change_later(void *nothing) {
    struct timespec while_ = {0, 20 * 1000 * 1000};
    nanosleep(&while_, NULL);
    chmod("g", 0600);
    return nothing;
}

static void reading(void) {
    char buffer[64] __attribute__((aligned(8)));
    int waiting = 0;
    int watch = inotify_add_watch(notices, "g", IN_OPEN | IN_CLOSE | IN_ATTRIB);
    struct pollfd polled = {notices, POLLIN | POLLOUT, 0};
    SAY("poll of nothing", poll(&polled, 1, 0));
    int set = epoll_create1(0);
    struct epoll_event event = {EPOLLIN | EPOLLET, {0}};
    SAY("epoll", epoll_ctl(set, EPOLL_CTL_ADD, notices, &event));
    SAY("epoll of nothing", epoll_wait(set, &event, 1, 0));
    close(open("g", O_RDONLY));
    SAY("poll", poll(&polled, 1, 0));
    say("ready to read only", polled.revents == POLLIN);
    SAY("epoll of an event", epoll_wait(set, &event, 1, 0));
    SAY("epoll again", epoll_wait(set, &event, 1, 0));
    ioctl(notices, FIONREAD, &waiting);
    say("FIONREAD", waiting);
    SAY("a short buffer", read(notices, buffer, 15));
    SAY("one event", read(notices, buffer, 31));
    SAY("the other one", read(notices, buffer, sizeof buffer));
    SAY("none", read(notices, buffer, sizeof buffer));
    SAY("short and none", read(notices, buffer, 1));
    SAY("pread", pread(notices, buffer, sizeof buffer, 0));
    SAY("write", write(notices, buffer, sizeof buffer));
    SAY("lseek", lseek(notices, 0, SEEK_SET));
    char path[32], target[64] = "";
    snprintf(path, sizeof path, "/proc/self/fd/%d", notices);
    readlink(path, target, sizeof target - 1);
    printf("%s\n", target);
    close(open("g", O_RDONLY));
    SAY("read nowhere", read(notices, (void *)8, 64));
    while (read(notices, buffer, sizeof buffer) > 0) {}

    fcntl(notices, F_SETFL, 0);
    pthread_t thread;
    pthread_create(&thread, NULL, change_later, NULL);
    SAY("waited for a thread", read(notices, buffer, 16));
    pthread_join(thread, NULL);
    fcntl(notices, F_SETFL, O_NONBLOCK);
    look("and nothing else");
    fflush(stdout);
    int child = fork();
    if (child == 0) {
        close(open("g", O_RDWR));
        int left = open("g", O_RDONLY);
        _exit(left < 0);
    }
    fcntl(notices, F_SETFL, 0);
    SAY("waited for a process", read(notices, buffer, 16));
    waitpid(child, NULL, 0);
    fcntl(notices, F_SETFL, O_NONBLOCK);
    look("closed at its end");
    fflush(stdout);
    int second = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    SAY("numbers of another", inotify_add_watch(second, "g", IN_OPEN));
    close(open("g", O_RDONLY));
    SAY("told, too", read(second, buffer, sizeof buffer));
    close(second);
    inotify_rm_watch(notices, watch);
    look("the end of a watch");
    unlink("g");
    look("only its name");
}

/* More events than a queue holds. */
static void too_many(void) {
    char buffer[4096] __attribute__((aligned(8)));
    int waiting = 0, count = 0, last = 0, files[2] = {make("k"), make("l")};
    inotify_add_watch(notices, ".", IN_ATTRIB);
    for (int index = 0; index < 16390; index++) fchmod(files[index % 2], 0644);
    ioctl(notices, FIONREAD, &waiting);
    say("FIONREAD", waiting);
    for (long bytes; (bytes = read(notices, buffer, sizeof buffer)) > 0;)
        for (long at = 0; at < bytes; count++) {
            const struct inotify_event *event = (const void *)(buffer + at);
            last = event->wd == -1 && event->mask == IN_Q_OVERFLOW && event->len == 0;
            at += sizeof *event + event->len;
        }
    say("events", count);
    say("the last one tells of the loss", last);
    fchmod(files[0], 0600);
    look("and it goes on");
    unlink("k");
    unlink("l");
}

int main(void) {
    notices = inotify_init1(IN_NONBLOCK);
    SAY("watch", inotify_add_watch(notices, ".", IN_ALL_EVENTS));
    content();
    attributes();
    folders();
    masks();
    reading();
    too_many();
    return 0;
}
