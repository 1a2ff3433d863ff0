#include <asm/unistd.h>
