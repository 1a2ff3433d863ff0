/* Writes a tag at each function entry of a program compiled with -fpatchable-function-entry=5,
 * without a change in its sources: preloaded (LD_PRELOAD) or linked. x86-64 only.
 *
 * Such a program has five bytes of nops at the entry of each function, and the section
 * __patchable_function_entries says where. Before main this library turns each into a call of
 * `patched_entry`, which writes the function's address as the thread's tag: one store. A call reaches
 * 2 GiB and the library lies farther away, so it goes by way of a page near the program.
 *
 * Exits cannot be had in this way: the tag is the function that was entered last, also after it
 * has returned. Nops in front of the entry (-fpatchable-function-entry=N,M with M > 0) are not
 * understood, and functions of libraries that are loaded later with dlopen are not patched. */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <stdio.h>

#define HPS_SHIM_NO_EVENTS /* the hook below writes a tag and nothing else */
#include "hps_shim.h"

#ifndef __x86_64__
#error "function entries are patched on x86-64 only: compile the program with -finstrument-functions"
#endif

#define CALL_BYTES 5

/* Called at a function's first byte but one call: nothing may be changed, not even flags, for
 * compilers that know what their own functions leave alone rely on it. */
__asm__(
    ".text\n"
    ".type patched_entry, @function\n"
    "patched_entry:\n"
    "  push %rcx\n"
    "  push %rax\n"
    "  mov hps_shim_self@gottpoff(%rip), %rax\n"
    "  mov %fs:(%rax), %rcx\n"
    "  jrcxz 1f\n"
    "  mov 16(%rsp), %rax\n"
    "  lea -5(%rax), %rax\n"
    "  mov %rax, (%rcx)\n"
    "  pop %rax\n"
    "  pop %rcx\n"
    "  ret\n"
    /* The thread has no slot: it takes one, in C. */
    "1:\n"
    "  pushfq\n"
    "  push %rbp\n"
    "  mov %rsp, %rbp\n"
    "  push %rdx\n"
    "  push %rsi\n"
    "  push %rdi\n"
    "  push %r8\n"
    "  push %r9\n"
    "  push %r10\n"
    "  push %r11\n"
    "  mov 32(%rbp), %rdi\n"
    "  sub $576, %rsp\n"
    "  and $-64, %rsp\n"
    "  cld\n"
    "  fxsave64 (%rsp)\n"
    "  call first_entry\n"
    "  fxrstor64 (%rsp)\n"
    "  lea -56(%rbp), %rsp\n"
    "  pop %r11\n"
    "  pop %r10\n"
    "  pop %r9\n"
    "  pop %r8\n"
    "  pop %rdi\n"
    "  pop %rsi\n"
    "  pop %rdx\n"
    "  pop %rbp\n"
    "  popfq\n"
    "  pop %rax\n"
    "  pop %rcx\n"
    "  ret\n"
    ".size patched_entry, . - patched_entry\n");

extern char patched_entry[] __attribute__((visibility("hidden")));

__attribute__((used, visibility("hidden"))) void first_entry(uint64_t return_address);
void first_entry(uint64_t return_address) { hps_shim_tag(return_address - CALL_BYTES); }

static unsigned patched, failed;

/* A page with a jump to `patched_entry`, within reach of `from` to `to`; NULL if there is no room. */
static unsigned char *near_page(uint64_t from, uint64_t to) {
  const uint64_t page = 4096, step = 1 << 20, reach = UINT64_C(0x7f000000);
  uint64_t lowest = to > reach ? to - reach : page, at;
  from &= ~(page - 1);
  for (at = from > step ? from - step : 0; at > lowest; at -= step) {
    unsigned char *got = mmap((void *)at, page, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got == MAP_FAILED) continue;
    if ((uint64_t)got == at) {
      static const unsigned char jump[] = {0xff, 0x25, 0, 0, 0, 0}; /* jmp *(next) */
      uint64_t hook = (uint64_t)patched_entry;
      memcpy(got, jump, sizeof jump);
      memcpy(got + sizeof jump, &hook, sizeof hook);
      if (mprotect(got, page, PROT_READ | PROT_EXEC) == 0) return got;
    }
    munmap(got, page);
  }
  return NULL;
}

