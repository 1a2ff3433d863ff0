/* A heap of 3 GiB in one piece and one of 64 blocks, sparsely written. Right (native): "3 GiB ok, blocks ok". */
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    const size_t size = 3ul << 30, step = 16ul << 20;
    char *p = malloc(size);
    if (!p) {
        perror("malloc");
        return 1;
    }
    for (size_t i = 0; i < size; i += step) p[i] = (char)(i / step);
    int ok = 1;
    for (size_t i = 0; i < size; i += step) ok &= p[i] == (char)(i / step);
    printf("3 GiB %s, ", ok ? "ok" : "FAIL");
    free(p);
    static char *blocks[64];
    for (int i = 0; i < 64; i++) {
        blocks[i] = malloc(48ul << 20);
        if (!blocks[i]) return 1;
        blocks[i][i] = i;
    }
    for (int i = 0; i < 64; i++) ok &= blocks[i][i] == i;
    printf("blocks %s\n", ok ? "ok" : "FAIL");
    return 0;
}
