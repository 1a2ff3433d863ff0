/* What the headers of Linux on Alpha say: sizes, offsets and values, one a line. */
#include <stddef.h>
#include <stdio.h>
#include <asm/stat.h>
#include <asm/statfs.h>
#include <asm/sigcontext.h>
#include <asm/errno.h>
#include <asm/fcntl.h>
#include <asm/mman.h>
#include <asm/ioctls.h>
#include <asm/resource.h>
#include <asm/sysinfo.h>
#include <asm/gentrap.h>
#define sigset_t host_sigset_t
#include <asm/signal.h>
#undef sigset_t

#define SIZE(type) printf("sizeof %s %zu\n", #type, sizeof(struct type))
#define AT(type, field) printf("%s.%s %zu\n", #type, #field, offsetof(struct type, field))
#define VALUE(name) printf("%s %ld\n", #name, (long)(name))

int main(void)
{
    SIZE(stat);
    AT(stat, st_ino); AT(stat, st_mode); AT(stat, st_nlink); AT(stat, st_uid); AT(stat, st_size);
    AT(stat, st_mtime); AT(stat, st_blksize); AT(stat, st_blocks);
    SIZE(stat64);
    AT(stat64, st_ino); AT(stat64, st_mode); AT(stat64, st_nlink); AT(stat64, st_uid);
    AT(stat64, st_size); AT(stat64, st_mtime); AT(stat64, st_blksize); AT(stat64, st_blocks);
    SIZE(statfs);
    AT(statfs, f_bsize); AT(statfs, f_blocks); AT(statfs, f_bavail); AT(statfs, f_namelen);
    AT(statfs, f_frsize);
    SIZE(sigcontext);
    AT(sigcontext, sc_mask); AT(sigcontext, sc_pc); AT(sigcontext, sc_regs);
    AT(sigcontext, sc_fpregs); AT(sigcontext, sc_fpcr); AT(sigcontext, sc_fp_control);
    AT(sigcontext, sc_traparg_a0);
    VALUE(EAGAIN); VALUE(EDEADLK); VALUE(EOPNOTSUPP); VALUE(ETIMEDOUT); VALUE(ELOOP);
    VALUE(ENAMETOOLONG); VALUE(ENOTEMPTY); VALUE(EDQUOT); VALUE(ENOSYS); VALUE(EOVERFLOW); VALUE(ENOMSG); VALUE(EIDRM);
    VALUE(EINVAL); VALUE(ERANGE); VALUE(EPIPE); VALUE(EROFS);
    VALUE(O_CREAT); VALUE(O_EXCL); VALUE(O_TRUNC); VALUE(O_APPEND); VALUE(O_NONBLOCK);
    VALUE(O_DIRECTORY); VALUE(O_NOFOLLOW); VALUE(O_CLOEXEC); VALUE(O_PATH); VALUE(O_DIRECT); VALUE(O_TMPFILE);
    VALUE(F_GETLK); VALUE(F_SETLK); VALUE(F_SETLKW); VALUE(F_RDLCK); VALUE(F_WRLCK);
    VALUE(F_UNLCK);
    VALUE(MAP_FIXED); VALUE(MAP_ANONYMOUS); VALUE(MAP_FIXED_NOREPLACE); VALUE(MADV_DONTNEED);
    VALUE(FIOCLEX); VALUE(FIONCLEX); VALUE(FIONBIO); VALUE(FIONREAD);
    VALUE(RLIMIT_NOFILE); VALUE(RLIMIT_STACK); VALUE(RLIMIT_CORE); VALUE(RLIM_INFINITY);
    VALUE(SIGILL); VALUE(SIGTRAP); VALUE(SIGFPE); VALUE(SIGBUS); VALUE(SIGSEGV); VALUE(SIGPIPE);
    VALUE(SIGSTOP); VALUE(SIGURG); VALUE(SIGCONT); VALUE(SIGCHLD); VALUE(SIGWINCH);
    VALUE(SA_ONSTACK); VALUE(SA_NODEFER); VALUE(SA_RESETHAND);
    VALUE(SIG_BLOCK); VALUE(SIG_UNBLOCK); VALUE(SIG_SETMASK);
    return 0;
}
