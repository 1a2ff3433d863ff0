/* Code that a program changes is what it was until the program says so (fence.i). */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

int main(void) {
    uint32_t *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*function)(void) = (int (*)(void))code;
    code[0] = 0x00100513; /* li a0, 1 */
    code[1] = 0x00008067; /* ret */
    __asm__ volatile("fence.i");
    int first = function();
    code[0] = 0x00200513; /* li a0, 2 */
    for (volatile int i = 0; i < 10000; i++) {
    }
    int stale = function();
    __asm__ volatile("fence.i");
    printf("%d %d %d\n", first, stale, function());
}
