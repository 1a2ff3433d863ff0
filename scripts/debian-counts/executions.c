// A plugin of QEMU's user mode (versions 7 and 8, plugin API 1): counts how often each instruction runs, by mapped file
// and offset in it.
//
//     cc -shared -fPIC -O2 -o executions.so executions.c
//     qemu-riscv64 -plugin executions.so,out=FILE PROGRAM
//
// Each line of FILE has the count, the offset in hexadecimal and the path; code outside of files has its address and the
// path `-`. A child process writes FILE.PID. Instructions are counted when their translated block is entered: one that
// faults is counted with all behind it in its block.

#include <inttypes.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The part of qemu-plugin.h that is used here: Debian's packages of QEMU have no header.
typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
struct qemu_info;
typedef void (*translated_fn)(qemu_plugin_id_t, struct qemu_plugin_tb *);
typedef void (*executed_fn)(unsigned int vcpu, void *data);
typedef void (*returned_fn)(qemu_plugin_id_t, unsigned int vcpu, int64_t number, int64_t result);
typedef void (*exit_fn)(qemu_plugin_id_t, void *data);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_fn);
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *, executed_fn, int flags, void *data);
void qemu_plugin_register_vcpu_syscall_ret_cb(qemu_plugin_id_t, returned_fn);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, exit_fn, void *data);
size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *);
struct qemu_plugin_insn *qemu_plugin_tb_get_insn(const struct qemu_plugin_tb *, size_t);
uint64_t qemu_plugin_insn_vaddr(const struct qemu_plugin_insn *);
void *qemu_plugin_insn_haddr(const struct qemu_plugin_insn *);

__attribute__((visibility("default"))) int qemu_plugin_version = 1;

// System calls of riscv64 that change what lies where.
enum { MUNMAP = 215, MREMAP = 216, EXECVE = 221, MMAP = 222, MPROTECT = 226 };

// An instruction of a block: a file (its place in `files`, -1 outside of all) and the offset there.
struct place {
    uint64_t offset;
    int32_t file;
};

struct block {
    uint64_t count;
    struct block *next;
    size_t places;
    struct place place[];
};

// A mapping of this process.
struct mapping {
    uint64_t start, end, offset;
    int32_t file;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *blocks;
static char **files;
static int32_t file_count;
static struct mapping *mappings;
static size_t mapping_count;
static bool is_current;
static const char *out;
static pid_t first;

static void *grown(void *memory, size_t bytes) {
    void *bigger = realloc(memory, bytes);
    if (!bigger) {
        perror("executions.so");
        exit(1);
    }
    return bigger;
}

static int32_t file_of(const char *path) {
    for (int32_t at = file_count; at-- > 0;)
        if (!strcmp(files[at], path))
            return at;
    files = grown(files, (file_count + 1) * sizeof *files);
    files[file_count] = strdup(path);
    return file_count++;
}

static void read_mappings(void) {
    FILE *maps = fopen("/proc/self/maps", "r");
    char line[8192];
    mapping_count = 0;
    while (maps && fgets(line, sizeof line, maps)) {
        struct mapping one = {.file = -1};
        int path = 0;
        if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &one.start, &one.end, &one.offset, &path) < 3)
            continue;
        line[strcspn(line, "\n")] = 0;
        if (path && line[path] == '/')
            one.file = file_of(line + path);
        mappings = grown(mappings, (mapping_count + 1) * sizeof *mappings);
        mappings[mapping_count++] = one;
    }
    if (maps)
        fclose(maps);
    is_current = true;
}

static struct place place_of(uint64_t guest, uint64_t host) {
    for (size_t at = 0; at < mapping_count; at++) {
        const struct mapping *one = &mappings[at];
        if (one->start <= host && host < one->end && one->file >= 0)
            return (struct place){host - one->start + one->offset, one->file};
    }
    return (struct place){guest, -1};
}

static void executed(unsigned int vcpu, void *data) {
    (void)vcpu;
    __atomic_fetch_add(&((struct block *)data)->count, 1, __ATOMIC_RELAXED);
}

static void translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb) {
    (void)id;
    pthread_mutex_lock(&lock);
    if (!is_current)
        read_mappings();
    size_t count = qemu_plugin_tb_n_insns(tb);
    struct block *block = grown(NULL, sizeof *block + count * sizeof block->place[0]);
    block->count = 0;
    block->places = count;
    for (size_t at = 0; at < count; at++) {
        struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(tb, at);
        uint64_t host = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(insn);
        block->place[at] = place_of(qemu_plugin_insn_vaddr(insn), host);
    }
    block->next = blocks;
    blocks = block;
    pthread_mutex_unlock(&lock);
    qemu_plugin_register_vcpu_tb_exec_cb(tb, executed, 0, block);
}

static void returned(qemu_plugin_id_t id, unsigned int vcpu, int64_t number, int64_t result) {
    (void)id, (void)vcpu, (void)result;
    if (number == MUNMAP || number == MREMAP || number == MMAP || number == MPROTECT || number == EXECVE) {
        pthread_mutex_lock(&lock);
        is_current = false;
        pthread_mutex_unlock(&lock);
    }
}

struct sum {
    struct place place;
    uint64_t count;
};

static int by_place(const void *left, const void *right) {
    const struct place *a = &((const struct sum *)left)->place, *b = &((const struct sum *)right)->place;
    if (a->file != b->file)
        return a->file < b->file ? -1 : 1;
    return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static void ended(qemu_plugin_id_t id, void *data) {
    (void)id, (void)data;
    char name[4096];
    snprintf(name, sizeof name, getpid() == first ? "%s" : "%s.%d", out, (int)getpid());
    pthread_mutex_lock(&lock);
    size_t count = 0;
    for (struct block *block = blocks; block; block = block->next)
        count += block->count ? block->places : 0;
    struct sum *sums = grown(NULL, (count + 1) * sizeof *sums);
    count = 0;
    for (struct block *block = blocks; block; block = block->next)
        for (size_t at = 0; block->count && at < block->places; at++)
            sums[count++] = (struct sum){block->place[at], block->count};
    qsort(sums, count, sizeof *sums, by_place);
    FILE *file = fopen(name, "w");
    if (!file) {
        perror(name);
        _exit(1);
    }
    for (size_t at = 0; at < count;) {
        struct sum sum = sums[at++];
        for (; at < count && !by_place(&sums[at], &sum); at++)
            sum.count += sums[at].count;
        const char *path = sum.place.file < 0 ? "-" : files[sum.place.file];
        fprintf(file, "%" PRIu64 " %" PRIx64 " %s\n", sum.count, sum.place.offset, path);
    }
    if (fclose(file)) {
        perror(name);
        _exit(1);
    }
    pthread_mutex_unlock(&lock);
}

__attribute__((visibility("default"))) int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info,
                                                               int argc, char **argv) {
    (void)info;
    for (int at = 0; at < argc; at++)
        if (!strncmp(argv[at], "out=", 4))
            out = strdup(argv[at] + 4);
    if (!out) {
        fprintf(stderr, "executions.so: name the file of the counts: -plugin executions.so,out=FILE\n");
        return 1;
    }
    first = getpid();
    qemu_plugin_register_vcpu_tb_trans_cb(id, translated);
    qemu_plugin_register_vcpu_syscall_ret_cb(id, returned);
    qemu_plugin_register_atexit_cb(id, ended, NULL);
    return 0;
}
