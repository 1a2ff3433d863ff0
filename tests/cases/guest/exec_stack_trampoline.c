/* A nested function whose address is taken: GCC writes a trampoline on the stack, and the linker asks for
 * an executable stack (PT_GNU_STACK RWE). Right: exit code 0. */
static int __attribute__((noinline)) twice(int (*f)(int), int x) { return f(f(x)); }
int main(void) {
  int k = 3;
  int add(int x) { return x + k; }
  return twice(add, 1) - 7;
}
