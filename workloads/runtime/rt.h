/* The whole interface of the freestanding runtime that guest programs link with.
 *
 * It offers just what the ten programs need: buffered output, a small printf, memory and string
 * functions, an allocator over brk, a seeded generator and a checksum.  Nothing here depends on the
 * instruction set; what does lives in the folder named after it (crt0.S).  A port needs 64-bit
 * little-endian integers and pointers and must not rely on the signedness of char. */
#ifndef RT_H
#define RT_H

#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define NOINLINE __attribute__((noinline))
#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))

/* System calls; a negative result is the negated errno. */
long rt_sys_read(long fd, void *buf, size_t len);
long rt_sys_write(long fd, const void *buf, size_t len);
long rt_sys_brk(void *end);
void rt_sys_exit(long code) __attribute__((noreturn));

/* Flushes the output and ends the program. */
void exit(int code) __attribute__((noreturn));
/* Prints "PROGRAM: MESSAGE" on standard error and ends with code 1: an internal check failed. */
void rt_fail(const char *message) __attribute__((noreturn));

/* Memory and strings, as in ISO C. */
void *memcpy(void *dst, const void *src, size_t n);
void *memmove(void *dst, const void *src, size_t n);
void *memset(void *dst, int byte, size_t n);
int memcmp(const void *a, const void *b, size_t n);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
char *strcpy(char *dst, const char *src);
void qsort(void *base, size_t n, size_t size, int (*compare)(const void *, const void *));

/* Allocation.  malloc never returns NULL: it ends the program with a message instead. */
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *p, size_t size);
void free(void *p);
/* Number of blocks that are allocated and not yet freed. */
size_t rt_live_blocks(void);

/* Formatted output: %d %u %x %c %s %% with width, '-', '0' and the modifiers l and ll. */
int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int snprintf(char *buf, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
int vsnprintf(char *buf, size_t size, const char *format, va_list args);
void rt_flush(void);

/* How much work a run does; chosen by the program's only argument, "small" if there is none. */
enum workload_size { WORKLOAD_SMALL, WORKLOAD_LARGE };
/* Reads the argument; on a bad one prints the usage on standard error and exits with code 2. */
enum workload_size workload_size(int argc, char **argv);

/* xorshift64*: the only source of variety in the inputs. */
struct rng {
    uint64_t state;
};
void rng_seed(struct rng *rng, uint64_t seed);
uint64_t rng_next(struct rng *rng);
/* A number in [0, bound), bound > 0. */
uint32_t rng_below(struct rng *rng, uint32_t bound);

/* FNV-1a over bytes and over the eight bytes of a word. */
#define CHECKSUM_START UINT64_C(0xcbf29ce484222325)
uint64_t checksum_bytes(uint64_t sum, const void *data, size_t n);
uint64_t checksum_word(uint64_t sum, uint64_t word);

#ifdef __cplusplus
}

inline void *operator new(size_t, void *place) noexcept { return place; }
#endif
#endif
