/* A program without a library that makes calls of OSF/1: it copies standard input to a file, reads it
 * back in capitals, and prints its arguments, sizes and the result of a few calls. */
typedef unsigned long word;

static long failed;

static long call(long number, word a, word b, word c, word d, word e, word f)
{
    register long v0 __asm__("$0") = number;
    register word r16 __asm__("$16") = a;
    register word r17 __asm__("$17") = b;
    register word r18 __asm__("$18") = c;
    register word r19 __asm__("$19") = d;
    register word r20 __asm__("$20") = e;
    register word r21 __asm__("$21") = f;
    __asm__ volatile("call_pal 0x83"
                     : "+r"(v0), "+r"(r19), "+r"(r20)
                     : "r"(r16), "r"(r17), "r"(r18), "r"(r21)
                     : "memory", "$1", "$2", "$3", "$4", "$5", "$6", "$7", "$8", "$22", "$23", "$24", "$25", "$28");
    failed = r19;
    return v0;
}

enum { EXIT = 1, READ = 3, WRITE = 4, CLOSE = 6, UNLINK = 10, BRK = 17, LSEEK = 19, OPEN = 45,
       SIGPROCMASK = 48, IOCTL = 54, GETPAGESIZE = 64, MMAP = 71, FSTAT = 91, GETTIMEOFDAY = 116,
       GETRUSAGE = 117, UTSNAME = 207 };

extern char _end[];
static volatile char zeros[10000];
static volatile int counter = 5;
static char buffer[256];

static void text(const char *s)
{
    word n = 0;
    while (s[n])
        n++;
    call(WRITE, 1, (word)s, n, 0, 0, 0);
}

static void number(const char *name, long value)
{
    char digits[32], *p = digits + 31;
    word rest = value < 0 ? -value : value;
    *p = 0;
    *--p = '\n';
    do
        *--p = '0' + rest % 10;
    while (rest /= 10);
    if (value < 0)
        *--p = '-';
    text(name);
    text(" ");
    text(p);
}

void start(long argc, char **argv)
{
    number("argc", argc);
    for (long i = 0; i < argc; i++) {
        text(argv[i]);
        text("\n");
    }
    long fd = call(OPEN, (word) "copy", 03002, 0644, 0, 0, 0);
    long got;
    while ((got = call(READ, 0, (word)buffer, sizeof buffer, 0, 0, 0)) > 0)
        call(WRITE, fd, (word)buffer, got, 0, 0, 0);
    call(LSEEK, fd, 0, 0, 0, 0, 0);
    got = call(READ, fd, (word)buffer, sizeof buffer, 0, 0, 0);
    for (long i = 0; i < got; i++)
        if (buffer[i] >= 'a' && buffer[i] <= 'z')
            buffer[i] -= 32;
    call(WRITE, 1, (word)buffer, got, 0, 0, 0);
    struct { int head[8]; long size; int tail[12]; } status;
    call(FSTAT, fd, (word)&status, 0, 0, 0, 0);
    number("size", status.size);
    number("close", call(CLOSE, fd, 0, 0, 0, 0, 0));
    number("unlink", call(UNLINK, (word) "copy", 0, 0, 0, 0, 0));
    long result = call(OPEN, (word) "copy", 0, 0, 0, 0, 0);
    long flag = failed;
    number("open", result);
    number("failed", flag);
    call(IOCTL, 1, 0x402c7413, (word)buffer, 0, 0, 0);
    flag = failed;
    number("no terminal", flag);
    number("page", call(GETPAGESIZE, 0, 0, 0, 0, 0, 0));
    word end = (word)_end;
    number("brk", call(BRK, end + 100000, 0, 0, 0, 0, 0) == end + 100000);
    for (word at = end; at < end + 100000; at++)
        *(char *)at = 1;
    char *map = (char *)call(MMAP, 0, 10000, 3, 0x12, -1, 0);
    map[9999] = 3;
    number("mapped", map[9999] + map[0]);
    number("mask", call(SIGPROCMASK, 1, 4, 0, 0, 0, 0));
    number("mask", call(SIGPROCMASK, 1, 0, 0, 0, 0, 0));
    int time[2];
    number("time", call(GETTIMEOFDAY, (word)time, 0, 0, 0, 0, 0));
    number("year", 1970 + time[0] / 31556952);
    word usage[16];
    number("usage", call(GETRUSAGE, 0, (word)usage, 0, 0, 0, 0));
    call(UTSNAME, (word)buffer, 0, 0, 0, 0, 0);
    text(buffer);
    long sum = 0;
    for (int i = 0; i < 10000; i++)
        sum += zeros[i];
    number("\nzeros", sum);
    call(EXIT, counter++, 0, 0, 0, 0, 0);
}

__asm__(".globl __start\n"
        ".ent __start\n"
        "__start:\n"
        "br $29, 1f\n"
        "1: ldgp $29, 0($29)\n"
        "ldq $16, 0($30)\n"
        "lda $17, 8($30)\n"
        "lda $27, start\n"
        "jsr $26, ($27), start\n"
        ".end __start\n");
