/* Lengths and kinds of x86-64 instructions: as much as copying code to another place needs.
 *
 * An instruction is copied as it is; only a displacement that counts from the next instruction changes. So its length,
 * the place of such a displacement and how it moves control are all that has to be known. tests/decoder.rs compares
 * lengths and kinds with a disassembler over the code of whole libraries. */
#ifndef HPS_SHADOW_DECODE_H
#define HPS_SHADOW_DECODE_H

#include <stdint.h>

enum flow {
  F_INVALID,
  F_NEXT,
  F_JCC,      /* condition in the opcode's low bits */
  F_LOOP,     /* loopne, loope, loop, jrcxz */
  F_JMP,
  F_CALL,
  F_JMP_IND,
  F_CALL_IND,
  F_RET,
  F_SYSCALL,
  F_FOREIGN /* int3, ud2, far transfers, transactions, whatever uses GS or sets segments */
};

struct insn {
  uint8_t length;
  uint8_t flow;
  uint8_t opcode;  /* the last byte of the opcode */
  uint8_t rex;     /* 0 without one */
  uint8_t prefix;  /* legacy prefixes in bits: 1 operand size, 2 address size, 4 FS */
  uint8_t modrm;   /* where it is; 0 for none */
  uint8_t rip;     /* where the displacement from the next instruction is; 0 for none */
  uint8_t tail;    /* bytes behind the bytes that address an operand: the immediate */
  int32_t distance;/* of a direct transfer, from the next instruction; bytes that a return pops */
};

/* The one-byte opcodes: N none, M modrm, and immediates b (1 byte), z (2 or 4); others by letters below. */
static const char one_byte[257] =
    /* 0 */ "MMMMbzXXMMMMbzX0" /* 1 */ "MMMMbzXXMMMMbzXX"
    /* 2 */ "MMMMbzXXMMMMbzXX" /* 3 */ "MMMMbzXXMMMMbzXX"
    /* 4 */ "XXXXXXXXXXXXXXXX" /* 5 */ "NNNNNNNNNNNNNNNN"
    /* 6 */ "XXXMXXXXzZbBNNNN" /* 7 */ "jjjjjjjjjjjjjjjj"
    /* 8 */ "BZXBMMMMMMMMMMMM" /* 9 */ "NNNNNNNNNNXNNNNN"
    /* a */ "ooooNNNNbzNNNNNN" /* b */ "bbbbbbbbvvvvvvvv"
    /* c */ "BBrRXXBZeNfFtTXi" /* d */ "MMMMXXXNMMMMMMMM"
    /* e */ "llllTTTTcJXsNNNN" /* f */ "XtXXTNGgNNNNNNMK";

/* Two-byte opcodes behind 0F: N none, M modrm, B modrm and a byte, X none such, others below. */
static const char two_byte[257] =
    /* 0 */ "MMMMXyNNNNXuXMNB" /* 1 */ "MMMMMMMMMMMMMMMM"
    /* 2 */ "MMMMXXXXMMMMMMMM" /* 3 */ "NNNNuuXNXXXXXXXX"
    /* 4 */ "MMMMMMMMMMMMMMMM" /* 5 */ "MMMMMMMMMMMMMMMM"
    /* 6 */ "MMMMMMMMMMMMMMMM" /* 7 */ "BBBBMMMNxMXXMMMM"
    /* 8 */ "JJJJJJJJJJJJJJJJ" /* 9 */ "MMMMMMMMMMMMMMMM"
    /* a */ "NNNMBMXXNNNMBMMM" /* b */ "MMMMMMMMMuBMMMMM"
    /* c */ "MMBMBBBMNNNNNNNN" /* d */ "MMMMMMMMMMMMMMMM"
    /* e */ "MMMMMMMMMMMMMMMM" /* f */ "MMMMMMMMMMMMMMMu";

