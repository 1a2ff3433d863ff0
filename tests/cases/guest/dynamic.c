// A dynamic program: constructors, thread-local data, a thread, a library that is opened by name, the auxiliary vector.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

extern char **environ;
extern void _start(void);

static __thread int mine = 7;
static int built;

__attribute__((constructor(101))) static void first(void) { built = 10 * built + 1; }
__attribute__((constructor(102))) static void second(void) { built = 10 * built + 2; }
__attribute__((destructor)) static void last(void) { write(1, "destructor\n", 11); }

static void *other(void *to) {
    mine += 5;
    *(int *)to = mine;
    return NULL;
}

static int is_libc(struct dl_phdr_info *info, size_t size, void *found) {
    (void)size;
    if (strstr(info->dlpi_name, "libc.so")) *(int *)found += 1;
    return 0;
}

static void auxiliary(void) {
    const unsigned char *base = (const unsigned char *)getauxval(AT_BASE);
    const ElfW(Phdr) *table = (const ElfW(Phdr) *)getauxval(AT_PHDR);
    const char *name = (const char *)getauxval(AT_EXECFN);
    int interpreters = 0;
    for (unsigned long i = 0; i < getauxval(AT_PHNUM); i++) interpreters += table[i].p_type == PT_INTERP;
    printf("loader %d, PT_INTERP %d, entry %d, header %lu, page %lu, secure %lu, random %d, name %s\n",
           base && !memcmp(base, ELFMAG, SELFMAG), interpreters, getauxval(AT_ENTRY) == (unsigned long)_start,
           getauxval(AT_PHENT), getauxval(AT_PAGESZ), getauxval(AT_SECURE), getauxval(AT_RANDOM) != 0,
           name ? strrchr(name, '/') + 1 : "none");
}

int main(int argc, char **argv) {
    if (argc > 2 && !strcmp(argv[1], "exec")) {
        printf("executes %s\n", argv[2]);
        fflush(stdout);
        execve(argv[2], argv + 2, environ);
        printf("refused: %s\n", strerror(errno));
        return 3;
    }
    if (argc > 1 && !strcmp(argv[1], "arguments")) {
        for (int i = 0; i < argc; i++) printf("[%s]", argv[i]);
        printf("\n");
        fflush(stdout);
        _exit(0);
    }
    printf("constructors %d\n", built);
    auxiliary();
    int there = 0;
    pthread_t thread;
    if (pthread_create(&thread, NULL, other, &there) || pthread_join(thread, NULL)) return 1;
    printf("thread-local %d here, %d there\n", mine, there);
    void *part = dlopen("/lib/libpart.so", RTLD_NOW);
    if (!part) {
        printf("dlopen: %s\n", dlerror());
        return 2;
    }
    int (*twice)(int) = (int (*)(int))dlsym(part, "twice");
    int *count = (int *)dlsym(part, "part_count");
    printf("twice %d, count %d, missing %d\n", twice(21), *count, dlsym(part, "missing") == NULL);
    printf("closed %d\n", dlclose(part));
    int libc = 0;
    dl_iterate_phdr(is_libc, &libc);
    volatile double two = 2;
    printf("libc %d, root %.6f\n", libc, sqrt(two) + pow(two, 0.5));
    char *text = strdup("a string of the heap");
    printf("%s, %zu\n", text, strlen(text));
    free(text);
    return 0;
}
