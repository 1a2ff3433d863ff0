#include <stdio.h>
#include "part.h"
int main(void) { for (int i = 0; i < 5; i++) printf("%d %ld\n", i, part(i)); return 0; }
