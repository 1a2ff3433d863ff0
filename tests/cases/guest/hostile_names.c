/* Functions whose names a test replaces by hostile ones of the same length (each placeholder stands once in the string
   table), and paths with terminal controls that are refused. Nothing of it may reach a terminal as it is. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

volatile int sink;
#define F(name) __attribute__((noinline)) void name(int x) { for (int i = 0; i < 30; i++) sink += i * x; }
F(Z00QQQQQQQQQQQQQQQQQQQQQQQQ)
F(Z01QQQQQQQQQ)
F(Z02QQQQQQQQQQQ)

int main(void) {
    mkdir("\033]0;PWNED\007\033[31mred", 0755);
    open("\033[2Jsecret", O_CREAT | O_WRONLY, 0644);
    char *v[] = {"x", 0};
    execve("\033[2Jx", v, 0);
    for (int k = 0; k < 100; k++) {
        Z00QQQQQQQQQQQQQQQQQQQQQQQQ(k);
        Z01QQQQQQQQQ(k);
        Z02QQQQQQQQQQQ(k);
    }
    return 0;
}
