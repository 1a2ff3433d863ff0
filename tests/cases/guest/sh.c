/* A shell that knows words, 'quotes', $(substitutions), $?, pipes, "&", ";", "&&", "||", "> FILE" and "< FILE", and the
   commands that it goes by when it has their names: echo, cat, wc, upper, yes, head. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;
static int last;
static char *run_text(const char *text);

static int command(int argc, char **argv)
{
    char *name = basename(argv[0]);
    char buffer[4096];
    ssize_t got;
    if (!strcmp(name, "echo")) {
        for (int i = 1; i < argc; i++) printf("%s%s", i > 1 ? " " : "", argv[i]);
        puts("");
    } else if (!strcmp(name, "cat")) {
        while ((got = read(0, buffer, sizeof buffer)) > 0) write(1, buffer, got);
    } else if (!strcmp(name, "upper")) {
        for (int c; (c = getchar()) != EOF;) putchar(toupper(c));
    } else if (!strcmp(name, "wc")) {
        int lines = 0, bytes = 0;
        for (int c; (c = getchar()) != EOF; bytes++) lines += c == '\n';
        printf("%d %d\n", lines, bytes);
    } else if (!strcmp(name, "yes")) {
        for (;;) puts("y");
    } else if (!strcmp(name, "head")) {
        for (int lines = 0, c; lines < 3 && (c = getchar()) != EOF; lines += c == '\n') putchar(c);
    } else if (!strcmp(name, "false")) {
        return 1;
    } else if (strcmp(name, "true")) {
        return -1;
    }
    fflush(stdout);
    return 0;
}

/* Reads one word at *at into a new string; NULL at an operator or the end. */
static char *word(const char **at)
{
    const char *p = *at;
    while (*p == ' ') p++;
    char *out = calloc(1, 1 << 16), *end = out;
    int any = 0;
    for (; *p && !strchr(" \n|&;<>", *p); any = 1) {
        if (*p == '\'') { for (p++; *p && *p != '\''; p++) *end++ = *p; p += *p != 0; }
        else if (!strncmp(p, "$?", 2)) { end += sprintf(end, "%d", last); p += 2; }
        else if (!strncmp(p, "$(", 2)) {
            int depth = 1;
            const char *start = p += 2;
            for (; *p && depth; p++) depth += (*p == '(') - (*p == ')');
            char *inner = strndup(start, p - start - 1), *said = run_text(inner);
            end = stpcpy(end, said);
            while (end > out && end[-1] == '\n') *--end = 0;
        } else *end++ = *p++;
    }
    *at = p;
    return any ? out : NULL;
}

static void start(char **argv)
{
    char path[256];
    int argc = 0;
    while (argv[argc]) argc++;
    if (!argc) _exit(0);
    if (!strcmp(argv[0], "exit")) _exit(argc > 1 ? atoi(argv[1]) : last);
    if (!strcmp(argv[0], "kill")) { kill(getpid(), atoi(argv[1])); _exit(0); }
    snprintf(path, sizeof path, "%s%s", strchr(argv[0], '/') ? "" : "/bin/", argv[0]);
    execve(path, argv, environ);
    dprintf(2, "sh: %s: %s\n", argv[0], strerror(errno));
    _exit(errno == ENOENT ? 127 : 126);
}

/* Runs a pipeline at *at; its status. */
static int pipeline(const char **at)
{
    pid_t pids[16], lead = 0;
    int count = 0, in = 0, wait_for_it = 1;
    for (;;) {
        char *argv[64], *from = NULL, *to = NULL;
        int argc = 0, fd[2] = {-1, -1};
        for (;;) {
            char *w = word(at);
            if (w) { argv[argc++] = w; continue; }
            if (**at == '<') { ++*at; from = word(at); continue; }
            if (**at == '>') { ++*at; to = word(at); continue; }
            break;
        }
        argv[argc] = NULL;
        int is_piped = (*at)[0] == '|' && (*at)[1] != '|';
        if (is_piped) { ++*at; pipe(fd); }
        if (!is_piped && !count && argc && !strcmp(argv[0], "exit")) exit(argc > 1 ? atoi(argv[1]) : last);
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) {
            setpgid(0, lead);
            if (in) { dup2(in, 0); close(in); }
            if (is_piped) { dup2(fd[1], 1); close(fd[0]); close(fd[1]); }
            if (from) { close(0); if (open(from, O_RDONLY) != 0) _exit(1); }
            if (to) { close(1); if (open(to, O_WRONLY | O_CREAT | O_TRUNC, 0644) != 1) _exit(1); }
            start(argv);
        }
        if (!lead) lead = pid;
        pids[count++] = pid;
        if (in) close(in);
        if (!is_piped) break;
        close(fd[1]);
        in = fd[0];
    }
    if ((*at)[0] == '&' && (*at)[1] != '&') { ++*at; wait_for_it = 0; }
    int status = 0;
    for (int i = 0; wait_for_it && i < count; i++) waitpid(pids[i], &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int run(const char *at)
{
    int skip = 0;
    while (*at) {
        while (*at == ' ' || *at == '\n' || *at == ';') at++;
        if (!*at) break;
        if (skip) { while (*at && !strchr(";\n&|", *at)) at++; }
        else last = pipeline(&at);
        skip = !strncmp(at, "&&", 2) ? last != 0 : !strncmp(at, "||", 2) ? last == 0 : 0;
        at += !strncmp(at, "&&", 2) || !strncmp(at, "||", 2) ? 2 : 0;
    }
    while (wait(NULL) > 0) ;
    return last;
}

static char *run_text(const char *text)
{
    static char said[1 << 16];
    int fd[2];
    ssize_t got, all = 0;
    pipe(fd);
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) { dup2(fd[1], 1); close(fd[0]); close(fd[1]); _exit(run(text)); }
    close(fd[1]);
    while ((got = read(fd[0], said + all, sizeof said - 1 - all)) > 0) all += got;
    close(fd[0]);
    said[all] = 0;
    waitpid(pid, NULL, 0);
    return said;
}

int main(int argc, char **argv)
{
    int done = command(argc, argv);
    if (done >= 0) return done;
    if (argc > 2 && !strcmp(argv[1], "-c")) return run(argv[argc > 3 && !strcmp(argv[2], "--") ? 3 : 2]);
    if (argc < 2) return 2;
    static char text[1 << 16];
    int fd = open(argv[1], O_RDONLY);
    if (fd < 0 || read(fd, text, sizeof text - 1) < 0) return 2;
    close(fd);
    char *line = strncmp(text, "#!", 2) ? text : strchr(text, '\n');
    return run(line ? line : "");
}
