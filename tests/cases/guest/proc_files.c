/* A program that looks at itself: /proc/self/exe opened and read (Rust and Go backtraces, libunwind, Julia, AppImage),
   /proc/self/maps says where its stack and text are (pthread_getattr_np, sanitizers, Boehm GC), st_dev and df.
   Right (native, qemu): exe is this ELF; maps covers &main and &local; stack bounds hold the local; comm is the program. cc -O2 -static -pthread */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <fcntl.h>
#include <unistd.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
int main(int c,char**v){ char b[512]; int l; int f=open("/proc/self/exe",O_RDONLY); struct stat a,s; printf("open exe %s\n",f>=0?"ok":"FAIL"); int me=open(v[0],O_RDONLY);
 printf("same file %s\n",f>=0&&me>=0&&!fstat(f,&a)&&!fstat(me,&s)&&a.st_size==s.st_size?"ok":"FAIL"); char*m=mmap(0,4096,PROT_READ,MAP_PRIVATE,f,0); printf("map exe %s\n",m!=MAP_FAILED&&!memcmp(m,"\177ELF",4)&&(m[18]==(char)0xf3||m[18]==0x26)?"ok":"FAIL");
 FILE*p=fopen("/proc/self/maps","r"); int hm=0,hs=0; while(p&&fgets(b,512,p)){ unsigned long lo,hi; if(sscanf(b,"%lx-%lx",&lo,&hi)==2){ if((unsigned long)main>=lo&&(unsigned long)main<hi) hm=1; if((unsigned long)&l>=lo&&(unsigned long)&l<hi) hs=1; } } printf("maps %s %s\n",hm?"ok":"FAIL",hs?"ok":"FAIL");
 pthread_attr_t t; void*lo=0; size_t n=0; int r=pthread_getattr_np(pthread_self(),&t); if(!r) r=pthread_attr_getstack(&t,&lo,&n); printf("stack bounds %s (%d)\n",!r&&(char*)&l>=(char*)lo&&(char*)&l<(char*)lo+n?"ok":"FAIL",r);
 p=fopen("/proc/self/comm","r"); printf("comm %s\n",p&&fgets(b,64,p)&&!strncmp(b,strrchr(v[0],'/')?strrchr(v[0],'/')+1:v[0],10)?"ok":"FAIL"); struct stat x,y; if(!stat("/",&x)&&!stat("/proc",&y)) printf("st_dev differs over mounts %s\n",x.st_dev!=y.st_dev?"ok":"FAIL"); return 0; }
