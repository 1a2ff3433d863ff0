/* Copies standard input slowly; the exit code is the number of bytes, modulo 251. */
#include <stdio.h>

int main(void) {
    int c, n = 0;
    unsigned long s = 0;
    while ((c = getchar()) != EOF) {
        n++;
        for (int i = 0; i < 400; i++) s = s * 31 + c;
        putchar(c);
    }
    fprintf(stderr, "%lu\n", s);
    return n % 251;
}