static inline int32_t signed_at(const uint8_t *p, unsigned bytes) {
  if (bytes == 1) return (int8_t)p[0];
  return (int32_t)((uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24);
}

/* The operand behind the opcode at `at`; returns where it ends. */
static unsigned operand(const uint8_t *p, unsigned at, struct insn *out) {
  uint8_t modrm = p[at], mod = modrm >> 6, rm = modrm & 7;
  out->modrm = (uint8_t)at++;
  if (mod == 3) return at;
  if (rm == 4) {
    uint8_t base = p[at++] & 7;
    if (mod == 0 && base == 5) return at + 4;
  } else if (mod == 0 && rm == 5) {
    out->rip = (uint8_t)at;
    return at + 4;
  }
  return at + (mod == 1 ? 1u : mod == 2 ? 4u : 0u);
}

/* Decodes the instruction at p, of which 15 bytes can be read. */
static void decode(const uint8_t *p, struct insn *out) {
  unsigned at = 0, immediate = 0, flow = F_NEXT, map = 0;
  uint8_t opcode = 0, rex = 0;
  int wide = 0, is_gs = 0, is_repeated = 0;
  char shape;
  *out = (struct insn){0};
  for (;; at++) {
    if (at > 14) return;
    if (p[at] == 0x66) out->prefix |= 1;
    else if (p[at] == 0x67) out->prefix |= 2;
    else if (p[at] == 0x64) out->prefix |= 4, is_gs = 0;
    else if (p[at] == 0x65) is_gs = 1, out->prefix &= (uint8_t)~4;
    else if (p[at] == 0xf2 || p[at] == 0xf3) is_repeated = p[at];
    else if (p[at] != 0xf0 && p[at] != 0x2e && p[at] != 0x36 && p[at] != 0x3e && p[at] != 0x26) break;
  }
  if ((p[at] & 0xf0) == 0x40) out->rex = rex = p[at++];
  wide = rex & 8;
  opcode = p[at++];
  if (rex == 0 && (opcode == 0xc5 || opcode == 0xc4 || opcode == 0x62)) {
    /* VEX and EVEX: the map says whether there is an immediate; there is always an operand. */
    if (opcode == 0xc5) map = 1, at += 1;
    else if (opcode == 0xc4) map = p[at] & 31, at += 2;
    else map = p[at] & 7, at += 3;
    int is_evex = opcode == 0x62;
    opcode = p[at++];
    if (map == 0 || map > 7 || (!is_evex && map > 3)) return;
    if (map == 3) immediate = 1;
    if (map == 1 && (two_byte[opcode] == 'B')) immediate = 1;
    if (map == 1 && opcode == 0x77 && !is_evex) goto done;
    at = operand(p, at, out);
    goto done;
  }
  if (opcode == 0x8f && (p[at] & 31) >= 8 && rex == 0) { /* XOP */
    map = p[at] & 31;
    if (map > 10) return;
    opcode = p[at + 2];
    at = operand(p, at + 3, out);
    immediate = map == 8 ? 1 : map == 10 ? 4 : 0;
    goto done;
  }
  if (opcode == 0x0f) {
    map = 1;
    opcode = p[at++];
    if (opcode == 0x38 || opcode == 0x3a) {
      immediate = opcode == 0x3a;
      map = immediate ? 3 : 2;
      opcode = p[at++];
      shape = 'M';
    } else {
      shape = two_byte[opcode];
    }
  } else {
    shape = one_byte[opcode];
  }
  switch (shape) {
  case 'X': return;
  case 'N': break;
  case 'M': at = operand(p, at, out); break;
  case 'B': at = operand(p, at, out), immediate = 1; break;
  case 'Z': at = operand(p, at, out), immediate = (out->prefix & 1) && !wide ? 2 : 4; break;
  case 'b': immediate = 1; break;
  case 'z': immediate = (out->prefix & 1) && !wide ? 2 : 4; break;
  case 'v': immediate = wide ? 8 : out->prefix & 1 ? 2 : 4; break;
  case 'o': immediate = out->prefix & 2 ? 4 : 8; break; /* an absolute address */
  case 'e': immediate = 3; break;                       /* enter */
  case 'x': /* extrq, insertq: two bytes */
    at = operand(p, at, out);
    immediate = (out->prefix & 1) || is_repeated == 0xf2 ? 2 : 0;
    break;
  case 'g': /* F7, and F6 is 'G': test has an immediate */
    at = operand(p, at, out);
    if ((p[out->modrm] >> 3 & 7) < 2) immediate = (out->prefix & 1) && !wide ? 2 : 4;
    break;
  case 'G':
    at = operand(p, at, out);
    if ((p[out->modrm] >> 3 & 7) < 2) immediate = 1;
    break;
  case 'j': immediate = 1, flow = F_JCC; break;
  case 'J': immediate = 4, flow = map ? F_JCC : F_JMP; break;
  case 'l': immediate = 1, flow = F_LOOP; break;
  case 's': immediate = 1, flow = F_JMP; break;
  case 'c': immediate = 4, flow = F_CALL; break;
  case 'r': immediate = 2, flow = F_RET; break;
  case 'R': flow = F_RET; break;
  case 'f': immediate = 2, flow = F_FOREIGN; break; /* far return */
  case 'F': flow = F_FOREIGN; break;
  case 't': flow = F_FOREIGN; break; /* int3, int1 */
  case 'T': immediate = opcode != 0xf4, flow = F_FOREIGN; break;
  case 'i': flow = F_FOREIGN; break; /* iret */
  case 'y': flow = F_SYSCALL; break;
  case 'u': flow = F_FOREIGN; if (opcode == 0xb9 || opcode == 0xff) at = operand(p, at, out); break;
  case 'K': { /* FF: calls and jumps among others */
    unsigned which;
    at = operand(p, at, out);
    which = p[out->modrm] >> 3 & 7;
    if (which == 2) flow = F_CALL_IND;
    if (which == 4) flow = F_JMP_IND;
    if (which == 3 || which == 5) flow = F_FOREIGN;
    if (which == 7) return;
    if ((which == 2 || which == 4) && (out->prefix & 1)) flow = F_FOREIGN;
    break;
  }
  default: return;
  }
  /* xabort, xbegin; moves to segment registers; rdgsbase, wrgsbase. */
  if (map == 0 && opcode == 0xc7 && p[out->modrm] == 0xf8) flow = F_FOREIGN;
  if (map == 0 && opcode == 0x8e) flow = F_FOREIGN;
  if (map == 1 && opcode == 0xae && is_repeated == 0xf3 && p[out->modrm] >> 6 == 3 &&
      (p[out->modrm] >> 3 & 1))
    flow = p[out->modrm] >> 3 & 4 ? flow : F_FOREIGN;
done:
  if (is_gs) flow = F_FOREIGN;
  if ((out->prefix & 2) && out->rip) flow = F_FOREIGN;
  if (at + immediate > 15) return;
  out->opcode = opcode;
  out->tail = (uint8_t)immediate;
  if (flow == F_JCC || flow == F_LOOP || flow == F_JMP || flow == F_CALL)
    out->distance = signed_at(p + at, immediate);
  if (flow == F_RET && immediate) out->distance = p[at] | p[at + 1] << 8;
  out->length = (uint8_t)(at + immediate);
  out->flow = (uint8_t)flow;
}

#endif
