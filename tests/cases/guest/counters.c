/* Reads the counters that the machine selects: instructions of this context, of its core, and misses of its data cache. */
#include <stdio.h>
#include <stdlib.h>

#define READ(csr) ({ unsigned long v; __asm__ volatile("csrr %0, " #csr : "=r"(v)::"memory"); v; })

int main(void) {
    unsigned long instret = READ(instret), own = READ(hpmcounter3), core = READ(hpmcounter4);
    volatile char *big = malloc(1 << 20);
    unsigned long before = READ(hpmcounter5);
    for (int i = 0; i < 1 << 20; i += 64)
        big[i]++;
    unsigned long misses = READ(hpmcounter5) - before;
    unsigned long from = READ(cycle);
    for (int i = 0; i < 25; i++) {
        READ(cycle);
        READ(cycle);
        READ(cycle);
        READ(cycle);
    }
    unsigned long cycles = READ(cycle) - from;
    printf("apart %lu %lu, misses %d, read in %lu\n", own - instret, core - own, misses > 16000 && misses < 17000,
           cycles / 100);
}
