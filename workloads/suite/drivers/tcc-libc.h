/* As much of a C library's headers as tcc's own sources need, so that what tcc compiles does not
   depend on the headers of some machine. Each of the standard names holds this file. */
#ifndef TCC_LIBC_H
#define TCC_LIBC_H

#include <stdarg.h>
#include <stddef.h>

typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef long intptr_t;
typedef unsigned long uintptr_t;
typedef long ssize_t;
typedef long off_t;
typedef long time_t;
typedef unsigned int mode_t;

typedef struct _IO_FILE FILE;
extern FILE *stdin, *stdout, *stderr;
#define EOF (-1)
#define SEEK_SET 0
#define SEEK_CUR 1
#define SEEK_END 2
FILE *fopen(const char *, const char *);
FILE *fdopen(int, const char *);
FILE *freopen(const char *, const char *, FILE *);
int fclose(FILE *);
int fflush(FILE *);
int fprintf(FILE *, const char *, ...);
int vfprintf(FILE *, const char *, va_list);
int printf(const char *, ...);
int sprintf(char *, const char *, ...);
int snprintf(char *, size_t, const char *, ...);
int vsnprintf(char *, size_t, const char *, va_list);
int sscanf(const char *, const char *, ...);
int fputs(const char *, FILE *);
int fputc(int, FILE *);
int fgetc(FILE *);
char *fgets(char *, int, FILE *);
int puts(const char *);
size_t fwrite(const void *, size_t, size_t, FILE *);
size_t fread(void *, size_t, size_t, FILE *);
int fseek(FILE *, long, int);
long ftell(FILE *);
int remove(const char *);

void *malloc(size_t);
void *calloc(size_t, size_t);
void *realloc(void *, size_t);
void free(void *);
void exit(int);
void abort(void);
char *getenv(const char *);
int atoi(const char *);
long strtol(const char *, char **, int);
unsigned long strtoul(const char *, char **, int);
long long strtoll(const char *, char **, int);
unsigned long long strtoull(const char *, char **, int);
double strtod(const char *, char **);
void qsort(void *, size_t, size_t, int (*)(const void *, const void *));

void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
size_t strlen(const char *);
char *strcpy(char *, const char *);
char *strncpy(char *, const char *, size_t);
char *strcat(char *, const char *);
int strcmp(const char *, const char *);
int strncmp(const char *, const char *, size_t);
char *strchr(const char *, int);
char *strrchr(const char *, int);
char *strstr(const char *, const char *);
char *strpbrk(const char *, const char *);
char *strdup(const char *);
char *strerror(int);

extern int errno;
#define EINTR 4
double ldexp(double, int);
long double ldexpl(long double, int);

#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 64
#define O_TRUNC 512
int open(const char *, int, ...);
int close(int);
ssize_t read(int, void *, size_t);
ssize_t write(int, const void *, size_t);
off_t lseek(int, off_t, int);
int unlink(const char *);
char *getcwd(char *, size_t);
extern char **environ;
int execvp(const char *, char *const[]);
int dup(int);
int access(const char *, int);

#define PROT_READ 1
#define PROT_WRITE 2
#define PROT_EXEC 4
int mprotect(void *, size_t, int);

typedef struct {
    long registers[32];
} jmp_buf[1];
int setjmp(jmp_buf);
void longjmp(jmp_buf, int);

struct tm {
    int tm_sec, tm_min, tm_hour, tm_mday, tm_mon, tm_year, tm_wday, tm_yday, tm_isdst;
};
struct timeval {
    long tv_sec, tv_usec;
};
time_t time(time_t *);
struct tm *localtime(const time_t *);
int gettimeofday(struct timeval *, void *);

typedef struct {
    long value[4];
} sem_t;
int sem_init(sem_t *, int, unsigned);
int sem_wait(sem_t *);
int sem_post(sem_t *);

typedef struct {
    struct {
        unsigned long pc, regs[31];
    } uc_mcontext;
} ucontext_t;
typedef struct {
    int si_signo, si_code;
} siginfo_t;
typedef struct {
    unsigned long bits[16];
} sigset_t;
struct sigaction {
    void (*sa_sigaction)(int, siginfo_t *, void *);
    sigset_t sa_mask;
    int sa_flags;
};
#define SIGILL 4
#define SIGABRT 6
#define SIGBUS 7
#define SIGFPE 8
#define SIGSEGV 11
#define SA_SIGINFO 4
#define SA_RESETHAND 8
#define FPE_INTDIV 1
#define FPE_FLTDIV 3
int sigaction(int, const struct sigaction *, struct sigaction *);
int sigemptyset(sigset_t *);

#define assert(condition) ((condition) ? (void)0 : abort())

#endif
