/* Calls as tests of Linux make them: success, refusals, edges. Each line is what a check found; a kernel of Linux prints the
   same for the same user. It runs in an empty folder that it may write to. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/msg.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const char *error(void) {
    static char text[32];
    const char *name = strerrorname_np(errno);
    if (name) return name;
    snprintf(text, sizeof text, "%d", errno);
    return text;
}

static void say(const char *what, long result) {
    printf("%s: %s\n", what, result == -1 ? error() : "ok");
}

static void tell(const char *what, long value) {
    printf("%s: %ld\n", what, value);
}

#define OK(what, call) do { errno = 0; say(what, (long)(call)); } while (0)

static int status_of(int child) {
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

struct header { unsigned version; int pid; };
struct sets { unsigned effective, permitted, inheritable; };

static void users(void) {
    unsigned real, effective, saved;
    tell("root", getuid() == 0);
    OK("setuid 0", setuid(0));
    OK("setuid -1", setuid(-1));
    int child = fork();
    if (child == 0) {
        /* The child can lose what the program still needs. */
        OK("setresuid -1 4711 -1", setresuid(-1, 4711, -1));
        getresuid(&real, &effective, &saved);
        tell("effective changed", effective == 4711);
        OK("setreuid of the same", setreuid(getuid(), geteuid()));
        OK("setuid 4712", setuid(4712));
        OK("setgroups behind that", syscall(SYS_setgroups, 0, NULL));
        fflush(stdout);
        _exit(0);
    }
    status_of(child);
    OK("setgid 4711 and back", setregid(-1, getgid()));
    OK("getgroups with a negative size", getgroups(-1, NULL));
    OK("getresuid nowhere", syscall(SYS_getresuid, &real, &effective, 8));
    struct header header = {0x20080522, 0};
    struct sets sets[2];
    memset(sets, 0, sizeof sets);
    OK("capget", syscall(SYS_capget, &header, sets));
    tell("has capabilities", sets[0].effective != 0);
    tell("effective is permitted", sets[0].effective == sets[0].permitted);
    header.version = 1;
    OK("capget of version 1", syscall(SYS_capget, &header, sets));
    tell("the version to use", header.version == 0x20080522);
    OK("capget without data", syscall(SYS_capget, &header, NULL));
    header.pid = -1;
    OK("capget of process -1", syscall(SYS_capget, &header, sets));
    header.pid = 0;
    OK("capget nowhere", syscall(SYS_capget, &header, 8));
    OK("capget of no header", syscall(SYS_capget, 8, sets));
    header.pid = 1 << 21;
    OK("capget of nobody", syscall(SYS_capget, &header, sets));
    header.pid = 0;
    memset(sets, 0, sizeof sets);
    sets[1].inheritable = 1u << 31;
    sets[0].permitted = 1;
    sets[0].effective = 2;
    OK("capset of effective beyond permitted", syscall(SYS_capset, &header, sets));
    OK("capbset_read of a number that is none", prctl(PR_CAPBSET_READ, 9999, 0, 0, 0));
    tell("capbset_read", prctl(PR_CAPBSET_READ, 0, 0, 0, 0));
    tell("keepcaps", prctl(PR_GET_KEEPCAPS, 0, 0, 0, 0));
    OK("keepcaps of 2", prctl(PR_SET_KEEPCAPS, 2, 0, 0, 0));
    tell("ambient", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, 0, 0, 0));
    OK("ambient raise", prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 0, 0, 0));
}

