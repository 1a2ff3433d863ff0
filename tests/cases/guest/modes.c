/* Modes of files by a call with flags, and what is refused. Right (native, in an empty folder as /): modes.txt. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __alpha__
#define FCHMODAT2 562
#else
#define FCHMODAT2 452
#endif
#define SAY(what) do { errno = 0; long v_ = (what); int e_ = errno; printf("%-70s %lo %s\n", #what, v_ < 0 ? 0 : v_, v_ < 0 ? strerrorname_np(e_) : ""); } while (0)
static long change(int folder, const char *path, unsigned mode, unsigned flags) {
  return syscall(FCHMODAT2, folder, path, mode, flags);
}
static long mode(const char *path) { struct stat s; return lstat(path, &s) ? -1 : s.st_mode & 0777; }
int main(void) {
  int file = open("f", O_CREAT | O_RDWR, 0644), folder, place;
  mkdir("d", 0755);
  symlink("f", "s");
  folder = open("d", O_RDONLY | O_DIRECTORY);
  place = open("f", O_PATH);
  SAY(change(AT_FDCWD, "f", 0600, 0));
  SAY(mode("f"));
  SAY(change(AT_FDCWD, "s", 0640, 0));
  SAY(mode("f"));
  SAY(change(AT_FDCWD, "s", 0600, AT_SYMLINK_NOFOLLOW));
  SAY(change(AT_FDCWD, "f", 0604, AT_SYMLINK_NOFOLLOW));
  SAY(mode("f"));
  SAY(change(file, "", 0606, AT_EMPTY_PATH));
  SAY(mode("f"));
  SAY(change(folder, "", 0700, AT_EMPTY_PATH));
  SAY(mode("d"));
  SAY(change(folder, "../f", 0644, 0));
  SAY(mode("f"));
  SAY(change(file, "", 0600, 0));
  SAY(change(AT_FDCWD, "gone", 0600, 0));
  SAY(change(99, "f", 0600, 0));
  SAY(change(99, "", 0600, AT_EMPTY_PATH));
  SAY(change(AT_FDCWD, "f", 0600, 1));
  SAY(change(AT_FDCWD, "f", 0600, AT_SYMLINK_FOLLOW));
  SAY(change(AT_FDCWD, 0, 0600, 0));
  SAY(change(file, "x", 0600, 0));
  SAY(place >= 0);
  return 0;
}
