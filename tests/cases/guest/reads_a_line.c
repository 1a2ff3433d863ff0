/* Reads one line of standard input. Right: exit code 0 if it is "open sesame", else 3. */
#include <stdio.h>
#include <string.h>
__attribute__((noinline)) static int right(const char *line) { return !strcmp(line, "open sesame\n"); }
int main(void) {
  char line[64] = "";
  return fgets(line, sizeof line, stdin) && right(line) ? 0 : 3;
}
