/* A 32-bit instruction whose second half lies in a page that cannot be executed.
 * Right: si_addr is the second page, si_code is SEGV_ACCERR. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
static sigjmp_buf back;
static char *page;
static void handler(int s, siginfo_t *i, void *u) {
  printf("second page %d, code %d\n", (char *)i->si_addr == page + 4096, i->si_code);
  siglongjmp(back, 1);
}
int main(void) {
  struct sigaction a = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO};
  sigaction(SIGSEGV, &a, 0);
  page = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *(uint16_t *)(page + 4094) = 0x0013; /* the first half of addi x0, x0, 0 */
  mprotect(page, 4096, PROT_READ | PROT_EXEC);
  __builtin___clear_cache(page, page + 8192);
  if (!sigsetjmp(back, 1)) ((void (*)(void))(page + 4094))();
  return 0;
}