static void limits(void) {
    struct rlimit limit, more;
    getrlimit(RLIMIT_NOFILE, &limit);
    more = limit;
    more.rlim_max = 1 << 24;
    OK("a hard limit of files that nobody may have", setrlimit(RLIMIT_NOFILE, &more));
    more.rlim_max = limit.rlim_max + 1;
    if (getuid() != 0) OK("raise the hard limit of files", setrlimit(RLIMIT_NOFILE, &more));
    limit.rlim_cur = limit.rlim_max + 1;
    OK("a soft limit above the hard one", setrlimit(RLIMIT_NOFILE, &limit));
    OK("a limit that is none", getrlimit(99, &limit));
    errno = 0;
    int nice_value = nice(-1);
    say("nice -1", nice_value == -1 && errno == 0 ? 0 : errno ? -1 : nice_value);
    OK("tgkill of group -1", syscall(SYS_tgkill, -1, getpid(), 0));
    OK("tgkill of thread -1", syscall(SYS_tgkill, getpid(), -1, 0));
    OK("tkill of thread 0", syscall(SYS_tkill, 0, 0));
    OK("kill with signal 65", kill(getpid(), 65));
    char *page = mmap(NULL, 8192 * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long size = sysconf(_SC_PAGESIZE);
    munmap(page + size, size);
    unsigned long *arguments = (unsigned long *)(page + size - 88);
    memset(arguments, 0, 88);
    arguments[4] = SIGCHLD;
#ifdef SYS_clone3
    int child = syscall(SYS_clone3, arguments, 89);
    if (child == 0) _exit(0);
    say("clone3 into a page that is not there", child);
    OK("clone3 of size 1", syscall(SYS_clone3, arguments, 1));
    OK("clone3 of a size too large", syscall(SYS_clone3, arguments, 1 << 20));
#endif
}

static void pipes(void) {
    int ends[2], others[2];
    char buffer[8192];
    OK("pipe2 with O_DIRECT", pipe2(ends, O_DIRECT | O_NONBLOCK));
    write(ends[1], "abc", 3);
    write(ends[1], "de", 2);
    tell("a packet", read(ends[0], buffer, 100));
    tell("half a packet", read(ends[0], buffer, 1));
    OK("nothing left of it", read(ends[0], buffer, 1));
    OK("pipe2 with flags that are none", pipe2(others, O_APPEND));
    OK("pipe2 nowhere", pipe2((int *)8, 0));
    pipe2(others, O_NONBLOCK);
    write(others[1], "tee and splice", 14);
    tell("tee", tee(others[0], ends[1], 100, 0));
    tell("splice", splice(others[0], NULL, ends[1], NULL, 3, 0));
    tell("it is there twice", read(others[0], buffer, 100));
    OK("splice of an empty pipe", splice(others[0], NULL, ends[1], NULL, 3, SPLICE_F_NONBLOCK));
    OK("splice within a pipe", splice(ends[0], NULL, ends[1], NULL, 3, 0));
    loff_t offset = 1;
    OK("splice with an offset of a pipe", splice(others[0], &offset, ends[1], NULL, 3, 0));
    int file = open("spliced", O_RDWR | O_CREAT | O_TRUNC, 0600);
    OK("splice between files", splice(file, NULL, file, NULL, 1, 0));
    write(file, "0123456789", 10);
    tell("splice from a file", splice(file, &offset, others[1], NULL, 4, 0));
    tell("the offset moved", offset);
    tell("what came", read(others[0], buffer, 100) == 4 && !memcmp(buffer, "1234", 4));
    lseek(file, 0, SEEK_END);
    write(others[1], "xy", 2);
    tell("splice to a file", splice(others[0], NULL, file, NULL, 100, 0));
    tell("the file grew", lseek(file, 0, SEEK_CUR));
    struct iovec vector = {"vmspliced", 9};
    tell("vmsplice", vmsplice(others[1], &vector, 1, 0));
    tell("its bytes", read(others[0], buffer, 100));
    OK("vmsplice to a file", vmsplice(file, &vector, 1, 0));
    OK("tee of a file", tee(file, ends[1], 1, 0));
    close(file);
    close(ends[0]);
    close(ends[1]);
    tell("a smaller pipe", fcntl(others[1], F_SETPIPE_SZ, 4096) == sysconf(_SC_PAGESIZE));
    OK("one that is too large", fcntl(others[1], F_SETPIPE_SZ, 1u << 31) == -1 ? -1 : 0);
    close(others[0]);
    signal(SIGPIPE, SIG_IGN);
    OK("write without a reader", write(others[1], "a", 1));
    close(others[1]);
}

static void fifos(void) {
    char buffer[16] = "";
    struct stat stat;
    OK("mkfifo", mkfifo("fifo", 0640));
    OK("mkfifo again", mkfifo("fifo", 0640));
    OK("mkfifo in a folder that is not there", mkfifo("none/fifo", 0640));
    OK("mknod of a folder", mknod("folder", S_IFDIR | 0700, 0));
    OK("mknod of a file", mknod("plain", S_IFREG | 0600, 0));
    stat.st_mode = 0;
    lstat("fifo", &stat);
    tell("it is one", S_ISFIFO(stat.st_mode) && (stat.st_mode & 0777) == 0640);
    OK("open a writer without a reader", open("fifo", O_WRONLY | O_NONBLOCK));
    int reader = open("fifo", O_RDONLY | O_NONBLOCK);
    say("open a reader without a writer", reader);
    tell("read of it", read(reader, buffer, 4));
    struct pollfd polled = {reader, POLLIN, 0};
    tell("nobody has hung up yet", poll(&polled, 1, 0));
    int writer = open("fifo", O_WRONLY | O_NONBLOCK);
    say("open a writer with a reader", writer);
    OK("read without data", read(reader, buffer, 4));
    write(writer, "hi", 2);
    tell("read with data", read(reader, buffer, 4));
    close(writer);
    tell("hung up", poll(&polled, 1, 0) == 1 && polled.revents == POLLHUP);
    close(reader);
    int child = fork();
    if (child == 0) {
        int out = open("fifo", O_WRONLY);
        _exit(write(out, "from a child", 12) != 12);
    }
    reader = open("fifo", O_RDONLY);
    tell("from the child", read(reader, buffer, 16));
    tell("and its end", read(reader, buffer, 16));
    tell("which ended well", status_of(child));
    OK("lseek of a FIFO", lseek(reader, 0, SEEK_SET));
    close(reader);
    reader = open("fifo", O_RDWR);
    tell("both ends", write(reader, "x", 1) == 1 && read(reader, buffer, 1) == 1);
    close(reader);
    unlink("fifo");
    unlink("plain");
}

static void files(void) {
    struct stat stat;
    int file = open(".", O_TMPFILE | O_RDWR, 0600);
    say("O_TMPFILE", file);
    OK("O_TMPFILE to read", open(".", O_TMPFILE | O_RDONLY, 0600));
    OK("O_TMPFILE of a file", open("/proc/self/maps", O_TMPFILE | O_RDWR, 0600));
    write(file, "unnamed", 7);
    fstat(file, &stat);
    tell("its links", stat.st_nlink);
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    OK("give it a name", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    OK("again", linkat(AT_FDCWD, path, AT_FDCWD, "named", AT_SYMLINK_FOLLOW));
    tell("it is there", lstat("named", &stat) == 0 && stat.st_size == 7);
    close(file);
    OK("chown to the same", chown("named", getuid(), -1));
    OK("chown to another", chown("named", 4711, -1));
    chmod("named", 0);
    file = open("named", O_RDONLY);
    say("open without permission", file);
    OK("access without permission", access("named", R_OK));
    OK("execute without permission", access("named", X_OK));
    close(file);
    unlink("named");
    file = open("mapped", O_RDWR | O_CREAT | O_TRUNC, 0600);
    ftruncate(file, sysconf(_SC_PAGESIZE));
    char *shared = mmap(NULL, 4096, PROT_READ, MAP_SHARED, file, 0);
    pwrite(file, "B", 1, 1);
    tell("a shared mapping shows a write", shared[1]);
    close(file);
    unlink("mapped");
}

static void memory(void) {
    long size = sysconf(_SC_PAGESIZE);
    char *kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *wiped = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *hidden = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char *shared = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    *kept = *wiped = *hidden = *shared = 7;
    OK("MADV_WIPEONFORK", madvise(wiped, size, MADV_WIPEONFORK));
    OK("MADV_WIPEONFORK of shared memory", madvise(shared, size, MADV_WIPEONFORK));
    OK("MADV_DONTFORK", madvise(hidden, size, MADV_DONTFORK));
    OK("MADV_KEEPONFORK", madvise(kept, size, MADV_KEEPONFORK));
    int child = fork();
    if (child == 0) {
        if (*wiped != 0 || *kept != 7 || *shared != 7) _exit(1);
        _exit(*hidden);
    }
    tell("the child died", status_of(child));
    tell("the parent has all", *wiped + *hidden);
    madvise(wiped, size, MADV_KEEPONFORK);
    madvise(hidden, size, MADV_DOFORK);
    child = fork();
    if (child == 0) _exit(*wiped + *hidden);
    tell("taken back", status_of(child));
    int rights[] = {0, 1, 3, 5, 7, 1, 3, 7};
    for (int i = 0; i < 8; i++) {
        /* Private memory to be written grows together with what lies beside it. */
        if (i == 2) continue;
        int flags = MAP_ANONYMOUS | (i < 5 ? MAP_PRIVATE : MAP_SHARED);
        char *fresh = mmap(NULL, 2 * size, rights[i], flags, -1, 0);
        char line[256], wanted[32];
        snprintf(wanted, sizeof wanted, "%08lx-", (unsigned long)fresh);
        FILE *maps = fopen("/proc/self/maps", "r");
        while (fgets(line, sizeof line, maps))
            if (!strncmp(line, wanted, strlen(wanted))) printf("mapped: %.4s\n", strchr(line, ' ') + 1);
        fclose(maps);
        munmap(fresh, 2 * size);
    }
}

static void signals(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGRTMIN);
    sigprocmask(SIG_BLOCK, &set, NULL);
    int file = signalfd(-1, &set, SFD_NONBLOCK);
    struct signalfd_siginfo info[3];
    say("signalfd", file);
    OK("signalfd with flags that are none", signalfd(-1, &set, 1));
    OK("signalfd of another file", signalfd(0, &set, 0));
    OK("read without a signal", read(file, info, sizeof info));
    OK("read of too little", read(file, info, 16));
    struct pollfd polled = {file, POLLIN, 0};
    tell("nothing to poll", poll(&polled, 1, 0));
    kill(getpid(), SIGUSR1);
    sigqueue(getpid(), SIGRTMIN, (union sigval){.sival_int = 42});
    tell("something to poll", poll(&polled, 1, 0));
    tell("two signals", read(file, info, sizeof info) == 2 * sizeof *info);
    tell("the first", info[0].ssi_signo == SIGUSR1 && info[0].ssi_pid == (unsigned)getpid() && info[0].ssi_code == SI_USER);
    tell("the value of the second", info[1].ssi_int);
    close(file);
    file = signalfd(-1, &set, 0);
    int child = fork();
    if (child == 0) {
        usleep(1000);
        kill(getppid(), SIGUSR1);
        _exit(0);
    }
    tell("a read that waits", read(file, info, sizeof *info) == sizeof *info && info[0].ssi_pid == (unsigned)child);
    status_of(child);
    int epoll = epoll_create1(0);
    struct epoll_event event = {EPOLLIN, {0}};
    epoll_ctl(epoll, EPOLL_CTL_ADD, file, &event);
    tell("epoll before", epoll_wait(epoll, &event, 1, 0));
    raise(SIGUSR1);
    tell("epoll behind", epoll_wait(epoll, &event, 1, 0));
    read(file, info, sizeof *info);
    close(file);
    close(epoll);
}

static void edges(void) {
    int ends[2], epoll = epoll_create1(0);
    static char bytes[1 << 16];
    struct epoll_event event = {EPOLLIN | EPOLLET, {0}};
    pipe2(ends, O_NONBLOCK);
    int size = fcntl(ends[1], F_SETPIPE_SZ, 4096);
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event);
    event.events = EPOLLOUT | EPOLLET;
    epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event);
    write(ends[1], bytes, size);
    tell("edge of a full pipe", epoll_wait(epoll, &event, 1, 0) == 1 && event.events == EPOLLIN);
    read(ends[0], bytes, size / 2);
    tell("edge of half a page", epoll_wait(epoll, &event, 1, 0));
    read(ends[0], bytes, size / 2);
    tell("edge of an empty pipe", epoll_wait(epoll, &event, 1, 0) == 1 && event.events == EPOLLOUT);
    close(ends[0]);
    close(ends[1]);
    close(epoll);
}

