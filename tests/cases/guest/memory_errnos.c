/* Refusals of the calls on memory. Each line: the call, its result, the error. Right: what Linux says. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define C(x) do { errno = 0; long r_ = (long)(x); int e_ = errno; \
    printf("%s %s %s\n", #x, r_ == -1 ? "-1" : "ok", r_ == -1 ? strerrorname_np(e_) : ""); } while (0)
#define ANON (MAP_PRIVATE | MAP_ANONYMOUS)
#define RW (PROT_READ | PROT_WRITE)

int main(void) {
    long page = sysconf(_SC_PAGESIZE);
    unsigned char v[8];
    int fd = open("/file", O_CREAT | O_RDWR | O_TRUNC, 0600), ro = open("/file", O_RDONLY);
    int wo = open("/file", O_WRONLY), op = open("/file", O_PATH);
    if (write(fd, "file", 4) != 4)
        return 1;
    char *p = mmap(0, 4 * page, RW, ANON, -1, 0);
    char *shared = mmap(0, page, PROT_READ, MAP_SHARED, ro, 0);
    munmap(p + 3 * page, page);

    C(mprotect(p, page, 0x40));
    C(mprotect(p + 1, page, PROT_READ));
    C(mprotect(p, 0, PROT_READ));
    C(mprotect(p, page, PROT_READ | PROT_GROWSDOWN | PROT_GROWSUP));
    C(mprotect(p, page, PROT_READ | PROT_GROWSDOWN));
    C(mprotect(p, 4 * page, RW));
    C(mprotect(p, -1, PROT_READ));
    C(mprotect(shared, page, RW));

    C(msync(p, page, 0x80));
    C(msync(p, page, MS_SYNC | MS_ASYNC));
    C(msync(p, page, MS_SYNC | MS_INVALIDATE));
    C(msync(p + 1, page, MS_SYNC));
    C(msync(p, 4 * page, MS_ASYNC));
    C(msync(p, 0, 0));

    C(mmap(p, page, RW, ANON | MAP_FIXED_NOREPLACE, -1, 0));
    C(mmap(0, page, RW, MAP_ANONYMOUS, -1, 0));
    C(mmap(0, 0, RW, ANON, -1, 0));
    C(mmap(0, page, PROT_READ, MAP_PRIVATE, -1, 0));
    C(mmap(0, page, PROT_READ, MAP_PRIVATE, op, 0));
    C(mmap(0, page, PROT_READ, MAP_PRIVATE, wo, 0));
    C(mmap(0, page, RW, MAP_SHARED, ro, 0));
    C(mmap(0, page, RW, MAP_PRIVATE, ro, 0));
    C(syscall(SYS_mmap, 0, page, PROT_READ, MAP_PRIVATE, ro, 1L));
    C(mmap(0, page, PROT_READ, MAP_SHARED_VALIDATE | 0x800000, ro, 0));
    C(mmap(0, page, PROT_READ, MAP_SHARED_VALIDATE, ro, 0));
    C(mmap(0, page, PROT_READ, MAP_SHARED_VALIDATE | MAP_ANONYMOUS, -1, 0));
    C(mmap(p + 1, page, RW, ANON | MAP_FIXED, -1, 0));
    C(mmap(0, page, RW, ANON | MAP_HUGETLB | 5 << 26, -1, 0));

    C(mremap(p, page, 0, MREMAP_MAYMOVE));
    C(mremap(p, page, page, 0x40));
    C(mremap(p, page, page, MREMAP_FIXED, p + page));
    C(mremap(p + 1, page, page, 0));
    C(mremap(p + 3 * page, page, 2 * page, MREMAP_MAYMOVE));
    C(mremap(p, 2 * page, 2 * page, MREMAP_MAYMOVE | MREMAP_FIXED, p + page));
    C(mremap(p, page, page, MREMAP_MAYMOVE | MREMAP_FIXED, p + 1));
    C(mremap(p, page, 2 * page, 0));
    C(mremap(p, page, 2 * page, MREMAP_MAYMOVE | 4));

    C(munmap(p + 1, page));
    C(munmap(p, 0));
    C(munmap(p, -page));
    C(munmap(p + 3 * page, page));

    C(madvise(p, page, 7));
    C(madvise(p + 1, page, MADV_NORMAL));
    C(madvise(p, 4 * page, MADV_WILLNEED));
    C(madvise(p, 0, MADV_DONTNEED));
    C(madvise(p, page, MADV_FREE));
    C(madvise(shared, page, MADV_FREE));
    C(madvise(p, -1, MADV_NORMAL));

    C(mincore(p + 1, page, v));
    C(mincore(p, 4 * page, v));
    C(mincore(p, page, (unsigned char *)1));
    p[0] = 1;
    C(mincore(p, 2 * page, v));
    printf("written %d, untouched %d\n", v[0] & 1, v[1] & 1);

    C(mlock(p, page));
    C(madvise(p, page, MADV_DONTNEED));
    C(msync(p, page, MS_INVALIDATE));
    C(munlock(p, page));
    C(madvise(p, page, MADV_DONTNEED));
    C(mlock(p, 4 * page));
    C(syscall(SYS_mlock2, p, page, 4));
    C(mlockall(0));
    C(mlockall(MCL_ONFAULT));
    struct rlimit limit = {2 * page, 2 * page};
    C(setrlimit(RLIMIT_MEMLOCK, &limit));
    C(mlock(p, 3 * page));
    C(mlock(p + page, 2 * page));
    C(mmap(0, page, RW, ANON | MAP_LOCKED, -1, 0));
    C(munlockall());
    limit.rlim_cur = limit.rlim_max = 0;
    C(setrlimit(RLIMIT_MEMLOCK, &limit));
    C(mlock(p, page));
    C(mlockall(MCL_FUTURE));
    C(mmap(0, page, RW, ANON | MAP_LOCKED, -1, 0));
    return 0;
}
