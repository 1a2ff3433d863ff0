/* Marks the part of a program that counts: hps run --between-markers and hps profile --between-markers.
 *
 *   #include "hps_region.h"
 *   HPS_REGION_BEGIN();
 *   work();
 *   HPS_REGION_END();
 *
 * A marker is one instruction without effect, so that the program runs everywhere. */
#ifndef HPS_REGION_H
#define HPS_REGION_H

#if defined(__riscv)
#define HPS_REGION_BEGIN() __asm__ volatile("slti zero, zero, 0x5b1" ::: "memory")
#define HPS_REGION_END() __asm__ volatile("slti zero, zero, 0x5b2" ::: "memory")
#elif defined(__alpha__)
#define HPS_REGION_BEGIN() __asm__ volatile("lda $31, 0x5b1($31)" ::: "memory")
#define HPS_REGION_END() __asm__ volatile("lda $31, 0x5b2($31)" ::: "memory")
#else
#define HPS_REGION_BEGIN() ((void)0)
#define HPS_REGION_END() ((void)0)
#endif

#endif
