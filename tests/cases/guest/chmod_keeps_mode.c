/* Modes that a program gives to its files are those that it sees, under its own umask. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

int main(void) {
    struct stat s;
    int fd = open("cm_f", O_CREAT | O_RDWR | O_TRUNC, 0644);
    int r = chmod("cm_f", 0600);
    int e = errno;
    stat("cm_f", &s);
    printf("chmod=%d errno=%d mode=%o\n", r, r ? e : 0, s.st_mode & 07777);
    r = fchmod(fd, 0400);
    fstat(fd, &s);
    printf("fchmod=%d mode=%o\n", r, s.st_mode & 07777);
    unlink("cm_f");
    umask(0);
    close(open("cm_g", O_CREAT | O_WRONLY, 0666));
    mkdir("cm_d", 0777);
    stat("cm_g", &s);
    printf("umask 0: %o", s.st_mode & 07777);
    stat("cm_d", &s);
    printf(" %o\n", s.st_mode & 07777);
    unlink("cm_g");
    rmdir("cm_d");
    return 0;
}
