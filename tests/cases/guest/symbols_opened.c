// A library that a program opens, with one function of the name that the compiler is given.
__attribute__((noinline)) int NAME(int value) { return value + 1; }