static void roots(void) {
    mkdir("inner", 0700);
    int child = fork();
    if (child == 0) {
        OK("chroot to nothing", chroot("none"));
        OK("chroot", chroot("inner"));
        if (getuid() == 0) {
            OK("chdir behind it", chdir("/"));
            OK("create there", open("in", O_RDWR | O_CREAT, 0600));
            OK("above is the same", access("/../in", F_OK));
        }
        fflush(stdout);
        _exit(0);
    }
    status_of(child);
    if (getuid() == 0) OK("seen from outside", unlink("inner/in"));
    OK("rmdir", rmdir("inner"));
}

static void processes(void) {
    int child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    usleep(20000);
    char path[64], name[32] = "", state = '?';
    int pid = 0, parent = 0;
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    FILE *file = fopen(path, "r");
    if (file) {
        tell("fields of stat", fscanf(file, "%d (%31[^)]) %c %d", &pid, name, &state, &parent));
        fclose(file);
    }
    tell("the child's", pid == child && parent == getpid() && state == 'S');
    snprintf(path, sizeof path, "/proc/%d/fd/0", child);
    tell("its descriptors", readlink(path, name, sizeof name) > 0);
    snprintf(path, sizeof path, "/proc/%d/task/%d/comm", child, child);
    tell("its thread", access(path, R_OK));
    kill(child, SIGKILL);
    siginfo_t ended;
    waitid(P_PID, child, &ended, WEXITED | WNOWAIT);
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    file = fopen(path, "r");
    if (file) {
        fscanf(file, "%d (%31[^)]) %c", &pid, name, &state);
        fclose(file);
    }
    tell("a zombie", state == 'Z');
    status_of(child);
    OK("and gone", access(path, F_OK));
}

