/* SQLite WAL, LMDB, mmap-based databases and IPC: MAP_SHARED of a writable file. Right (native, qemu): "shared file ok, ro shared ok, anon shared ok". Run with --root / --writable. */
#define _GNU_SOURCE
#include <sys/mman.h>
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <errno.h>
int main(void){ char b[4]={0}; int f=open("hps_map_shared.bin",O_RDWR|O_CREAT|O_TRUNC,0600); ftruncate(f,8192); char*p=mmap(0,8192,PROT_READ|PROT_WRITE,MAP_SHARED,f,0); int e=errno;
 printf("shared file %s, ",p!=MAP_FAILED&&(memcpy(p,"xyz",3),pread(f,b,3,0)==3)&&!memcmp(b,"xyz",3)?"ok":strerror(e)); char*q=mmap(0,4096,PROT_READ,MAP_SHARED,f,0); e=errno; printf("ro shared %s, ",q!=MAP_FAILED?"ok":strerror(e)); char*r=mmap(0,4096,3,MAP_SHARED|MAP_ANONYMOUS,-1,0); e=errno; printf("anon shared %s\n",r!=MAP_FAILED?"ok":strerror(e)); unlink("hps_map_shared.bin"); return 0; }
