/* swap N: exchanges the folder d and the link lnk, over and over. read N: opens d/secret and says how often it
   was the secret of the outside; the exit code is 1 if it ever was. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv) {
    long tries = atol(argv[2]), hits = 0;
    for (long i = 0; i < tries; i++) {
        if (!strcmp(argv[1], "swap")) {
            rename("d", "tmp");
            rename("lnk", "d");
            rename("d", "lnk");
            rename("tmp", "d");
            continue;
        }
        char text[64];
        int fd = open("d/secret", O_RDONLY);
        if (fd < 0)
            continue;
        long n = read(fd, text, 63);
        text[n > 0 ? n : 0] = 0;
        hits += strstr(text, "TOPSECRET") != NULL;
        close(fd);
    }
    printf("%ld escapes\n", hits);
    return hits != 0;
}