static void system_v(void) {
    int segment = shmget(IPC_PRIVATE, 100, IPC_CREAT | 0600);
    say("shmget", segment);
    OK("shmget of nothing", shmget(IPC_PRIVATE, 0, IPC_CREAT | 0600));
    OK("shmget of what is not there", shmget(0x4711, 100, 0));
    char *memory = shmat(segment, NULL, 0);
    say("shmat", (long)memory);
    OK("shmat at an address that is none", shmat(segment, (void *)1, 0));
    OK("shmat of no segment", shmat(-1, NULL, 0));
    struct shmid_ds about;
    memset(&about, 0, sizeof about);
    OK("shmctl", shmctl(segment, IPC_STAT, &about));
    tell("its size", about.shm_segsz);
    tell("attached", about.shm_nattch);
    tell("by its creator", about.shm_cpid == getpid() && (about.shm_perm.mode & 0777) == 0600);
    int set = semget(IPC_PRIVATE, 2, IPC_CREAT | 0600);
    say("semget", set);
    OK("semget of nothing", semget(IPC_PRIVATE, 0, IPC_CREAT | 0600));
    OK("SETVAL", semctl(set, 0, SETVAL, 1));
    OK("SETVAL of too much", semctl(set, 0, SETVAL, 40000));
    OK("SETVAL of no semaphore", semctl(set, 2, SETVAL, 1));
    struct sembuf down = {0, -1, IPC_NOWAIT}, far = {7, 1, 0}, taken = {0, 1, SEM_UNDO};
    OK("semop", semop(set, &down, 1));
    OK("semop that would wait", semop(set, &down, 1));
    OK("semop of no semaphore", semop(set, &far, 1));
    OK("semop of nothing", semop(set, &down, 0));
    int child = fork();
    if (child == 0) {
        strcpy(memory, "from the child");
        semop(set, &taken, 1);
        struct sembuf up = {1, 1, 0};
        _exit(semop(set, &up, 1) != 0);
    }
    struct sembuf second = {1, -1, 0};
    OK("semop that waits", semop(set, &second, 1));
    printf("shared memory: %s\n", memory);
    status_of(child);
    tell("undone", semctl(set, 0, GETVAL));
    struct timespec soon = {0, 1000000};
    down.sem_flg = 0;
    OK("semtimedop", semtimedop(set, &down, 1, &soon));
    OK("remove the set", semctl(set, 0, IPC_RMID));
    OK("semop of what is removed", semop(set, &down, 1));
    OK("shmctl IPC_RMID", shmctl(segment, IPC_RMID, NULL));
    memory[0] = 'F';
    OK("shmdt", shmdt(memory));
    OK("shmdt again", shmdt(memory));
    OK("and it is gone", shmctl(segment, IPC_STAT, &about));
    struct { long type; char text[16]; } message = {3, "third"};
    int queue = msgget(0x1234, IPC_CREAT | 0600);
    say("msgget", queue);
    OK("msgget exclusively", msgget(0x1234, IPC_CREAT | IPC_EXCL | 0600));
    OK("msgsnd", msgsnd(queue, &message, 6, 0));
    message.type = 1;
    OK("msgsnd of another type", msgsnd(queue, &message, 2, 0));
    message.type = 0;
    OK("msgsnd of type 0", msgsnd(queue, &message, 2, 0));
    OK("msgrcv of a type that is not there", msgrcv(queue, &message, 16, 2, IPC_NOWAIT));
    OK("msgrcv of too little", msgrcv(queue, &message, 1, 3, 0));
    tell("msgrcv of the lowest type", msgrcv(queue, &message, 16, -3, 0));
    tell("cut", msgrcv(queue, &message, 3, 0, MSG_NOERROR));
    tell("of type", message.type);
    OK("msgctl IPC_RMID", msgctl(queue, IPC_RMID, NULL));
    OK("msgsnd to what is removed", msgsnd(queue, &message, 2, 0));
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    users();
    limits();
    pipes();
    fifos();
    files();
    memory();
    signals();
    edges();
    roots();
    processes();
    system_v();
    return 0;
}
