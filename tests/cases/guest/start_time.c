/* The date on which the program begins, and that all clocks tell it. */
#include <stdio.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <time.h>

int memfd_create(const char *name, unsigned flags);

int main(void) {
  char text[64];
  struct timeval day;
  struct timespec real, coarse;
  struct stat file;
  time_t now = time(0);
  gettimeofday(&day, 0);
  clock_gettime(CLOCK_REALTIME, &real);
  clock_gettime(CLOCK_REALTIME_COARSE, &coarse);
  fstat(memfd_create("new", 0), &file);
  strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S %A", gmtime(&now));
  puts(text);
  int agree = day.tv_sec == now && real.tv_sec == now && coarse.tv_sec == now && file.st_mtime == now;
  puts(agree ? "all clocks agree" : "clocks differ");
}
