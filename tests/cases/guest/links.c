/* Symbolic and hard links, and what is refused of them. Right (native, in an empty folder as /): links.txt. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#define SAY(what) do { errno = 0; long v_ = (what); int e_ = errno; printf("%-60s %ld %s\n", #what, v_, v_ < 0 ? strerrorname_np(e_) : ""); } while (0)
static int links(const char *path) { struct stat s; return lstat(path, &s) ? -1 : (int)s.st_nlink; }
static int mode(const char *path) { struct stat s; return lstat(path, &s) ? -1 : (s.st_mode & S_IFMT) >> 12; }
int main(void) {
  char b[64] = "";
  write(open("f", O_CREAT | O_WRONLY, 0644), "text", 4);
  mkdir("d", 0755);
  SAY(symlink("f", "s"));
  SAY(symlink("f", "s"));
  SAY(symlink("", "t"));
  SAY(symlink("f", "none/t"));
  SAY(symlink("f", "new/"));
  SAY(readlink("s", b, 64) == 1 && b[0] == 'f');
  SAY(read(open("s", O_RDONLY), b, 64));
  SAY(symlink("gone", "dangling"));
  SAY(open("dangling", O_RDONLY));
  SAY(mode("dangling"));
  SAY(link("f", "h"));
  SAY(links("f"));
  SAY(link("f", "h"));
  SAY(link("d", "e"));
  SAY(link("gone", "g"));
  SAY(link("f", "f/x"));
  SAY(link("s", "own"));
  SAY(mode("own"));
  SAY(linkat(AT_FDCWD, "s", AT_FDCWD, "target", AT_SYMLINK_FOLLOW));
  SAY(mode("target"));
  SAY(linkat(AT_FDCWD, "f", AT_FDCWD, "x", 1));
  SAY(symlink("..", "d/up"));
  SAY(read(open("d/up/f", O_RDONLY), b, 64));
  SAY(symlinkat("f", 77, "x"));
  SAY(unlink("f"));
  SAY(links("h"));
  SAY(open("s", O_RDONLY));
  return 0;
}
