// Changes a folder in the usual ways, and prints what comes of each: the working folder holds what the test has put there.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static void said(const char *what, int result) {
    printf("%s: %s\n", what, result < 0 ? strerror(errno) : "done");
}

static void show(const char *path) {
    char text[64];
    struct stat is;
    int fd = open(path, O_RDONLY);
    long len = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (len < 0 || fstat(fd, &is)) {
        printf("%s: %s\n", path, strerror(errno));
        return;
    }
    text[len] = 0;
    printf("%s: %ld bytes, mode %o, links %d: %s\n", path, (long)is.st_size, is.st_mode & 0777, (int)is.st_nlink, text);
    close(fd);
}

static void put(const char *path, int flags, const char *text) {
    int fd = open(path, O_WRONLY | flags, 0640);
    said(path, fd < 0 ? fd : (int)write(fd, text, strlen(text)));
    close(fd);
}

static void list(const char *path) {
    struct dirent **names;
    int count = scandir(path, &names, NULL, alphasort);
    printf("%s:", path);
    for (int i = 0; i < count; i++) printf(" %s/%d", names[i]->d_name, names[i]->d_type);
    printf("\n");
}

int main(void) {
    umask(022);
    struct stat is;
    printf("size %ld before it is opened\n", stat("a/data", &is) ? -1L : (long)is.st_size);
    int early = open("a/data", O_RDONLY);
    put("a/data", O_APPEND, "and more\n");
    char text[64] = "";
    printf("an early descriptor reads %ld\n", (long)pread(early, text, 63, 0));
    show("a/data");
    said("truncate", truncate("b", 3));
    show("b");
    said("link", link("b", "hard"));
    put("hard", 0, "HARD");
    show("b");
    said("unlink", unlink("gone"));
    show("gone");
    said("again", unlink("gone"));
    put("gone", O_CREAT | O_EXCL, "new\n");
    show("gone");
    said("exclusive", open("empty", O_CREAT | O_EXCL | O_WRONLY, 0600));
    said("chmod", chmod("plain", 0600));
    show("plain");
    said("rename over", rename("plain", "over"));
    show("over");
    show("plain");
    said("rmdir of a full folder", rmdir("a/deep"));
    said("rename of a folder", rename("a/deep", "moved"));
    show("moved/er/file");
    show("a/deep/er/file");
    show("short/er/file");
    said("symlink", symlink("moved", "way"));
    show("way/er/../er/file");
    said("mkdir", mkdir("made", 0750));
    said("mkdir over", mkdir("a", 0755));
    put("made/x", O_CREAT, "x\n");
    said("rmdir", rmdir("hollow"));
    said("rename onto a full folder", rename("made", "a"));
    said("unlink of a folder", unlink("a"));
    int fd = open("mapped", O_RDWR);
    char *bytes = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memcpy(bytes, "MAPPED", 6);
    said("msync", msync(bytes, 4096, MS_SYNC));
    show("mapped");
    put("cut", O_TRUNC, "short\n");
    show("cut");
    said("chdir", chdir("many"));
    for (int i = 0; i < 20; i += 2) {
        char name[8];
        sprintf(name, "f%d", i);
        if (unlink(name)) said(name, -1);
    }
    list(".");
    list("..");
    show("../moved/er/file");
    return 0;
}
