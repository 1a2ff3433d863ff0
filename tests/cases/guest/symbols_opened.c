// A library that a program opens, with one function of the name that the compiler is given.
__attribute__((noinline)) int NAME(int value)
{
    for (int i = 0; i < 20; i++)
        __asm__ volatile("");
    return value + 1;
}
