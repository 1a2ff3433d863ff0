// Calls functions of libraries, of libraries that it opens and closes, of code that it makes, and of another program, each
// as often as the numbers here say.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int shared_leaf(int value);
int shared_outer(int times);

typedef int Function(int);

static int call_opened(const char *library, const char *name, int times)
{
    void *handle = dlopen(library, RTLD_NOW);
    if (!handle) {
        puts(dlerror());
        exit(3);
    }
    Function *function = (Function *)dlsym(handle, name);
    int sum = 0;
    for (int i = 0; i < times; i++)
        sum += function(i);
    dlclose(handle);
    return sum;
}

// Adds one to its argument.
static const uint32_t ADD_ONE[] = {
#ifdef __alpha__
    0x42003000, 0x6bfa8001
#else
    0x00150513, 0x00008067
#endif
};

struct Dump {
    uint32_t magic, version, size, machine, pad, pid;
    uint64_t time, flags;
    uint32_t kind, record_size;
    uint64_t record_time;
    uint32_t record_pid, thread;
    uint64_t address, code_address, code_size, index;
    char name[16];
    uint32_t code[2];
};

static void make_code(void)
{
    char path[64];
    char *code = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memcpy(code, ADD_ONE, sizeof ADD_ONE);
    memcpy(code + 64, ADD_ONE, sizeof ADD_ONE);
    __builtin___clear_cache(code, code + 128);

    sprintf(path, "/tmp/perf-%d.map", getpid());
    FILE *map = fopen(path, "w");
    fprintf(map, "%lx %lx made by a compiler\n", (long)code, sizeof ADD_ONE);
    fclose(map);

    struct Dump dump = {
        0x4a695444, 1, 40, 0, 0, getpid(), 0, 0,
        0, sizeof(struct Dump) - 40, 0, getpid(), getpid(),
        (uint64_t)(code + 64), (uint64_t)(code + 64), sizeof ADD_ONE, 1, "dumped_function", {0, 0},
    };
    sprintf(path, "/tmp/jit-%d.dump", getpid());
    int fd = open(path, O_CREAT | O_RDWR, 0600);
    write(fd, &dump, sizeof dump);
    // perf finds the file by this mapping.
    mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    close(fd);

    int sum = 0;
    for (int i = 0; i < 9; i++)
        sum += ((Function *)code)(i);
    for (int i = 0; i < 11; i++)
        sum += ((Function *)(code + 64))(i);
    printf("%d\n", sum);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "";
    int sum = 0;
    if (!strcmp(what, "open")) {
        sum += call_opened("libfirst.so", "first_opened", 7);
        sum += call_opened("libother.so", "other_opened", 5);
    } else if (!strcmp(what, "often")) {
        sum += shared_outer(3000);
        sum += call_opened("libfirst.so", "first_opened", 3000);
        sum += call_opened("libother.so", "other_opened", 2000);
    } else if (!strcmp(what, "close")) {
        sum += call_opened("libfirst.so", "first_opened", 7);
    } else if (!strcmp(what, "make")) {
        make_code();
    } else if (!strcmp(what, "fork")) {
        if (fork() == 0) {
            execl("/bin/symbols", "symbols", NULL);
            _exit(4);
        }
        wait(&sum);
    } else {
        for (int i = 0; i < 100; i++)
            sum += shared_leaf(i);
        sum += shared_outer(50);
        for (int i = 0; i < 30; i++)
            sum += a64l("./01");
    }
    printf("%d\n", sum);
    return 0;
}