/* Whether five bytes of nops stand there: single ones (GCC) or one long one (Clang). */
static int is_nops(const unsigned char *code) {
  static const unsigned char single[] = {0x90, 0x90, 0x90, 0x90, 0x90};
  static const unsigned char one[] = {0x0f, 0x1f, 0x44, 0x00};
  return memcmp(code, single, sizeof single) == 0 ||
         (memcmp(code, one, sizeof one) == 0 && (code[4] == 0 || code[4] == 8));
}

/* Where the call goes; behind the landing pad of indirect branches, if there is one. */
static unsigned char *place_of(uint64_t entry) {
  static const unsigned char endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
  unsigned char *code = (unsigned char *)entry;
  return memcmp(code, endbr64, sizeof endbr64) == 0 ? code + sizeof endbr64 : code;
}

static void patch(const uint64_t *entries, size_t count) {
  const uint64_t page = 4096;
  uint64_t from = UINT64_MAX, to = 0;
  unsigned char *jump;
  size_t i;
  for (i = 0; i < count; i++) {
    if (entries[i] < from) from = entries[i];
    if (entries[i] > to) to = entries[i];
  }
  if (count == 0) return;
  jump = near_page(from, to + 64);
  from &= ~(page - 1);
  to = (to + 16 + page - 1) & ~(page - 1);
  if (!jump || mprotect((void *)from, to - from, PROT_READ | PROT_WRITE | PROT_EXEC) != 0) {
    failed += (unsigned)count;
    return;
  }
  for (i = 0; i < count; i++) {
    unsigned char *code = place_of(entries[i]);
    int32_t distance = (int32_t)((int64_t)jump - (int64_t)(code + CALL_BYTES));
    if (!is_nops(code)) {
      failed++;
      continue;
    }
    code[0] = 0xe8;
    memcpy(code + 1, &distance, sizeof distance);
    patched++;
  }
  mprotect((void *)from, to - from, PROT_READ | PROT_EXEC);
}

/* Finds the lists of entries of one loaded file. Its section headers are not in memory. */
static int patch_file(struct dl_phdr_info *info, size_t size, void *none) {
  const char *path = info->dlpi_name && *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
  struct stat status;
  const unsigned char *file;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  (void)size;
  (void)none;
  if (fd < 0) return 0; /* the kernel's own */
  if (fstat(fd, &status) != 0 || status.st_size < (off_t)sizeof(Elf64_Ehdr)) {
    close(fd);
    return 0;
  }
  file = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
  close(fd);
  if (file != MAP_FAILED) {
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)file;
    const uint64_t bytes = (uint64_t)status.st_size;
    if (memcmp(head->e_ident, ELFMAG, SELFMAG) == 0 && head->e_shoff < bytes &&
        head->e_shnum <= (bytes - head->e_shoff) / sizeof(Elf64_Shdr) &&
        head->e_shstrndx < head->e_shnum) {
      const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + head->e_shoff);
      const Elf64_Shdr *names = &sections[head->e_shstrndx];
      static const char wanted[] = "__patchable_function_entries";
      unsigned i;
      for (i = 0; i < head->e_shnum; i++) {
        const Elf64_Shdr *s = &sections[i];
        uint64_t name = names->sh_offset + s->sh_name;
        if ((s->sh_flags & SHF_ALLOC) && name < bytes && bytes - name >= sizeof wanted &&
            memcmp(file + name, wanted, sizeof wanted) == 0)
          patch((const uint64_t *)(info->dlpi_addr + s->sh_addr), s->sh_size / 8);
      }
    }
    munmap((void *)file, (size_t)status.st_size);
  }
  return 0;
}

static void end(void) { hps_shim_leave(); }

__attribute__((constructor)) static void start(void) {
  if (!hps_shim_open()) return;
  dl_iterate_phdr(patch_file, NULL);
  if (failed > 0)
    fprintf(stderr, "hps-shim: %u of %u function entries could not be patched\n", failed,
            patched + failed);
  hps_shim_wait();
  atexit(end);
}
