/* Never ends, without a system call. */
int main(void) {
    for (volatile unsigned long n = 0;; n++)
        ;
}
