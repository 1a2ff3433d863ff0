// Two threads that wait for each other's lock. Right: the run ends and names both.
#include <pthread.h>
#include <unistd.h>

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;

static void *other(void *p) {
    pthread_mutex_lock(&second);
    usleep(1000);
    pthread_mutex_lock(&first);
    return p;
}

int main(void) {
    pthread_t thread;
    pthread_create(&thread, 0, other, 0);
    pthread_mutex_lock(&first);
    usleep(1000);
    pthread_mutex_lock(&second);
    return 0;
}
