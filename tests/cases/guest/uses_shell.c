/* system() and popen(): a shell lies at /bin/sh. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    char text[64] = "";
    printf("system %d\n", WEXITSTATUS(system("exit 3")));
    fflush(stdout);
    system("echo from the shell | upper");
    int status = system("kill 9");
    printf("killed %d\n", WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
    FILE *in = popen("echo one two | wc", "r");
    if (!in || !fgets(text, sizeof text, in)) return 1;
    printf("read %s", text);
    printf("closed %d\n", pclose(in));
    fflush(stdout);
    FILE *out = popen("upper", "w");
    fputs("written\n", out);
    printf("closed %d\n", pclose(out));
    char *const script[] = {"script", "given", NULL}, *const none[] = {NULL};
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) { execve("/script", script, none); _exit(errno); }
    waitpid(pid, &status, 0);
    printf("script %d\n", WEXITSTATUS(status));
    char *const refused[] = {"/damaged", "/text", "/foreign", "/../../bin/outside", "/", "/plain", NULL};
    for (int i = 0; refused[i]; i++) {
        errno = 0;
        execve(refused[i], script, none);
        printf("%s %d\n", refused[i], errno);
    }
    return 0;
}
