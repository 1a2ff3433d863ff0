// A library with a constructor, thread-local data and a function, which a program opens by name.
int part_count;
static __thread int factor = 2;
__attribute__((constructor)) static void begin(void) { part_count++; }
__attribute__((destructor)) static void end(void) { part_count--; }
int twice(int value) { return factor * value; }
