/* Decodes instructions: reads their number, their offsets and the code, and writes for each its length, how it moves
 * control, and where its displacement from the next instruction is. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "decode.h"

int main(void) {
  uint32_t count;
  uint32_t *offsets;
  static uint8_t code[1 << 24];
  size_t bytes;
  if (fread(&count, 4, 1, stdin) != 1) return 1;
  offsets = calloc(count, 4);
  if (!offsets || fread(offsets, 4, count, stdin) != count) return 1;
  bytes = fread(code, 1, sizeof code - 16, stdin);
  (void)bytes;
  for (uint32_t i = 0; i < count; i++) {
    struct insn insn;
    uint8_t out[8] = {0};
    decode(code + offsets[i], &insn);
    out[0] = insn.length;
    out[1] = insn.flow;
    out[2] = insn.rip;
    memcpy(out + 4, &insn.distance, 4);
    fwrite(out, 8, 1, stdout);
  }
  return 0;
}
