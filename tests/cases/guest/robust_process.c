/* A robust, process-shared mutex whose owner (a child process) ends: the next locker gets EOWNERDEAD.
 * Right result: "robust process 1 (exit)", and so on for killed, thread and exec. Source: POSIX pthread_mutexattr_setrobust (owner's process
 * terminates while holding: EOWNERDEAD); Linux kernel/futex/core.c exit_robust_list; measured natively on x86-64 Linux. */
#include <pthread.h>
#include <errno.h>
#include <stdio.h>
#include <signal.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/wait.h>
static pthread_mutex_t *m; static void *lock(void *a){ pthread_mutex_lock(m); return 0; }
int main(int c, char **v){
  if(c>1) return 0;
  setvbuf(stdout,0,_IONBF,0);
  pthread_mutexattr_t a; pthread_mutexattr_init(&a);
  pthread_mutexattr_setrobust(&a,PTHREAD_MUTEX_ROBUST);
  pthread_mutexattr_setpshared(&a,PTHREAD_PROCESS_SHARED);
  m=mmap(0,4096,PROT_READ|PROT_WRITE,MAP_SHARED|MAP_ANONYMOUS,-1,0);
  pthread_mutex_init(m,&a);
  for(int how=0;how<4;how++){
    if(fork()==0){ if(how==2){ pthread_t t; pthread_create(&t,0,lock,0); pthread_join(t,0);} else pthread_mutex_lock(m); if(how==1) raise(SIGKILL); if(how==3) execl("/proc/self/exe","x","x",(char*)0); _exit(0); }
    wait(0);
    int r=pthread_mutex_lock(m);
    printf("robust process %d (%s)\n", r==EOWNERDEAD, how==0?"exit":how==1?"killed":how==2?"thread":"exec");
    pthread_mutex_consistent(m); pthread_mutex_unlock(m);
  }
  return 0;
}
