/* A JIT that writes 2-byte and 4-byte instructions at one address in turn. Right (QEMU): 2993. */
#include <stdio.h>
#include <string.h>
#include <stdint.h>
#include <sys/mman.h>
typedef long (*fn)(long);
int main(){
  unsigned char*q=mmap(0,1<<16,PROT_READ|PROT_WRITE|PROT_EXEC,MAP_PRIVATE|MAP_ANONYMOUS,-1,0);
  long sum=0;
  for(int r=0;r<200;r++){ int k=(r*7)%31;
    if(r&1){ uint32_t a=0x00050513|(k<<20), b=0x00008067; memcpy(q,&a,4); memcpy(q+4,&b,4);}      /* addi a0,a0,k ; ret */
    else { uint16_t a=0x0505|((k&31)<<2), b=0x8082; a=0x0501|((k&31)<<2); memcpy(q,&a,2); memcpy(q+2,&b,2);} /* c.addi a0,k ; c.ret */
    __asm__ volatile("fence.i":::"memory");
    sum=((fn)q)(sum);
  }
  printf("%ld\n",sum); return 0; }
